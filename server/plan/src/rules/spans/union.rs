//! An OR whose branches bound different indexes: a scan for each index, and each row once.
//!
//! ```text
//!   a = 1 OR b = 2      Append
//!                       ├ Scan by the index on a: a = 1
//!                       └ Scan by the index on b: b = 2, and not a = 1
//! ```
//!
//! A scan leaves out the rows of the scans before it, so nothing is kept to find rows again. While
//! joins are planned the scans stand beside the access ([`Scan::union`]), since a lookup may be
//! cheaper. [`put_in_place`] comes after joins have their methods.

use braid_catalog::{Catalog, IndexNumber, IndexState};

use crate::rules::{estimate, partial_indexes, walk};
use crate::tree::expr::{Expr, conjuncts};
use crate::tree::node::{Append, JoinMethod, Node, Scan};

use super::candidate::{self, Candidate};
use super::columns::is_never;

/// The most branches of an OR that are looked at.
const BRANCHES_MAX: usize = 100;
/// What each scan costs besides its rows.
const START: f64 = 5.0;

/// Scans that together give the rows of one.
pub(crate) struct Union {
    /// The scans.
    pub scans: Vec<Scan>,
    /// What they cost.
    pub cost: f64,
}

/// The cheapest union of scans that gives a scan's rows. `more` are conditions that a filter above
/// checks.
pub(crate) fn union(scan: &Scan, more: &[Expr], catalog: &Catalog) -> Option<Union> {
    if scan.filter.iter().any(Expr::is_volatile_inside) {
        return None;
    }
    let mut best: Option<Union> = None;
    for (place, condition) in scan.filter.iter().enumerate() {
        let Expr::Or(list) = condition else { continue };
        if list.len() > BRANCHES_MAX {
            continue;
        }
        if let Some(found) = of_or(scan, (place, list), more, catalog)
            && best.as_ref().is_none_or(|known| found.cost < known.cost)
        {
            best = Some(found);
        }
    }
    best
}

fn of_or(
    scan: &Scan,
    (place, list): (usize, &[Expr]),
    more: &[Expr],
    catalog: &Catalog,
) -> Option<Union> {
    let groups = by_index(scan, (place, list), more, catalog)?;
    let (mut scans, mut cost) = (Vec::with_capacity(groups.len()), 0.0);
    let mut before: Vec<Expr> = Vec::new();
    for (index, branches) in groups {
        let own = disjunction(branches);
        let mut part = with_filter(scan, place, &own);
        let rows = estimate::rows(&Node::Scan(Box::new(part.clone())), catalog);
        if !before.is_empty() {
            // As in the OR, the branches before are looked at first: this one may fail on a row.
            let others = Expr::IsBool(Box::new(disjunction(before.clone())), Some(true));
            let not_others = Expr::Not(Box::new(others));
            part = with_filter(scan, place, &Expr::And(vec![not_others, own.clone()]));
        }
        before.push(own);
        let (found, part_cost) = bounded(&part, index, more, catalog)?;
        cost += part_cost + START;
        candidate::take(&mut part, found, catalog);
        part.rows = rows;
        scans.push(part);
    }
    Some(Union { scans, cost })
}

/// The branches by the index that bounds them at the least cost; `None` if one has no bound, or if
/// a single index has all of them.
fn by_index(
    scan: &Scan,
    (place, list): (usize, &[Expr]),
    more: &[Expr],
    catalog: &Catalog,
) -> Option<Vec<(IndexNumber, Vec<Expr>)>> {
    let mut groups: Vec<(IndexNumber, Vec<Expr>)> = Vec::new();
    for branch in list {
        let own = with_filter(scan, place, branch);
        if own.filter.iter().any(is_never) {
            continue;
        }
        let numbers = scan.table.all_indexes().map(|index| index.number);
        let costs =
            numbers.filter_map(|number| Some((bounded(&own, number, more, catalog)?.1, number)));
        let (_, number) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
        match groups.iter_mut().find(|(known, _)| *known == number) {
            Some((_, branches)) => branches.push(branch.clone()),
            None => groups.push((number, vec![branch.clone()])),
        }
    }
    (groups.len() > 1).then_some(groups)
}

/// The scan with another condition in the place of one of its own.
fn with_filter(scan: &Scan, place: usize, condition: &Expr) -> Scan {
    let mut filter = Vec::with_capacity(scan.filter.len() + 1);
    for (at, known) in scan.filter.iter().enumerate() {
        conjuncts(if at == place { condition.clone() } else { known.clone() }, &mut filter);
    }
    Scan { filter, union: Vec::new(), rows: 0.0, ..scan.clone() }
}

/// How a scan reads an index, and what that costs; `None` if no condition bounds it.
fn bounded(
    scan: &Scan,
    number: IndexNumber,
    more: &[Expr],
    catalog: &Catalog,
) -> Option<(Candidate, f64)> {
    let index = scan.table.all_indexes().find(|index| index.number == number)?;
    let conditions: Vec<Expr> = scan.filter.iter().chain(more).cloned().collect();
    if index.state != IndexState::Public || !partial_indexes::is_implied(scan, index, &conditions) {
        return None;
    }
    let found = candidate::candidate(scan, index, &conditions, catalog);
    if candidate::is_useless(index, &found) {
        return None;
    }
    let rows = (estimate::table_rows(&scan.table, catalog) * found.part).max(1.0);
    let cost = candidate::found(rows, found.covers);
    Some((found, cost))
}

fn disjunction(mut list: Vec<Expr>) -> Expr {
    match list.len() {
        1 => list.remove(0),
        _ => Expr::Or(list),
    }
}

/// Puts unions in the place of scans that have one, where nothing depends on a scan's own access.
pub(crate) fn put_in_place(node: &mut Node) {
    match node {
        Node::Scan(scan) => {
            let scans = std::mem::take(&mut scan.union);
            if scan.access.bounds.is_empty() && !scans.is_empty() {
                let slots = node.slots();
                let inputs = scans.into_iter().map(|scan| Node::Scan(Box::new(scan))).collect();
                *node = Node::Append(Box::new(Append::of(inputs, slots)));
            }
        }
        Node::Join(join) => {
            let keeps = |node: &mut Node| match node {
                Node::Scan(scan) => scan.union.clear(),
                other => put_in_place(other),
            };
            match join.method {
                JoinMethod::Interleaved => {
                    keeps(&mut join.left);
                    keeps(&mut join.right);
                }
                JoinMethod::Lookup => {
                    put_in_place(&mut join.left);
                    keeps(&mut join.right);
                }
                JoinMethod::Loop | JoinMethod::Hash { .. } => {
                    put_in_place(&mut join.left);
                    put_in_place(&mut join.right);
                }
            }
        }
        other => walk::children_mut(other, &mut put_in_place),
    }
}
