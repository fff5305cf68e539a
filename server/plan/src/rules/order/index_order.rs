//! The order in which a scan of an index gives rows.

use braid_catalog::{Index, IndexKey};

use crate::rules::push_filters::needs;
use crate::rules::spans::columns::is_at;
use crate::tree::expr::Expr;
use crate::tree::node::{Bound, Project, Reading, Scan, SortKey};

/// The values that an array is assumed to have while planning.
const ANY_COUNT: usize = 10;

/// How an index has the order of sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// It is read from the end.
    pub reverse: bool,
    /// Its spans are to be merged: each has one value of this number of key columns. 0: they have
    /// the order one after the other.
    pub merged: usize,
}

/// Whether a scan gives rows in the order of sort keys as it reads its index: forward (false), or
/// reversed (true).
pub(crate) fn order_read(scan: &Scan, keys: &[SortKey]) -> Option<bool> {
    let index = scan.table.all_indexes().find(|index| index.number == scan.access.index)?;
    let merged = match scan.access.reading {
        Reading::InOrder | Reading::FirstOfEach(_) => 0,
        Reading::Merged(columns) => columns,
    };
    let order = order_of(scan, index, &scan.access.bounds, keys)?;
    (order.merged == merged).then_some(order.reverse)
}

/// Rewrites sort keys to what a projection computes them from; `None` if one is no column of it.
pub(crate) fn rewrite_below(project: &Project, keys: &mut [SortKey]) -> Option<()> {
    for key in keys {
        below(project, &mut key.expr)?;
    }
    Some(())
}

fn below(project: &Project, e: &mut Expr) -> Option<()> {
    if let Expr::Column(slot, _) = e {
        let (_, from) = project.exprs.iter().find(|(known, _)| known == slot)?;
        *e = from.clone();
        return Some(());
    }
    // The sort key of a text is the only sort key that is no column.
    let Expr::Call(call) = e else { return None };
    let is_key = matches!(call.function.name, "braid_sort_key" | "braid_equality_key");
    let text = call.args.first_mut().filter(|_| is_key)?;
    below(project, text)
}

/// How an index gives a scan's rows in the order of sort keys. Several spans are read in key
/// order, so their rows come in the order of the index; or they are merged.
pub(crate) fn order_of(
    scan: &Scan,
    index: &Index,
    bounds: &[Bound],
    keys: &[SortKey],
) -> Option<Order> {
    if index.is_inverted() {
        return None;
    }
    let parts = parts(scan, index);
    let mut reverse = None;
    let (mut place, mut merged, mut is_sorted) = (0, 0, false);
    for key in keys {
        // The rows before have different keys, so nothing of the scan is left to sort. A join above
        // may give several rows for each.
        if place >= index.keys.len() && merged == 0 && is_distinct(scan, index) {
            if !gives(scan, &key.expr) {
                return None;
            }
            continue;
        }
        let (part, column) = loop {
            let part = parts.get(place)?;
            let column = scan.table.position_of(part.column)?;
            if is_at(scan, &key.expr, column) {
                break (part, column);
            }
            match bounds.get(place) {
                Some(bound) if is_single(bound) => {}
                Some(bound) if bound.is_of_values() && !is_sorted => merged = place + 1,
                _ => return None,
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
        is_sorted |= !bounds.get(place).is_some_and(is_single);
        place += 1;
    }
    Some(Order { reverse: reverse.unwrap_or(false), merged })
}

/// Whether the spans of an index can be merged. The keys of one row must be next to each other.
pub(crate) fn can_merge(scan: &Scan, index: &Index) -> bool {
    !index.is_mixed()
        && !index.is_inverted()
        && (index.number != scan.table.primary.number || scan.table.families.len() <= 1)
}

/// How many spans are merged, at most as far as it is known.
pub(crate) fn merged_spans(bounds: &[Bound], merged: usize) -> usize {
    let count = |bound: &Bound| match bound {
        Bound::In(list) => list.len(),
        Bound::Rows(rows) => rows.len(),
        Bound::Any(_) => ANY_COUNT,
        Bound::Null
        | Bound::OfRows
        | Bound::Range { .. }
        | Bound::Branches(_)
        | Bound::Terms(_) => 1,
    };
    bounds.iter().take(merged).map(count).fold(1, usize::saturating_mul)
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

/// Whether an expression reads nothing but a scan's columns.
fn gives(scan: &Scan, e: &Expr) -> bool {
    needs(e).iter().all(|slot| scan.columns.iter().any(|(known, _)| known == slot))
}

/// Whether no two entries of an index have equal keys, so that keys behind them sort nothing.
fn is_distinct(scan: &Scan, index: &Index) -> bool {
    let nullable = |key: &IndexKey| {
        let place = scan.table.position_of(key.column);
        place.is_none_or(|place| scan.table.columns[place].nullable)
    };
    index.unique && !index.keys.iter().any(nullable)
}

pub(crate) fn is_single(bound: &Bound) -> bool {
    match bound {
        Bound::In(list) => list.len() == 1,
        Bound::Null => true,
        _ => false,
    }
}
