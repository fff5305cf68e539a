//! Which terms the rows that satisfy conditions have in an inverted index.
//!
//! ```text
//!   index (doc), doc @> '{"a": 1}' AND doc ? 'b'     All [doc @> …, doc ? …]
//!   tags && '{x, y}' OR 'z' = ANY (tags)             Any [tags && …, z = ANY (tags)]
//!   index (tenant, doc), tenant = 1 AND doc ? 'b'    All [tenant = 1, doc ? …]
//! ```
//!
//! Terms are necessary, not sufficient, so every condition stays in the filter. A condition that
//! asks for no term bounds nothing: constants are looked at here, other values when the scan
//! starts.

use braid_catalog::{Catalog, Index};
use braid_codec::terms::{TermClass, TermOperator, TermQuery, wanted};
use braid_types::SqlType;

use crate::rules::estimate;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Bound, Scan, TermBound, TermCondition, TermSearch};

use super::bounded::Bounded;
use super::bounds::equality;
use super::columns::{fits, is_at, is_free};

/// Fewer rows than this are always read one by one.
const ROWS_MAX_LEAST: f64 = 1_000.0;
/// The same for a table without statistics, whose size is unknown.
const ROWS_MAX_UNKNOWN: f64 = 200_000.0;

/// How far conditions bound an inverted index. Reading a row by its primary key costs `fetched`
/// rows of a whole scan.
pub(crate) fn bounded(
    scan: &Scan,
    index: &Index,
    conditions: &[Expr],
    (fetched, catalog): (f64, &Catalog),
) -> Bounded {
    let (bounds, exact, first) = (Vec::new(), Vec::new(), Vec::new());
    let mut known = Bounded { bounds, part: 1.0, points: 1, exact, first, is_half_open: false };
    let mut parts = Vec::new();
    for condition in conditions {
        if let Some(part) = of_condition(scan, index, condition) {
            known.part *= estimate::selectivity(condition, scan, catalog);
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return known;
    }
    let bound = if parts.len() == 1 { parts.remove(0) } else { TermBound::All(parts) };
    let rows_max = match catalog.statistics(scan.table.id).rows {
        0 => ROWS_MAX_UNKNOWN,
        _ => (estimate::table_rows(&scan.table, catalog) / fetched).max(ROWS_MAX_LEAST),
    };
    let rows_max = rows_max as usize;
    known.bounds.push(Bound::Terms(Box::new(TermSearch { bound, rows_max })));
    known
}

/// What a condition says of the keys of an index; nothing if it allows rows of any terms.
fn of_condition(scan: &Scan, index: &Index, condition: &Expr) -> Option<TermBound> {
    if let Some(bound) = of_scalar(scan, index, condition) {
        return Some(bound);
    }
    match condition {
        Expr::And(list) => {
            let parts = list.iter().filter_map(|e| of_condition(scan, index, e));
            let mut parts: Vec<TermBound> = parts.collect();
            match parts.len() {
                0 => None,
                1 => Some(parts.remove(0)),
                _ => Some(TermBound::All(parts)),
            }
        }
        Expr::Or(list) => {
            let parts = list.iter().map(|e| of_condition(scan, index, e));
            Some(TermBound::Any(parts.collect::<Option<Vec<TermBound>>>()?))
        }
        Expr::Compare(CompareOp::Eq, a, b) => of_operator(scan, index, "=", (a, b)),
        Expr::Call(call) => match &call.args[..] {
            [a, b] => of_operator(scan, index, call.function.name, (a, b)),
            _ => None,
        },
        Expr::Quantified(q) => {
            let is_equal = !q.all
                && matches!(&q.compare, Expr::Compare(CompareOp::Eq, a, b)
                    if matches!((&**a, &**b), (Expr::Input(0, _), Expr::Input(1, _))));
            let (key, class, ty) = key_of(scan, index, &q.array)?;
            let is_of_element = ty.element().is_some_and(|element| fits(&q.left.ty(), element));
            if !is_equal || !is_of_element || class != TermClass::Array {
                return None;
            }
            let operator = TermOperator::HasElement;
            bounding(scan, TermCondition { key, class, operator, value: q.left.clone() }, &ty)
        }
        _ => None,
    }
}

/// What an equality (`a = 1`, `a IN (1, 2)`, `a = ANY (…)`) says of a key whose terms are values.
fn of_scalar(scan: &Scan, index: &Index, condition: &Expr) -> Option<TermBound> {
    let keys = index.keys.iter().zip(&index.inverted).enumerate();
    let mut scalars = keys.filter(|(_, (_, class))| **class == TermClass::Scalar);
    scalars.find_map(|(key, (column, class))| {
        let place = scan.table.position_of(column.column)?;
        let (bound, ..) = equality(scan, place, &scan.table.columns[place].ty, &[condition])?;
        let operator = |operator, value: &Expr| {
            let (class, value) = (*class, value.clone());
            TermBound::Operator(TermCondition { key, class, operator, value })
        };
        match &bound {
            Bound::In(values) => {
                let mut parts: Vec<TermBound> =
                    values.iter().map(|value| operator(TermOperator::Equal, value)).collect();
                Some(if parts.len() == 1 { parts.remove(0) } else { TermBound::Any(parts) })
            }
            Bound::Any(array) => Some(operator(TermOperator::EqualAny, array)),
            _ => None,
        }
    })
}

fn of_operator(
    scan: &Scan,
    index: &Index,
    symbol: &str,
    (a, b): (&Expr, &Expr),
) -> Option<TermBound> {
    [(a, b, false), (b, a, true)].into_iter().find_map(|(key, value, flipped)| {
        let (key, class, ty) = key_of(scan, index, key)?;
        let operator = TermOperator::of(class, symbol, flipped)?;
        if !accepts(operator, &value.ty(), &ty) {
            return None;
        }
        bounding(scan, TermCondition { key, class, operator, value: value.clone() }, &ty)
    })
}

/// Whether the terms of a value mean the same as those of a key.
fn accepts(operator: TermOperator, value: &SqlType, key: &SqlType) -> bool {
    match operator {
        TermOperator::Exists | TermOperator::Like | TermOperator::ILike | TermOperator::Similar => {
            matches!(value, SqlType::Text | SqlType::Varchar(_))
        }
        TermOperator::ExistsAny | TermOperator::ExistsAll => {
            matches!(value.element(), Some(SqlType::Text | SqlType::Varchar(_)))
        }
        TermOperator::PathExists | TermOperator::PathMatches => *value == SqlType::Jsonpath,
        TermOperator::Matches => *value == SqlType::TsQuery,
        _ => match (value.element(), key.element()) {
            (Some(value), Some(key)) => value.bare() == key.bare() || fits(value, key),
            _ => value.bare() == key.bare(),
        },
    }
}

/// The condition, if its value is known when the scan starts and may ask for terms.
fn bounding(scan: &Scan, condition: TermCondition, ty: &SqlType) -> Option<TermBound> {
    if !is_free(scan, &condition.value) {
        return None;
    }
    if let Expr::Const(constant, _) = &condition.value
        && wanted(condition.class, condition.operator, constant, ty) == TermQuery::Everything
    {
        return None;
    }
    Some(TermBound::Operator(condition))
}

/// The place, class and type of the key of an index that an expression is.
fn key_of(scan: &Scan, index: &Index, e: &Expr) -> Option<(usize, TermClass, SqlType)> {
    let keys = index.keys.iter().zip(&index.inverted).enumerate();
    keys.filter_map(|(at, (key, class))| {
        let place = scan.table.position_of(key.column)?;
        let is_key = is_at(scan, e, place) || is_at(scan, without_cast(e), place);
        is_key.then(|| (at, *class, scan.table.columns[place].ty.clone()))
    })
    .next()
}

/// The value of a cast from `varchar` to `text`, or between arrays of these, which changes nothing.
fn without_cast(e: &Expr) -> &Expr {
    let text = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_));
    match e {
        Expr::Cast(cast) if text(&cast.from) && text(&cast.to) => match cast.to {
            SqlType::Varchar(Some(_)) => e,
            _ => &cast.expr,
        },
        Expr::Cast(cast) => match (cast.from.element(), cast.to.element()) {
            (Some(from), Some(SqlType::Text)) if text(from) => &cast.expr,
            _ => e,
        },
        e => e,
    }
}
