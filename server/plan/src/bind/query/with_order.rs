//! The order in which the entries of WITH are bound.

use braid_sql::ast::{Ident, Query};
use braid_sql::offset_of;
use braid_types::{Error, Result, SqlState};

/// The places of the entries of WITH in an order in which each comes after those that it names:
/// with RECURSIVE it may name later ones. 0A000 if entries name each other.
pub(crate) fn with_order(entries: &[(&Ident, &Query)], recursive: bool) -> Result<Vec<usize>> {
    let mut left: Vec<usize> = (0..entries.len()).collect();
    if !recursive || entries.len() < 2 {
        return Ok(left);
    }
    let names: Vec<String> = entries.iter().map(|(name, _)| braid_sql::fold(name)).collect();
    let names_other = |place: usize, other: usize| {
        other != place && !braid_sql::references(entries[place].1, &names[other]).is_empty()
    };
    let named: Vec<Vec<usize>> = left
        .iter()
        .map(|place| left.iter().copied().filter(|other| names_other(*place, *other)).collect())
        .collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |place: &usize| left.iter().any(|other| named[*place].contains(other));
        let next = left.iter().position(|place| !waits(place)).ok_or_else(|| {
            Error::new(
                SqlState::FeatureNotSupported,
                "mutual recursion between WITH items is not implemented",
            )
            .position(offset_of(entries[left[0]].0.span))
        })?;
        order.push(left.remove(next));
    }
    Ok(order)
}
