//! The cheapest index for each scan, with bounds from its conditions.
//!
//! Bounds follow an index's key columns: equalities (`=`, `IN`, also of rows, `= ANY`, `IS NULL`)
//! as far as they go, then at most one range. Conditions stay in the filter except those that a
//! bound expresses exactly.

use std::sync::Arc;

use braid_catalog::{Catalog, Index, IndexKey, IndexState};
use braid_types::{Datum, SqlType};

use crate::tree::expr::{CompareOp, Expr, QuantifiedExpr, SubqueryExpr, SubqueryKind};
use crate::tree::node::{Access, Bound, Node, Scan};

use super::push_filters::needs;
use super::{estimate, partial_indexes, walk};

/// What one row by a unique secondary index costs.
const LOOKUP_COST: f64 = 5.0;
/// The most combinations of IN lists that one access may have.
const POINTS_MAX: usize = 10_000;

pub fn apply(node: Node, catalog: &Catalog) -> Node {
    match node {
        Node::Scan(mut scan) => {
            choose(&mut scan, &[], catalog);
            Node::Scan(scan)
        }
        Node::Filter(mut filter) if matches!(filter.input, Node::Scan(_)) => {
            let more: Vec<Expr> = filter.predicates.iter().filter_map(by_subquery).collect();
            if let Node::Scan(scan) = &mut filter.input {
                choose(scan, &more, catalog);
            }
            Node::Filter(filter)
        }
        other => walk::map_children(other, &mut |child| apply(child, catalog)),
    }
}

