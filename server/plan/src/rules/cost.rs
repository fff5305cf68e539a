//! Costs of access paths and join methods. The unit is a row that a scan reads.
//!
//! The numbers were measured on TPC-H beside each other, in memory: a row of a scan takes 0.15 µs.
//! Rules that choose between them compare these costs; estimates of rows come from `estimate`.

use braid_catalog::{Catalog, IndexState};

use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Access, Bound, Join, JoinKind, JoinMethod, Node, Scan};

use super::push_filters::needs;
use super::spans::candidate;
use super::{choose_index, estimate, partial_indexes};

/// A row of the build side that goes into a hash table.
const BUILD: f64 = 3.0;
/// A row that is looked for in a hash table.
const PROBE: f64 = 2.0;
/// A pair of rows whose condition is checked.
const PAIR: f64 = 0.5;
/// A row that a join gives.
const GIVE: f64 = 0.5;
/// A lookup in an index, besides the rows that it finds.
const LOOKUP: f64 = 40.0;
/// A row that a lookup finds.
const FOUND: f64 = 4.0;
/// A row that a lookup finds in an index and reads by its primary key.
const FETCHED: f64 = 30.0;

/// A row that goes into a group.
const GROUP: f64 = 3.0;
/// A subquery that starts, besides what it reads.
pub const RUN: f64 = 40.0;

/// A hash join whose right side is the build side.
pub fn hash(left: f64, right: f64) -> f64 {
    left * PROBE + right * BUILD
}

/// A hash join whose build side is the cheaper one, if its left side may be that.
pub fn hash_of_either(left: f64, right: f64, may_build_left: bool) -> f64 {
    match may_build_left {
        true => hash(left, right).min(hash(right, left)),
        false => hash(left, right),
    }
}

/// Whether the left side of a join may be in a hash table. Both sides of an inner join are tried
/// as the right one instead. The condition must give the same for whatever pairs it is asked.
pub fn may_build_left<'e>(kind: JoinKind, on: impl IntoIterator<Item = &'e Expr>) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
        && on.into_iter().all(|e| !e.waits() && !e.is_volatile())
}

/// A join that looks at every pair.
pub fn pairs(left: f64, right: f64) -> f64 {
    left + right + left * right * PAIR
}

/// The rows that a join gives.
pub fn given(rows: f64) -> f64 {
    rows * GIVE
}

/// Whether a condition can be the key of a hash table, judged by its form.
pub fn is_equality(e: &Expr) -> bool {
    matches!(e, Expr::Compare(CompareOp::Eq, ..)) && !e.waits()
}

/// What reading an input of a join costs, before its scans have an index.
pub fn of_input(node: &Node, catalog: &Catalog) -> f64 {
    match node {
        Node::Scan(scan) => read(&indexed(scan, catalog), catalog),
        node => estimate::rows(node, catalog),
    }
}

/// The scan with the index that it will have.
fn indexed(scan: &Scan, catalog: &Catalog) -> Scan {
    let mut scan = scan.clone();
    choose_index::choose(&mut scan, &[], catalog);
    scan
}

/// What a scan costs by its index.
pub fn read(scan: &Scan, catalog: &Catalog) -> f64 {
    let index = scan.table.all_indexes().find(|index| index.number == scan.access.index);
    let each = match index {
        Some(index) => candidate::found(1.0, candidate::covers(scan, index)),
        None => candidate::found(1.0, false),
    };
    if !scan.union.is_empty() {
        return scan.union.iter().map(|part| read(part, catalog) + if_bounded(part)).sum();
    }
    match scan.access.bounds.is_empty() {
        true => estimate::table_rows(&scan.table, catalog),
        false => scan.rows * each,
    }
}

/// What a plan costs whose indexes and methods have been chosen.
pub fn of_plan(node: &Node, catalog: &Catalog) -> f64 {
    let mut inputs = 0.0;
    let mut each_input = || node.for_each_child(&mut |child| inputs += of_plan(child, catalog));
    match node {
        Node::Scan(scan) => return read(scan, catalog) + if_bounded(scan),
        Node::Join(join) => return of_join(join, catalog),
        _ => each_input(),
    }
    match node {
        Node::Aggregate(node) => inputs + estimate::rows(&node.input, catalog) * GROUP,
        Node::Distinct(node) => inputs + estimate::rows(&node.input, catalog) * GROUP,
        Node::Filter(node) => inputs + estimate::rows(&node.input, catalog) * PAIR,
        node => inputs + given(estimate::rows(node, catalog)),
    }
}

/// What it costs to find the place in an index where a scan starts.
fn if_bounded(scan: &Scan) -> f64 {
    if scan.access.bounds.is_empty() { 0.0 } else { LOOKUP }
}

fn of_join(join: &Join, catalog: &Catalog) -> f64 {
    let (left, right) = (estimate::rows(&join.left, catalog), estimate::rows(&join.right, catalog));
    let read = of_plan(&join.left, catalog) + given(join.rows);
    let inner = || of_plan(&join.right, catalog);
    read + match &join.method {
        JoinMethod::Lookup => left * (LOOKUP + (join.rows / left).max(1.0) * FETCHED),
        JoinMethod::Loop if join.lateral => left * inner(),
        JoinMethod::Loop => inner() + pairs(left, right),
        JoinMethod::Hash { .. } => inner() + hash(left, right),
        JoinMethod::Interleaved => inner(),
    }
}

/// What a lookup in a scan's table will cost for each left row; `None` if there will be none.
pub fn predicted_lookup(scan: &Scan, on: &[Expr], catalog: &Catalog) -> Option<f64> {
    if on.is_empty() || !indexed(scan, catalog).access.bounds.is_empty() {
        return None;
    }
    lookup(scan, on, JoinKind::Inner, catalog).map(|(each, _)| each)
}

/// The cheapest way to look a table up for each left row, and what one lookup costs.
pub fn lookup(
    scan: &Scan,
    on: &[Expr],
    kind: JoinKind,
    catalog: &Catalog,
) -> Option<(f64, Access)> {
    if matches!(kind, JoinKind::Right | JoinKind::Full) || !scan.access.bounds.is_empty() {
        return None;
    }
    let rows = estimate::table_rows(&scan.table, catalog);
    // The left row's columns are constants to a lookup.
    let conditions: Vec<Expr> = on.iter().chain(&scan.filter).cloned().collect();
    let mut best: Option<(f64, Access)> = None;
    for index in scan.table.all_indexes() {
        if index.state != IndexState::Public
            || !partial_indexes::is_implied(scan, index, &conditions)
        {
            continue;
        }
        let candidate = candidate::candidate(scan, index, &conditions, catalog);
        if !candidate.bounds.iter().any(depends) {
            continue;
        }
        let found = (rows * candidate.part).max(1.0);
        let cost = LOOKUP + found * if candidate.covers { FOUND } else { FETCHED };
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            best = Some((cost, Access::new(candidate.index, candidate.bounds)));
        }
    }
    best
}

/// Whether a bound of values reads a row.
fn depends(bound: &Bound) -> bool {
    let mut depends = false;
    if matches!(bound, Bound::In(_) | Bound::Branches(_)) {
        bound.for_each_expr(&mut |e| depends |= !needs(e).is_empty());
    }
    depends
}
