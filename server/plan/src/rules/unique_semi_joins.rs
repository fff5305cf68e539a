//! A semi join whose right side has at most one match becomes an inner join.
//!
//! `a.x IN (SELECT id FROM b WHERE …)` with a unique `b.id` gives each row of `a` at most once
//! either way. As an inner join it takes part in the choice of the join order, so that a small `b`
//! can lead to rows of `a` by an index.
//!
//! Statements that lock or change rows keep their semi joins: which tables they lock must not
//! depend on the plan.

use braid_catalog::{Index, IndexState};

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Join, JoinKind, Node, Scan};

use super::push_filters::needs;
use super::walk;

pub fn apply(mut node: Node) -> Node {
    if matches!(
        node,
        Node::LockRows(_) | Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_)
    ) {
        return node;
    }
    if let Node::Join(join) = &mut node
        && join.kind == JoinKind::Semi
        && !join.lateral
        && has_one_match(join)
    {
        join.kind = JoinKind::Inner;
    }
    walk::map_children(node, &mut apply)
}

/// Whether a left row has at most one match: the conditions fix every key of a unique index.
fn has_one_match(join: &Join) -> bool {
    let Some(scan) = scan_of(&join.right) else { return false };
    let left = join.left.slots();
    let fixed: Vec<Slot> = join.on.iter().filter_map(|e| fixed_column(e, &left)).collect();
    scan.table.all_indexes().any(|index| is_fixed(scan, index, &fixed))
}

fn scan_of(node: &Node) -> Option<&Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Filter(filter) => scan_of(&filter.input),
        _ => None,
    }
}

/// The column that an equality fixes for a left row.
fn fixed_column(e: &Expr, left: &[Slot]) -> Option<Slot> {
    let Expr::Compare(CompareOp::Eq, a, b) = e else { return None };
    let fixes = |column: &Expr, value: &Expr| match column {
        Expr::Column(slot, _) if !left.contains(slot) => {
            let is_known = needs(value).iter().all(|slot| left.contains(slot));
            is_known.then_some(*slot)
        }
        _ => None,
    };
    fixes(a, b).or_else(|| fixes(b, a))
}

fn is_fixed(scan: &Scan, index: &Index, fixed: &[Slot]) -> bool {
    let is_fixed = |column| {
        let place = scan.table.position_of(column);
        let slot = scan.columns.iter().find(|(_, known)| Some(*known) == place);
        slot.is_some_and(|(slot, _)| fixed.contains(slot))
    };
    index.unique
        && index.state == IndexState::Public
        && index.predicate.is_none()
        && index.keys.iter().all(|key| is_fixed(key.column))
}