/// A condition of a filter above a scan that can bound the scan: a comparison with a subquery that
/// reads no row around it (`id = (SELECT …)`, `id IN (SELECT …)`). It stays in the filter as well;
/// the subquery runs once.
fn by_subquery(condition: &Expr) -> Option<Expr> {
    let closed = |e: &Expr| match e {
        Expr::Subquery(subquery) => walk::is_closed(Arc::make_mut(&mut subquery.plan.clone())),
        _ => false,
    };
    match condition {
        Expr::Compare(_, a, b) if closed(a) || closed(b) => Some(condition.clone()),
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

/// `more` are conditions that a filter above checks.
fn choose(scan: &mut Scan, more: &[Expr], catalog: &Catalog) {
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
        let is_better = |known: f64| cost < known || (cost == known && index.predicate.is_some());
        if best.as_ref().is_none_or(|(known, _)| is_better(*known)) {
            best = Some((cost, candidate));
        }
    }
    let cost = best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
    scan.wants_literals = cost > LOOKUP_COST && partial_indexes::may_need_literals(scan);
    scan.rows = estimate::rows(&Node::Scan(Box::new(scan.clone())), catalog);
    let Some((_, candidate)) = best else { return };
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

/// Whether a condition holds for no row.
fn is_never(condition: &Expr) -> bool {
    matches!(condition, Expr::Const(Datum::Null | Datum::Bool(false), _))
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
    let mut bounds = Vec::new();
    let mut exact = Vec::new();
    let mut part = partial_indexes::part(scan, index, catalog);
    let mut points = 1usize;
    while let Some(key) = index.keys.get(bounds.len()) {
        let Some(place) = scan.table.columns.iter().position(|c| c.id == key.column) else { break };
        let ty = &scan.table.columns[place].ty;
        let distinct = estimate::distinct(&scan.table, place, catalog);
        if let Some((bound, used, count)) = equality(scan, place, ty, conditions)
            && points.saturating_mul(count) <= POINTS_MAX
        {
            points *= count;
            part *= (count as f64 / distinct).min(1.0);
            bounds.push(bound);
            exact.extend(used);
            continue;
        }
        if let Some((rows, used)) = rows_of_keys(scan, &index.keys[bounds.len()..], conditions)
            && points.saturating_mul(rows.len()) <= POINTS_MAX
        {
            points *= rows.len();
            let width = rows.first().map_or(1, Vec::len);
            part *= (rows.len() as f64 / distinct).min(1.0);
            bounds.push(Bound::Rows(rows));
            bounds.extend(std::iter::repeat_n(Bound::OfRows, width - 1));
            exact.push(used);
            continue;
        }
        if let Some((bound, used)) = range(scan, place, ty, conditions) {
            part *= 0.3;
            bounds.push(bound);
            exact.extend(used);
        }
        break;
    }
    if index.unique && bounds.len() == index.keys.len() && bounds.iter().all(is_point) {
        part = points as f64 / estimate::table_rows(&scan.table, catalog);
    }
    Candidate { index: index.number, part, covers: covers(scan, index), bounds, exact }
}

fn is_point(bound: &Bound) -> bool {
    matches!(bound, Bound::In(_) | Bound::Any(_) | Bound::Rows(_) | Bound::OfRows)
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

/// Whether an expression is the value of a column of the scan, or of an index's key that is the
/// same expression.
pub fn is_at(scan: &Scan, e: &Expr, place: usize) -> bool {
    if let Expr::Column(slot, _) = e {
        return scan.columns.contains(&(*slot, place));
    }
    let key = scan.key_exprs.iter().find(|(known, _)| *known == place);
    key.is_some_and(|(_, key)| {
        let mut key = key.clone();
        partial_indexes::over_slots(scan, &mut key) && key.same_value(e)
    })
}

/// Whether an expression can be evaluated before the scan starts.
fn is_free(scan: &Scan, e: &Expr) -> bool {
    if e.is_volatile() || (e.waits() && !matches!(e, Expr::Subquery(_))) {
        return false;
    }
    let slots = needs(e);
    !slots.iter().any(|slot| scan.columns.iter().any(|(s, _)| s == slot))
}

/// Whether values of one type are keys of another as they are.
fn fits(value: &SqlType, column: &SqlType) -> bool {
    let integer = |ty: &SqlType| ty.is_integer();
    let text = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Name);
    value.bare() == column.bare()
        || (integer(value) && integer(column))
        || (text(value) && text(column))
        || matches!(
            (value, column),
            (SqlType::Float4 | SqlType::Float8, SqlType::Float4 | SqlType::Float8)
        )
}

fn equality(
    scan: &Scan,
    place: usize,
    ty: &SqlType,
    conditions: &[Expr],
) -> Option<(Bound, Vec<usize>, usize)> {
    let usable = |e: &Expr| fits(&e.ty(), ty) && is_free(scan, e);
    for (i, condition) in conditions.iter().enumerate() {
        match condition {
            Expr::Compare(CompareOp::Eq, a, b) => {
                for (column, value) in [(a, b), (b, a)] {
                    if is_at(scan, column, place) && usable(value) {
                        return Some((Bound::In(vec![(**value).clone()]), vec![i], 1));
                    }
                }
            }
            Expr::InList(e, list) if is_at(scan, e, place) && list.iter().all(usable) => {
                return Some((Bound::In(list.clone()), vec![i], list.len().max(1)));
            }
            Expr::InSet(e, set, _) if is_at(scan, e, place) && fits(&e.ty(), ty) => {
                let list = set.iter().map(|d| Expr::Const(d.clone(), ty.clone())).collect();
                return Some((Bound::In(list), vec![i], set.len().max(1)));
            }
            Expr::Quantified(q) => {
                let is_equal = !q.all
                    && matches!(&q.compare, Expr::Compare(CompareOp::Eq, a, b)
                        if matches!((&**a, &**b), (Expr::Input(0, _), Expr::Input(1, _))));
                let Some(element) = q.array.ty().element().cloned() else { continue };
                if is_equal
                    && is_at(scan, &q.left, place)
                    && fits(&element, ty)
                    && is_free(scan, &q.array)
                {
                    return Some((Bound::Any(q.array.clone()), vec![i], 10));
                }
            }
            Expr::IsNull(e) if is_at(scan, e, place) => {
                return Some((Bound::Null, vec![i], 1));
            }
            _ => {}
        }
    }
    None
}

/// `(a, b) IN ((1, 2), (3, 4))`, which is bound as an OR of rows of equalities: the rows of values
/// for the first of these keys, and the place of the condition.
fn rows_of_keys(
    scan: &Scan,
    keys: &[IndexKey],
    conditions: &[Expr],
) -> Option<(Vec<Vec<Expr>>, usize)> {
    conditions.iter().enumerate().find_map(|(i, condition)| {
        let Expr::Or(branches) = condition else { return None };
        // A row with a NULL is equal to none.
        let possible = |e: &&Expr| !matches!(e, Expr::And(list) if list.iter().any(is_never));
        let branches: Vec<&Expr> = branches.iter().filter(possible).collect();
        let Some(Expr::And(first)) = branches.first() else { return None };
        let keys = keys.get(..first.len())?;
        let rows: Option<Vec<_>> = branches.iter().map(|e| row_of_keys(scan, keys, e)).collect();
        Some((rows?, i))
    })
}

/// The values that a row of equalities gives to exactly these keys.
fn row_of_keys(scan: &Scan, keys: &[IndexKey], branch: &Expr) -> Option<Vec<Expr>> {
    let Expr::And(list) = branch else { return None };
    let mut row = vec![None; keys.len()];
    for e in list {
        let Expr::Compare(CompareOp::Eq, a, b) = e else { return None };
        let (at, value) = [(a, b), (b, a)].into_iter().find_map(|(column, value)| {
            let place = |key: &IndexKey| scan.table.columns.iter().position(|c| c.id == key.column);
            let at = keys
                .iter()
                .position(|key| place(key).is_some_and(|place| is_at(scan, column, place)))?;
            let ty = &scan.table.columns[place(&keys[at])?].ty;
            let usable = fits(&value.ty(), ty) && is_free(scan, value);
            usable.then(|| (at, (**value).clone()))
        })?;
        if row[at].replace(value).is_some() {
            return None;
        }
    }
    row.into_iter().collect()
}

fn range(
    scan: &Scan,
    place: usize,
    ty: &SqlType,
    conditions: &[Expr],
) -> Option<(Bound, Vec<usize>)> {
    let (mut lower, mut upper) = (None, None);
    let mut used = Vec::new();
    for (i, condition) in conditions.iter().enumerate() {
        let Expr::Compare(op, a, b) = condition else { continue };
        for (column, value, op) in [(a, b, *op), (b, a, op.flipped())] {
            if !is_at(scan, column, place) || !fits(&value.ty(), ty) || !is_free(scan, value) {
                continue;
            }
            let end = match op {
                CompareOp::Gt | CompareOp::Ge if lower.is_none() => &mut lower,
                CompareOp::Lt | CompareOp::Le if upper.is_none() => &mut upper,
                _ => continue,
            };
            *end = Some(((**value).clone(), matches!(op, CompareOp::Ge | CompareOp::Le)));
            used.push(i);
            break;
        }
    }
    if lower.is_none() && upper.is_none() {
        return None;
    }
    Some((Bound::Range { lower, upper }, used))
}
