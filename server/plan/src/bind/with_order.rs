//! The order in which the entries of WITH are bound.

use braid_sql::ast::{Ident, Query};

/// The places of the entries of WITH in an order in which each comes after those that it names:
/// with RECURSIVE it may name later ones. Entries that name each other keep their order.
pub(super) fn with_order(entries: Vec<(&Ident, &Query)>, recursive: bool) -> Vec<usize> {
    let mut left: Vec<usize> = (0..entries.len()).collect();
    if !recursive || entries.len() < 2 {
        return left;
    }
    let names: Vec<String> = entries.iter().map(|(name, _)| braid_sql::fold(name)).collect();
    let named: Vec<Vec<String>> =
        entries.iter().map(|(_, query)| braid_sql::relations(query)).collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |place: usize| {
            left.iter().any(|other| *other != place && named[place].contains(&names[*other]))
        };
        let next = left.iter().position(|place| !waits(*place)).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}
