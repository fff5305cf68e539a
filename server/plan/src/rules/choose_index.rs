//! The cheapest index for each scan, with bounds from its conditions.
//!
//! [`super::spans`] makes the bounds. Conditions stay in the filter except those that a bound
//! expresses exactly.

use braid_catalog::{Catalog, Index, IndexState};
use braid_types::SqlType;

use crate::tree::expr::{CompareOp, Expr, QuantifiedExpr, SubqueryExpr, SubqueryKind};
use crate::tree::node::{Access, Bound, Node, Scan};

use super::spans::bounded::Bounded;
use super::spans::bounds::{bounded, is_key};
use super::spans::columns::is_never;
use super::{estimate, partial_indexes, walk};

/// What one row by a unique secondary index costs.
const LOOKUP_COST: f64 = 5.0;
/// From this cost on a plan of its own for each literal pays, if statistics know the literal.
const LITERALS_COST: f64 = 1000.0;

/// A condition of a filter above a scan that can bound the scan: a comparison with a subquery that
/// reads no row around it: `id = (SELECT …)`, `id IN (SELECT …)`, `id = ANY (ARRAY(SELECT …))`. It
/// stays in the filter as well; the subquery runs once.
pub fn by_subquery(condition: &Expr) -> Option<Expr> {
    let closed = |e: &Expr| match e {
        Expr::Subquery(subquery) => !walk::is_correlated(subquery),
        _ => false,
    };
    match condition {
        Expr::Compare(_, a, b) if closed(a) || closed(b) => Some(condition.clone()),
        Expr::Quantified(quantified) if closed(&quantified.array) => Some(condition.clone()),
        Expr::Subquery(subquery) if closed(condition) => {
            let SubqueryKind::Quantified { all: false, left, compare, hashable: true } =
                &subquery.kind
            else {
                return None;
            };
            let left = left.first()?.clone();
            let Expr::Compare(CompareOp::Eq, _, element) = compare else { return None };
            let element = element.ty();
            let array = SubqueryExpr {
                kind: SubqueryKind::Array(element.clone()),
                ty: SqlType::Array(Box::new(element)),
                ..subquery.as_ref().clone()
            };
            Some(Expr::Quantified(Box::new(QuantifiedExpr {
                left,
                array: Expr::Subquery(Box::new(array)),
                compare: compare.clone(),
                all: false,
            })))
        }
        _ => None,
    }
}

/// Gives a scan the cheapest index. `more` are conditions that a filter above checks.
pub fn choose(scan: &mut Scan, more: &[Expr], catalog: &Catalog) {
    if scan.filter.iter().any(is_never) {
        // No key is above NULL: nothing is read, and nothing is locked.
        let above_null = Some((Expr::null(SqlType::Unknown), false));
        let bounds = vec![Bound::Range { lower: above_null, upper: None }];
        let index = scan.table.primary.number;
        scan.access = Access { index, bounds, reverse: false, limit: None };
        scan.filter.clear();
        scan.rows = 0.0;
        return;
    }
    let conditions: Vec<Expr> = scan.filter.iter().chain(more).cloned().collect();
    let total = estimate::table_rows(&scan.table, catalog);
    let mut best: Option<(f64, Candidate)> = None;
    for index in scan.table.all_indexes() {
        if index.state != IndexState::Public
            || !partial_indexes::is_implied(scan, index, &conditions)
        {
            continue;
        }
        let candidate = candidate(scan, index, &conditions, catalog);
        let rows = (total * candidate.part).max(1.0);
        let cost = if index.number == 1 || candidate.covers {
            rows
        } else if candidate.bounds.is_empty() && index.predicate.is_none() {
            continue;
        } else {
            // Each row is read once more by its primary key.
            rows * 4.0 + 1.0
        };
        // Of two that cost the same, the smaller one is a partial index.
        let is_smaller =
            |known: &Candidate| index.predicate.is_some() && candidate.part <= known.part;
        let is_better = |(known_cost, known): &(f64, Candidate)| {
            cost < *known_cost || (cost == *known_cost && is_smaller(known))
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((cost, candidate));
        }
    }
    let cost = best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
    let may_imply = cost > LOOKUP_COST && partial_indexes::may_need_literals(scan);
    let is_dear = cost > LITERALS_COST;
    scan.wants_literals = may_imply || is_dear && estimate::needs_literals(scan, catalog);
    scan.wants_values = is_dear && scan.wants_literals;
    scan.rows = estimate::rows(&Node::Scan(Box::new(scan.clone())), catalog);
    if let Some((_, candidate)) = best {
        give(scan, candidate, catalog);
    }
}

/// Gives a scan an index whose order is wanted.
pub fn take(scan: &mut Scan, candidate: Candidate, catalog: &Catalog) {
    scan.rows = estimate::rows(&Node::Scan(Box::new(scan.clone())), catalog);
    give(scan, candidate, catalog);
}

fn give(scan: &mut Scan, candidate: Candidate, catalog: &Catalog) {
    scan.access =
        Access { index: candidate.index, bounds: candidate.bounds, reverse: false, limit: None };
    let mut place = 0;
    scan.filter.retain(|_| {
        place += 1;
        !candidate.exact.contains(&(place - 1))
    });
    let index = scan.table.all_indexes().find(|index| index.number == scan.access.index);
    scan.gap_keys = index.and_then(|index| estimate::gap_keys(&scan.table, index, catalog));
}

/// A way to read an index.
pub struct Candidate {
    /// The index.
    pub index: braid_catalog::IndexNumber,
    /// Conditions on its first key columns.
    pub bounds: Vec<Bound>,
    /// The part of the table's rows inside.
    pub part: f64,
    /// The index has every column that the scan gives.
    pub covers: bool,
    /// Places of conditions that the bounds express exactly.
    pub exact: Vec<usize>,
}

/// How far conditions bound an index.
pub fn candidate(scan: &Scan, index: &Index, conditions: &[Expr], catalog: &Catalog) -> Candidate {
    let conditions: Vec<&Expr> = conditions.iter().collect();
    let Bounded { bounds, part, exact, .. } = bounded(scan, index, 0, &conditions, catalog);
    let part = match is_key(index, &bounds) {
        true => part,
        false => part * partial_indexes::part(scan, index, catalog),
    };
    Candidate { index: index.number, part, covers: covers(scan, index), bounds, exact }
}

/// Whether an index has every column that a scan gives.
pub fn covers(scan: &Scan, index: &Index) -> bool {
    if index.number == 1 {
        return true;
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
