//! A way to read an index: how far conditions bound it, and what that costs.

use braid_catalog::{Catalog, Index, IndexNumber};

use crate::rules::{estimate, partial_indexes};
use crate::tree::expr::Expr;
use crate::tree::node::{Access, Bound, Node, Reading, Scan};

use super::bounded::Bounded;
use super::bounds::{bounded, is_key};
use super::terms;

/// A row that a scan finds in an index and reads by its primary key. A row of a scan costs 1.
const FETCHED: f64 = 4.0;

/// Rows that a scan finds in an index. One that does not cover the scan leads to the primary key.
pub(crate) fn found(rows: f64, covers: bool) -> f64 {
    if covers { rows } else { rows * FETCHED }
}

/// Gives a scan a way to read an index.
pub(crate) fn take(scan: &mut Scan, candidate: Candidate, catalog: &Catalog) {
    scan.rows = estimate::rows(&Node::Scan(Box::new(scan.clone())), catalog);
    scan.union.clear();
    scan.access = Access::new(candidate.index, candidate.bounds);
    scan.access.reading = candidate.reading;
    scan.bounded_by.clear();
    for (place, condition) in std::mem::take(&mut scan.filter).into_iter().enumerate() {
        match candidate.exact.contains(&place) {
            true => scan.bounded_by.push(condition),
            false => scan.filter.push(condition),
        }
    }
    let index = scan.table.all_indexes().find(|index| index.number == scan.access.index);
    scan.gap_keys = index.and_then(|index| estimate::gap_keys(&scan.table, index, catalog));
}

/// A way to read an index.
pub(crate) struct Candidate {
    /// The index.
    pub index: IndexNumber,
    /// Conditions on its first key columns.
    pub bounds: Vec<Bound>,
    /// The part of the table's rows inside.
    pub part: f64,
    /// The index has every column that the scan gives.
    pub covers: bool,
    /// Places of conditions that the bounds express exactly.
    pub exact: Vec<usize>,
    /// Which entries are given, and in which order.
    pub reading: Reading,
}

/// How far conditions bound an index.
pub(crate) fn candidate(
    scan: &Scan,
    index: &Index,
    conditions: &[Expr],
    catalog: &Catalog,
) -> Candidate {
    let Bounded { bounds, part, exact, .. } = match index.is_inverted() {
        true => terms::bounded(scan, index, conditions, (FETCHED, catalog)),
        false => {
            let conditions: Vec<&Expr> = conditions.iter().collect();
            bounded(scan, index, 0, &conditions, catalog)
        }
    };
    let part = match is_key(index, &bounds) {
        true => part,
        false => part * partial_indexes::part(scan, index, catalog),
    };
    let (covers, reading) = (covers(scan, index), Reading::InOrder);
    Candidate { index: index.number, part, covers, bounds, exact, reading }
}

/// Whether a way to read an index is none: the index has no bounds, and is not a partial one that
/// has fewer rows than its table.
pub(crate) fn is_useless(index: &Index, candidate: &Candidate) -> bool {
    candidate.bounds.is_empty() && (index.predicate.is_none() || index.is_inverted())
}

/// Whether an index has every column that a scan gives.
pub(crate) fn covers(scan: &Scan, index: &Index) -> bool {
    if index.number == 1 {
        return true;
    }
    if index.is_inverted() {
        return false;
    }
    // A locked row is locked by its primary key and read there.
    scan.lock.is_none()
        && scan.columns.iter().all(|(_, place)| {
            let id = scan.table.columns[*place].id;
            let exact = braid_codec::key::is_exact(&scan.table.columns[*place].ty);
            index.storing.contains(&id)
                || (exact && index.keys.iter().any(|key| key.column == id))
                || (exact && scan.table.primary.keys.iter().any(|key| key.column == id))
        })
}
