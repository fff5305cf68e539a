//! The cheapest index for each scan, with bounds from its conditions.
//!
//! [`super::spans`] makes the bounds. Conditions stay in the filter except those that a bound
//! expresses exactly.

use braid_catalog::{Catalog, IndexState};
use braid_types::SqlType;

use crate::tree::expr::{CompareOp, Expr, QuantifiedExpr, SubqueryExpr, SubqueryKind};
use crate::tree::node::{Access, Bound, Scan};

use super::spans::candidate::{Candidate, candidate, found, is_useless, take};
use super::spans::columns::is_never;
use super::spans::union::union;
use super::{estimate, partial_indexes, walk};

/// What one row by a unique secondary index costs.
const LOOKUP_COST: f64 = 5.0;
/// Up to this number of rows an index is preferred to reading the whole table: an estimate that is
/// too high then costs little.
const FEW_ROWS: f64 = 1000.0;
/// What each further row costs more that an index leads to. In all that is as much as 15 rows of a
/// scan, as measured in memory.
const MANY_FETCHED: f64 = 11.0;
/// From this cost on a plan of its own for each literal pays, if statistics know the literal.
const LITERALS_COST: f64 = 1000.0;

/// A condition of a filter above a scan that can bound the scan: a comparison with a subquery that
/// reads no row around it: `id = (SELECT …)`, `id IN (SELECT …)`, `id = ANY (ARRAY(SELECT …))`. It
/// stays in the filter as well; the subquery runs once.
pub(crate) fn by_subquery(condition: &Expr) -> Option<Expr> {
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
pub(crate) fn choose(scan: &mut Scan, more: &[Expr], catalog: &Catalog) {
    if scan.filter.iter().any(is_never) {
        // No key is above NULL: nothing is read, and nothing is locked.
        let above_null = Some((Expr::null(SqlType::Unknown), false));
        let bounds = vec![Bound::Range { lower: above_null, upper: None }];
        scan.access = Access::new(scan.table.primary.number, bounds);
        scan.filter.clear();
        scan.bounded_by.clear();
        scan.union.clear();
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
        } else if is_useless(index, &candidate) {
            continue;
        } else {
            // Each row is read once more by its primary key.
            found(rows, false) + (rows - FEW_ROWS).max(0.0) * MANY_FETCHED + 1.0
        };
        // Of two that cost the same, the smaller one is a partial index. Else the better one is the
        // one that leaves fewer conditions to be checked for each row.
        let is_preferred = |known: &Candidate| {
            let is_smaller = index.predicate.is_some() && candidate.part <= known.part;
            is_smaller || candidate.exact.len() > known.exact.len()
        };
        let is_better = |(known_cost, known): &(f64, Candidate)| {
            cost < *known_cost || (cost == *known_cost && is_preferred(known))
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((cost, candidate));
        }
    }
    let cost = best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
    let union = union(scan, more, catalog).filter(|union| union.cost < cost);
    let cost = union.as_ref().map_or(cost, |union| union.cost);
    let may_imply = cost > LOOKUP_COST && partial_indexes::may_need_literals(scan);
    let is_dear = cost > LITERALS_COST;
    scan.wants_literals = may_imply || is_dear && estimate::needs_literals(scan, catalog);
    scan.wants_values = is_dear && scan.wants_literals;
    let Some((_, cheapest)) = best else { return };
    let Some(union) = union else { return take(scan, cheapest, catalog) };
    // The conditions stay with the scan, in case it is looked up.
    let whole = candidate(scan, &scan.table.primary, &[], catalog);
    take(scan, whole, catalog);
    scan.union = union.scans;
    for part in &mut scan.union {
        part.wants_literals = scan.wants_literals;
        part.wants_values = scan.wants_values;
    }
}
