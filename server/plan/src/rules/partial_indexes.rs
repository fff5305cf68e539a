//! Partial indexes as accesses: which a scan may read, and what the filter need not repeat.
//!
//! ```text
//!   CREATE INDEX open_jobs ON job (id) WHERE NOT done
//!   SELECT id FROM job WHERE done = false AND id > 5     the conditions imply NOT done
//!   Scan on job using open_jobs, spans from 5            and NOT done implies done = false
//! ```
//!
//! An entry exists for exactly the rows whose predicate is true. So a scan may read the index
//! where its conditions imply the predicate. Conditions that the predicate implies are dropped
//! from its filter, and with them often the only use of their columns. Locks look at all
//! conditions again, since a locked row may have left the index.

use braid_catalog::{Catalog, Index};

use crate::implies::implies;
use crate::tree::expr::Expr;
use crate::tree::node::{Node, Scan};

use super::push_filters::needs;
use super::spans::columns::over_slots;
use super::{estimate, walk};

/// The largest part of a table's rows that a partial index is believed to have: without
/// statistics on its predicate, it counts as made for the few rows that queries look for.
const PART_MAX: f64 = 0.2;

/// Whether a scan may read an index: a whole one, or one whose predicate is implied.
pub(crate) fn is_implied(scan: &Scan, index: &Index, conditions: &[Expr]) -> bool {
    index.predicate.is_none()
        || predicate(scan, index).is_some_and(|predicate| implies(conditions, &predicate))
}

/// The part of the table's rows that are in an index.
pub(crate) fn part(scan: &Scan, index: &Index, catalog: &Catalog) -> f64 {
    match predicate(scan, index) {
        Some(predicate) => estimate::selectivity(&predicate, scan, catalog).min(PART_MAX),
        None => 1.0,
    }
}

/// Whether values of the statement's parameters could imply more predicates.
pub(crate) fn may_need_literals(scan: &Scan) -> bool {
    let has_param = |e: &&Expr| e.any(&mut |e| matches!(e, Expr::Param(..)));
    let of_params: Vec<_> = scan.filter.iter().filter(has_param).flat_map(needs).collect();
    let reads_such = |index: &Index| {
        let slots = predicate(scan, index).map(|predicate| needs(&predicate)).unwrap_or_default();
        slots.iter().any(|slot| of_params.contains(slot))
    };
    !of_params.is_empty() && scan.table.indexes.iter().any(reads_such)
}

/// Drops conditions that the predicates of the indexes read imply. The scan of an inverted index
/// may turn out to read the whole table.
pub(crate) fn drop_implied(node: &mut Node) {
    if let Node::Scan(scan) = node
        && let Some(index) = scan.table.index(scan.access.index)
        && !index.is_inverted()
        && let Some(predicate) = predicate(scan, index)
    {
        let predicate = [predicate];
        scan.filter.retain(|condition| !implies(&predicate, condition));
    }
    walk::children_mut(node, &mut drop_implied);
}

/// The predicate of an index over the slots of a scan.
fn predicate(scan: &Scan, index: &Index) -> Option<Expr> {
    let (_, predicate) = scan.predicates.iter().find(|(number, _)| *number == index.number)?;
    let mut predicate = predicate.clone();
    over_slots(scan, &mut predicate).then_some(predicate)
}
