//! Scans give only the columns that somebody reads.

use std::collections::HashSet;

use crate::Slot;
use crate::tree::node::{LockRows, Node};

use super::walk;

/// The same before indexes are chosen, for queries that only read. What locks or changes rows reads
/// them by rules of its own, which need every column until the end.
pub fn before_choices(root: &mut Node) {
    if !changes_or_locks(root) {
        apply(root);
    }
}

/// Whether an operator of a plan changes or locks rows.
pub fn changes_or_locks(node: &Node) -> bool {
    let mut found = matches!(
        node,
        Node::LockRows(_) | Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_)
    );
    node.for_each_child(&mut |child| found = found || changes_or_locks(child));
    found
}

/// Drops the columns.
pub fn apply(root: &mut Node) {
    let mut used: Vec<Slot> = root.slots();
    walk::slots_read(root, &mut used);
    required(root, &mut used);
    walk::subplans(root, &mut |plan| {
        used.extend(plan.slots());
        required(plan, &mut used);
    });
    let used: HashSet<Slot> = used.into_iter().collect();
    prune(root, &used);
}

/// Outputs that are read by place instead of by slot.
fn required(node: &mut Node, used: &mut Vec<Slot>) {
    match node {
        Node::SetOp(op) => {
            used.extend(op.left.slots());
            used.extend(op.right.slots());
        }
        Node::Distinct(distinct) if distinct.on.is_empty() => used.extend(distinct.input.slots()),
        Node::With(with) => {
            for cte in &with.ctes {
                used.extend(cte.plan.slots());
                if let Some((term, _)) = &cte.recursive {
                    used.extend(term.slots());
                }
            }
        }
        Node::Update(update) => used.extend(update.input.slots()),
        Node::Delete(delete) => used.extend(delete.input.slots()),
        Node::Merge(merge) => used.extend(merge.input.slots()),
        _ => {}
    }
    walk::children_mut(node, &mut |child| required(child, used));
}

/// Below a lock the locked tables give their keys and what is read there; all else comes from the
/// rows as they are under the lock.
fn prune_locked(lock: &mut LockRows, used: &HashSet<Slot>) {
    let mut below: Vec<Slot> = Vec::new();
    walk::slots_read(&mut lock.input, &mut below);
    let mut inside = used.clone();
    for target in &mut lock.targets {
        target.columns.retain(|(slot, _)| used.contains(slot));
        below.extend(&target.key);
        inside.retain(|slot| below.contains(slot) || !target.gives(*slot));
        inside.extend(&target.key);
    }
    prune(&mut lock.input, &inside);
}

fn prune(node: &mut Node, used: &HashSet<Slot>) {
    match node {
        Node::Scan(scan) => scan.columns.retain(|(slot, _)| used.contains(slot)),
        Node::Virtual(scan) => scan.columns.retain(|(slot, _)| used.contains(slot)),
        Node::CteScan(scan) => scan.columns.retain(|(slot, _)| used.contains(slot)),
        Node::LockRows(lock) => return prune_locked(lock, used),
        _ => {}
    }
    walk::children_mut(node, &mut |child| prune(child, used));
}
