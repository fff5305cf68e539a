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
/// A row that is kept without a hash table.
const KEEP: f64 = 1.0;
/// A pair of rows whose condition is checked.
const PAIR: f64 = 0.5;
/// A row that a join gives.
const GIVE: f64 = 0.5;
/// The left rows whose lookups are made together.
const BATCH: f64 = 1000.0;
/// A lookup in an index, besides the rows that it finds.
const LOOKUP: f64 = 40.0;
/// A row that a lookup finds.
const FOUND: f64 = 4.0;
/// A row that a lookup finds in an index and reads by its primary key.
const FETCHED: f64 = 30.0;

/// A row that goes into a group.
const GROUP: f64 = 3.0;
/// A subquery that starts, besides what it reads.
pub(crate) const RUN: f64 = 40.0;

/// A hash join whose right side is the build side.
pub(crate) fn hash(left: f64, right: f64) -> f64 {
    left * PROBE + right * BUILD
}

/// A hash join whose build side is the cheaper one, if its left side may be that.
pub(crate) fn hash_of_either(left: f64, right: f64, may_build_left: bool) -> f64 {
    match may_build_left {
        true => hash(left, right).min(hash(right, left)),
        false => hash(left, right),
    }
}

/// Whether the left side of a join may be in a hash table. Both sides of an inner join are tried
/// as the right one instead. The condition must give the same for whatever pairs it is asked.
pub(crate) fn may_build_left<'e>(kind: JoinKind, on: impl IntoIterator<Item = &'e Expr>) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
        && on.into_iter().all(|e| !e.waits() && !e.is_volatile())
}

/// A join that looks at every pair. The rows of the right side are kept.
pub(crate) fn pairs(left: f64, right: f64) -> f64 {
    left + right * (1.0 + KEEP) + left * right * PAIR
}

/// The rows that a join gives.
pub(crate) fn given(rows: f64) -> f64 {
    rows * GIVE
}

/// Whether a condition can be the key of a hash table, judged by its form.
pub(crate) fn is_equality(e: &Expr) -> bool {
    matches!(e, Expr::Compare(CompareOp::Eq, ..)) && !e.waits()
}

/// What reading an input of a join costs, before its scans have an index.
pub(crate) fn of_input(node: &Node, catalog: &Catalog) -> f64 {
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
pub(crate) fn read(scan: &Scan, catalog: &Catalog) -> f64 {
    let index = scan.table.all_indexes().find(|index| index.number == scan.access.index);
    let each = match index {
        Some(index) => candidate::found(1.0, candidate::covers(scan, index)),
        None => candidate::found(1.0, false),
    };
    if !scan.union.is_empty() {
        return scan.union.iter().map(|part| read(part, catalog) + if_bounded(part)).sum();
    }
    if scan.access.bounds.is_empty() {
        return estimate::table_rows(&scan.table, catalog);
    }
    let part = index.map_or(1.0, |index| partial_indexes::part(scan, index, catalog));
    estimate::rows_inside(scan, part, catalog) * each
}

/// What a plan costs whose indexes and methods have been chosen.
pub(crate) fn of_plan(node: &Node, catalog: &Catalog) -> f64 {
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

/// What lookups in a scan's table will cost; `None` if there will be none.
pub(crate) fn predicted_lookup(scan: &Scan, on: &[Expr], catalog: &Catalog) -> Option<LookupCost> {
    if on.is_empty() {
        return None;
    }
    lookup(scan, on, JoinKind::Inner, catalog).map(|found| found.cost)
}

/// What lookups by an index cost.
#[derive(Clone, Copy)]
pub(crate) struct LookupCost {
    /// The rows that one of them finds.
    found: f64,
    /// What reading one of these costs.
    each: f64,
    /// The rows of the index, if the lookups of several left rows may find the same ones. Each is
    /// read once in a batch.
    shared: Option<f64>,
}

impl LookupCost {
    /// The cost for this number of left rows.
    pub(crate) fn of(&self, left: f64) -> f64 {
        let found = left * self.found;
        let read = match self.shared {
            Some(all) => found.min(all * (left / BATCH).ceil()) * self.each + found * PAIR,
            None => found * self.each,
        };
        left * LOOKUP + read
    }
}

/// A way to look a table up for each left row.
pub(crate) struct Lookup {
    /// What it costs.
    pub cost: LookupCost,
    access: Access,
    /// The conditions of the join and of the scan, in this order, that the bounds express exactly.
    /// Empty if rows are found by equalities alone.
    exact: Vec<usize>,
}

impl Lookup {
    /// Makes the right side of a join a lookup. Conditions that a range expresses are not checked
    /// again for each row that it finds.
    pub(crate) fn take(self, on: &mut Vec<Expr>, scan: &mut Scan) {
        let own = on.len();
        let exact = self.exact.clone();
        self.put_into(scan);
        let mut place = 0;
        on.retain(|_| {
            place += 1;
            !exact.contains(&(place - 1))
        });
        place = own;
        scan.filter.retain(|_| {
            place += 1;
            !exact.contains(&(place - 1))
        });
    }

    /// Gives a scan its access. All conditions stay.
    pub(crate) fn put_into(self, scan: &mut Scan) {
        scan.filter.append(&mut scan.bounded_by);
        scan.access = self.access;
    }
}

/// The cheapest way to look a table up for each left row.
pub(crate) fn lookup(
    scan: &Scan,
    on: &[Expr],
    kind: JoinKind,
    catalog: &Catalog,
) -> Option<Lookup> {
    let reads_nothing = !scan.access.bounds.is_empty() && scan.rows <= 0.0;
    if matches!(kind, JoinKind::Right | JoinKind::Full) || reads_nothing {
        return None;
    }
    let rows = estimate::table_rows(&scan.table, catalog);
    // The left row's columns are constants to a lookup.
    let own = scan.filter.iter().chain(&scan.bounded_by);
    let conditions: Vec<Expr> = on.iter().chain(own).cloned().collect();
    let mut best: Option<Lookup> = None;
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
        let is_range = !candidate.bounds.iter().any(|bound| depends(bound) && !is_range(bound));
        let found = (rows * candidate.part).max(1.0);
        let each = if candidate.covers { FOUND } else { FETCHED };
        let shared = is_range.then_some(rows);
        let cost = LookupCost { found, each, shared };
        let exact = if is_range { candidate.exact } else { Vec::new() };
        let access = Access::new(candidate.index, candidate.bounds);
        if best.as_ref().is_none_or(|known| cost.of(1.0) < known.cost.of(1.0)) {
            best = Some(Lookup { cost, access, exact });
        }
    }
    best
}

/// Whether a bound reads a row.
fn depends(bound: &Bound) -> bool {
    let mut depends = false;
    if matches!(bound, Bound::In(_) | Bound::Range { .. } | Bound::Branches(_)) {
        bound.for_each_expr(&mut |e| depends |= !needs(e).is_empty());
    }
    depends
}

fn is_range(bound: &Bound) -> bool {
    matches!(bound, Bound::Range { .. })
}
