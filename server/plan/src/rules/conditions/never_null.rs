//! Columns of a plan that are never NULL.

use crate::Slot;
use crate::tree::expr::Expr;
use crate::tree::node::{JoinKind, Node};

/// Whether an expression over an operator's output is a column that is never NULL.
pub(crate) fn is_never_null(node: &Node, e: &Expr) -> bool {
    matches!(e, Expr::Column(slot, _) if has_value(node, *slot))
}

/// Whether a column of an operator's output comes from one that a table declares NOT NULL, and no
/// outer join puts NULL in its place.
fn has_value(node: &Node, slot: Slot) -> bool {
    match node {
        Node::Scan(scan) => {
            let is_it = |(known, place): &(Slot, usize)| {
                *known == slot && !scan.table.columns[*place].nullable
            };
            scan.families.is_none() && scan.columns.iter().any(is_it)
        }
        Node::Filter(filter) => has_value(&filter.input, slot),
        Node::Sort(sort) => has_value(&sort.input, slot),
        Node::Limit(limit) => has_value(&limit.input, slot),
        // Partitions give the columns of their table with the same slots.
        Node::Append(append) => append.inputs.iter().all(|input| has_value(input, slot)),
        Node::Project(project) => {
            let found = project.exprs.iter().find(|(known, _)| *known == slot);
            found.is_some_and(|(_, e)| is_never_null(&project.input, e))
        }
        Node::Join(join) => {
            let (in_left, in_right) = match join.kind {
                JoinKind::Inner => (true, true),
                JoinKind::Left | JoinKind::Semi | JoinKind::Anti => (true, false),
                JoinKind::Right => (false, true),
                JoinKind::Full => (false, false),
            };
            (in_left && has_value(&join.left, slot)) || (in_right && has_value(&join.right, slot))
        }
        _ => false,
    }
}
