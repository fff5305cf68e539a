//! Lookups in a partitioned table: each left row reads the partitions that may have its rows.
//!
//! ```text
//!   Nested Loop
//!   ├ left
//!   └ Append
//!     ├ Scan of p1 by an index, with values of the left row
//!     └ Scan of p2 …
//! ```
//!
//! Where the join's conditions say something of the partition keys, a scan looks when it starts
//! whether its partition can have such rows ([`Scan::pruning`]).

use braid_catalog::Catalog;

use super::prune::prune;
use crate::rules::cost;
use crate::tree::expr::Expr;
use crate::tree::node::{JoinKind, Node, Scan};

/// What the scan of a partition costs that finds out that there are no such rows.
const PRUNED: f64 = 15.0;

/// The partitions of a join's right side as lookups, and what they cost for each left row. `None`
/// if one of them has no index for it. Each left row finds this number of rows.
pub(crate) fn lookup(
    right: &Node,
    (on, kind): (&[Expr], JoinKind),
    found: f64,
    catalog: &Catalog,
) -> Option<(f64, Node)> {
    let Node::Append(append) = right else { return None };
    let found_each = (found / append.inputs.len() as f64).max(1.0);
    let mut right = right.clone();
    let mut looks_up = |scan: &mut Scan| {
        let found = cost::lookup(scan, on, kind, catalog)?;
        let each = found.cost.of(1.0);
        prune(scan, on, catalog);
        found.put_into(scan);
        scan.rows = found_each;
        Some(each)
    };
    let each = for_each_partition(&mut right, &mut looks_up)?;
    Some((each, right))
}

/// What a lookup in a partitioned table will cost for each left row; `None` if there will be none.
pub(crate) fn predicted_lookup(right: &Node, on: &[Expr], catalog: &Catalog) -> Option<f64> {
    let predicted = &mut |scan: &mut Scan| {
        let each = cost::predicted_lookup(scan, on, catalog).map(|cost| cost.of(1.0));
        prune(scan, on, catalog);
        each
    };
    for_each_partition(&mut right.clone(), predicted)
}

/// The sum of what `f` says of each partition. Where left rows decide which one is read, each reads
/// one of them, about.
fn for_each_partition(node: &mut Node, f: &mut dyn FnMut(&mut Scan) -> Option<f64>) -> Option<f64> {
    let Node::Append(append) = node else { return None };
    let count = append.inputs.len() as f64;
    let mut cost = 0.0;
    for input in &mut append.inputs {
        let Node::Project(project) = input else { return None };
        let Node::Scan(scan) = &mut project.input else { return None };
        let before = scan.pruning.len();
        let each = f(scan)?;
        cost += match scan.pruning.len() > before {
            true => PRUNED + each / count,
            false => each,
        };
    }
    Some(cost)
}
