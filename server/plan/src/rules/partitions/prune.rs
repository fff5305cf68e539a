//! Partitions whose keys no condition allows are not read.
//!
//! What constants decide goes here. What parameters decide stays with the scan
//! ([`crate::Scan::pruning`]), which looks when it starts.

use std::sync::Arc;

use braid_catalog::{Catalog, Index, IndexKey, Table};

use crate::rules::spans::bounds::bounded;
use crate::rules::spans::columns::is_never;
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{Append, Node, Pruning, Scan, TableTriggers, Values};

pub(crate) fn apply(node: Node, catalog: &Catalog) -> Node {
    match node {
        Node::Scan(mut scan) => {
            prune(&mut scan, &[], catalog);
            Node::Scan(scan)
        }
        Node::Append(append) => flatten(*append, catalog),
        other => walk::map_children(other, &mut |child| apply(child, catalog)),
    }
}

/// Leaves out the inputs that have no rows. A single one stands for itself.
fn flatten(append: Append, catalog: &Catalog) -> Node {
    let Append { inputs, slots, scanned, merge } = append;
    let mut left = Vec::with_capacity(inputs.len());
    for input in inputs {
        let input = apply(input, catalog);
        if !is_empty(&input) {
            left.push(input);
        }
    }
    match left.len() {
        0 => Node::Values(Values { slots, rows: Vec::new(), repeats: None }),
        1 if left.first().is_some_and(|only| only.slots() == slots) => left.remove(0),
        _ => Node::Append(Box::new(Append { inputs: left, slots, scanned, merge })),
    }
}

/// Whether an input cannot have rows, or changes none.
fn is_empty(node: &Node) -> bool {
    match node {
        Node::Scan(scan) => {
            scan.filter.iter().any(is_never)
                || scan.pruning.iter().any(|pruning| !pruning.may_have_rows())
        }
        Node::Filter(filter) => is_empty(&filter.input),
        Node::Project(project) => is_empty(&project.input),
        Node::LockRows(lock) => is_empty(&lock.input),
        Node::Sort(sort) => is_empty(&sort.input),
        Node::Update(update) => {
            !is_of_statement(&update.table, &update.triggers) && is_target_empty(&update.input)
        }
        Node::Delete(delete) => {
            !is_of_statement(&delete.table, &delete.triggers) && is_target_empty(&delete.input)
        }
        Node::Merge(merge) => {
            merge.whens.iter().all(|when| when.matched) && is_joined_empty(&merge.input)
        }
        Node::Values(values) => values.rows.is_empty(),
        Node::Append(append) => append.inputs.iter().all(is_empty),
        _ => false,
    }
}

/// Whether a change stands for the partitioned table itself, whose triggers it fires.
fn is_of_statement(table: &Table, triggers: &TableTriggers) -> bool {
    triggers.of_root.as_ref().is_some_and(|root| root.table.id == table.id)
}

/// Whether a change has no rows: its target has none, with which FROM is joined.
fn is_target_empty(node: &Node) -> bool {
    match node {
        Node::Join(join) => is_target_empty(&join.left) || is_empty(&join.right),
        Node::Filter(filter) => is_target_empty(&filter.input),
        Node::Project(project) => is_target_empty(&project.input),
        Node::LockRows(lock) => is_target_empty(&lock.input),
        other => is_empty(other),
    }
}

/// Whether no row of a MERGE matches: its target, the right side of a join, is empty.
fn is_joined_empty(node: &Node) -> bool {
    match node {
        Node::Join(join) => is_empty(&join.right),
        Node::Project(project) => is_joined_empty(&project.input),
        _ => false,
    }
}

/// Notes what the conditions of a scan say of the keys of the partitioned tables above it.
pub(crate) fn prune(scan: &mut Scan, more: &[Expr], catalog: &Catalog) {
    let Some(partition) = scan.partition.take() else { return };
    let conditions: Vec<&Expr> = scan.filter.iter().chain(more).collect();
    let mut found = Vec::new();
    for level in &partition.levels {
        let columns = level.keys.iter().map(|place| scan.table.columns[*place].id);
        let keys = columns.map(IndexKey::plain).collect();
        let index = Index { keys, ..Index::plain(0, "") };
        let bounds = bounded(scan, &index, 0, &conditions, catalog).bounds;
        if bounds.is_empty() {
            continue;
        }
        let waits = |e: &Expr| e.waits();
        let mut waiting = false;
        bounds.iter().for_each(|b| b.for_each_expr(&mut |e| waiting |= waits(e)));
        let pruning = Pruning { map: level.map.clone(), place: level.place, bounds };
        let is_settled = pruning.is_known() && pruning.may_have_rows();
        if !(waiting || is_settled) {
            found.push(pruning);
        }
    }
    scan.pruning = found;
    scan.partition = Some(Arc::clone(&partition));
}
