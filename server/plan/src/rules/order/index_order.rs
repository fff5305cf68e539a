//! The order in which a scan of an index gives rows.

use braid_catalog::{Index, IndexKey};

use crate::rules::spans::columns::is_at;
use crate::tree::expr::Expr;
use crate::tree::node::{Bound, Project, Scan, SortKey};

/// Whether a scan gives rows in the order of sort keys by the index that it has.
pub fn order_read(scan: &Scan, keys: &[SortKey]) -> Option<bool> {
    let index = scan.table.all_indexes().find(|index| index.number == scan.access.index)?;
    order_of(scan, index, &scan.access.bounds, keys)
}

/// Rewrites sort keys to what a projection computes them from; `None` if one is no column of it.
pub fn rewrite_below(project: &Project, keys: &mut [SortKey]) -> Option<()> {
    for key in keys {
        let Expr::Column(slot, _) = &key.expr else { return None };
        let (_, e) = project.exprs.iter().find(|(known, _)| known == slot)?;
        key.expr = e.clone();
    }
    Some(())
}

/// Whether an index gives a scan's rows in the order of sort keys: forward (false), or reversed
/// (true). Several spans are read in key order, so their rows come in the order of the index.
pub fn order_of(scan: &Scan, index: &Index, bounds: &[Bound], keys: &[SortKey]) -> Option<bool> {
    let parts = parts(scan, index);
    let mut reverse = None;
    let mut place = 0;
    for key in keys {
        // The rows before have different keys, so nothing is left to sort.
        if place >= index.keys.len() && is_distinct(scan, index) {
            break;
        }
        let (part, column) = loop {
            let part = parts.get(place)?;
            let column = scan.table.position_of(part.column)?;
            if is_at(scan, &key.expr, column) {
                break (part, column);
            }
            if !bounds.get(place).is_some_and(is_single) {
                return None;
            }
            place += 1;
        };
        if key.nulls_first != key.descending && scan.table.columns[column].nullable {
            return None;
        }
        let flipped = part.descending != key.descending;
        if *reverse.get_or_insert(flipped) != flipped {
            return None;
        }
        place += 1;
    }
    Some(reverse.unwrap_or(false))
}

/// The parts of an index's keys. The primary key follows in an index whose own keys may be equal.
fn parts<'s>(scan: &'s Scan, index: &'s Index) -> Vec<&'s IndexKey> {
    let mut parts: Vec<&IndexKey> = index.keys.iter().collect();
    if !index.unique {
        let own = |part: &&IndexKey| !index.keys.iter().any(|key| key.column == part.column);
        parts.extend(scan.table.primary.keys.iter().filter(own));
    }
    parts
}

/// Whether no two entries of an index have equal keys, so that keys behind them sort nothing.
fn is_distinct(scan: &Scan, index: &Index) -> bool {
    let nullable = |key: &IndexKey| {
        let place = scan.table.position_of(key.column);
        place.is_none_or(|place| scan.table.columns[place].nullable)
    };
    index.unique && !index.keys.iter().any(nullable)
}

fn is_single(bound: &Bound) -> bool {
    match bound {
        Bound::In(list) => list.len() == 1,
        Bound::Null => true,
        _ => false,
    }
}
