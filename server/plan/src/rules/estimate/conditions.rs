//! The part of a scan's rows that conditions leave.
//!
//! Conditions count as independent. Two ends of a range of one column belong together.

use std::collections::{BTreeMap, VecDeque};

use braid_catalog::{Catalog, TermClass};
use braid_types::{Datum, SqlType};

use crate::Slot;
use crate::tree::expr::{CallExpr, CompareOp, Expr};
use crate::tree::node::Scan;

use super::facts::Facts;
use super::guesses;

/// The selectivity of a range.
const RANGE: f64 = 0.3;
/// The selectivity of any other condition.
const OTHER: f64 = 0.5;
/// The selectivity of "document or array contains another one", as PostgreSQL assumes it.
const CONTAINING: f64 = 0.005;
/// The selectivity of "document or array has one of some keys or elements".
const OVERLAPPING: f64 = 0.01;
/// The least selectivity of a range of known ends.
const LEAST: f64 = 1e-9;

/// The selectivity of a condition: the part of a scan's rows for which it is true.
pub(crate) fn selectivity(e: &Expr, scan: &Scan, catalog: &Catalog) -> f64 {
    let part = match e {
        Expr::Compare(op, a, b) => compare(*op, a, b, scan, catalog),
        Expr::InList(value, list) => match facts(value, scan, catalog) {
            Some(facts) => list.iter().map(|e| equal(&facts, e, scan)).sum::<f64>(),
            None => OTHER,
        },
        Expr::InSet(value, set, _) => match facts(value, scan, catalog) {
            Some(facts) => set.iter().map(|value| facts.equal(value)).sum::<f64>(),
            None => OTHER,
        },
        Expr::And(list) => part_of_all(list, scan, catalog),
        Expr::Or(list) => {
            let parts = list.iter().map(|e| selectivity(e, scan, catalog));
            parts.fold(0.0, |known, part| known + part - known * part)
        }
        Expr::IsNull(value) => null_fraction(value, scan, catalog).unwrap_or(0.1),
        Expr::Not(inner) => not(inner, scan, catalog),
        Expr::Column(..) | Expr::IsBool(..) => truth(e, scan, catalog).unwrap_or(OTHER),
        Expr::Const(Datum::Bool(true), _) => 1.0,
        Expr::Call(call) => match comparison(e) {
            Some((op, a, b)) => compare(op, a, b, scan, catalog),
            None => {
                let known = like(call, scan, catalog).or_else(|| with_terms(call, scan));
                known.unwrap_or(OTHER)
            }
        },
        Expr::Quantified(q) if !q.all && matches!(q.array, Expr::Column(..)) => OVERLAPPING,
        _ => OTHER,
    };
    part.clamp(0.0, 1.0)
}

/// The part of a scan's rows that all of these conditions leave.
pub(crate) fn part_of_all(list: &[Expr], scan: &Scan, catalog: &Catalog) -> f64 {
    let ends: Vec<Option<RangeEnd>> = list.iter().map(|e| range_end(e, scan, catalog)).collect();
    let sides = ends.iter().map(|end| end.as_ref().map(|end| (end.column, end.is_lower)));
    let partners = partners(&sides.collect::<Vec<_>>());
    let mut part = 1.0;
    for (place, e) in list.iter().enumerate() {
        let (first, second) = match partners[place] {
            None => (None, None),
            // It has been counted with its partner.
            Some(other) if other < place => continue,
            Some(other) => (ends[place].as_ref(), ends[other].as_ref()),
        };
        part *= match (first, second) {
            (Some(first), Some(second)) => between(first, second),
            _ => selectivity(e, scan, catalog),
        };
    }
    part
}

/// The other end of each range: for each condition the first later one that bounds the same column
/// from the other side and belongs to no range yet. It takes time linear to the conditions.
fn partners<K: Copy + Ord>(ends: &[Option<(K, bool)>]) -> Vec<Option<usize>> {
    let mut open: BTreeMap<(K, bool), VecDeque<usize>> = BTreeMap::new();
    for (place, end) in ends.iter().enumerate() {
        end.iter().for_each(|end| open.entry(*end).or_default().push_back(place));
    }
    let mut partners = vec![None; ends.len()];
    for (place, end) in ends.iter().enumerate() {
        let Some((column, is_lower)) = *end else { continue };
        let Some(others) = open.get_mut(&(column, !is_lower)) else { continue };
        // Those before this place have looked for their partners already.
        while others.front().is_some_and(|other| *other <= place) {
            others.pop_front();
        }
        if partners[place].is_none()
            && let Some(other) = others.pop_front()
        {
            (partners[place], partners[other]) = (Some(other), Some(place));
        }
    }
    partners
}

/// The part of a table's rows within a bound of an index that is made of the conditions at these
/// places; `None` if nothing better than a fixed part is known.
pub(crate) fn bounded_part(
    scan: &Scan,
    used: &[usize],
    conditions: &[&Expr],
    catalog: &Catalog,
) -> Option<f64> {
    let list: Vec<Expr> =
        used.iter().filter_map(|place| conditions.get(*place)).map(|e| (*e).clone()).collect();
    let is_known = |e: &Expr| match e {
        Expr::Compare(CompareOp::Eq, a, b) => {
            facts(a, scan, catalog).or_else(|| facts(b, scan, catalog)).is_some()
        }
        Expr::Compare(op, a, b) => has_known_end(*op, a, b, scan, catalog),
        Expr::InList(value, _) | Expr::InSet(value, ..) => facts(value, scan, catalog).is_some(),
        Expr::IsNull(value) => null_fraction(value, scan, catalog).is_some(),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(value) => null_fraction(value, scan, catalog).is_some(),
            _ => false,
        },
        Expr::Call(call) => match comparison(e) {
            Some((op, a, b)) => has_known_end(op, a, b, scan, catalog),
            None => like(call, scan, catalog).is_some(),
        },
        _ => false,
    };
    (!list.is_empty() && list.iter().all(is_known)).then(|| part_of_all(&list, scan, catalog))
}

/// Whether a column of which the values are known is compared with a known value.
fn has_known_end(op: CompareOp, a: &Expr, b: &Expr, scan: &Scan, catalog: &Catalog) -> bool {
    let has_ranges = |(facts, ..): (Facts, _, _)| facts.has_ranges();
    ends(op, a, b, scan).is_some() && sides(op, a, b, scan, catalog).is_some_and(has_ranges)
}

/// Whether literals in the place of parameters would make an estimate better: of values that
/// differ in how frequent they are, or of ranges.
pub(crate) fn needs_literals(scan: &Scan, catalog: &Catalog) -> bool {
    let is_param = |e: &Expr| e.any(&mut |e| matches!(e, Expr::Param(..)));
    let is_better = |e: &Expr| match e {
        Expr::Compare(op, a, b) if is_param(a) || is_param(b) => {
            let known = facts(a, scan, catalog).or_else(|| facts(b, scan, catalog));
            known.is_some_and(|facts| match op {
                CompareOp::Eq | CompareOp::Ne => facts.is_uneven(),
                _ => facts.has_ranges(),
            })
        }
        Expr::InList(value, list) if list.iter().any(is_param) => {
            facts(value, scan, catalog).is_some_and(|facts| facts.is_uneven())
        }
        Expr::Call(call) => {
            let known = call.args.first().and_then(|value| facts(value, scan, catalog));
            is_like(call) && call.args.iter().any(is_param) && known.is_some()
        }
        _ => false,
    };
    scan.filter.iter().any(|e| e.any(&mut |e| is_better(e)))
}

/// What is known of the column that an expression is.
fn facts(e: &Expr, scan: &Scan, catalog: &Catalog) -> Option<Facts> {
    let slot = column(e)?;
    let (_, place) = scan.columns.iter().find(|(known, _)| *known == slot)?;
    Some(Facts::of(&scan.table, *place, catalog))
}

/// The column that an expression is, perhaps as another type with the same order.
fn column(e: &Expr) -> Option<Slot> {
    match e {
        Expr::Column(slot, _) => Some(*slot),
        Expr::Cast(cast) => match &cast.expr {
            Expr::Column(slot, _) if has_order_of(&cast.from, &cast.to) => Some(*slot),
            _ => None,
        },
        _ => None,
    }
}

/// Whether values keep their order in another type.
fn has_order_of(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::{Date, Float8, Int2, Int4, Int8, Numeric, Timestamp, Timestamptz};
    match (from, to) {
        (Date, Timestamp | Timestamptz) => true,
        (Int2 | Int4 | Int8, Int4 | Int8 | Float8 | Numeric(..)) => true,
        // A cast from `char(n)` drops the blanks, which do not count in its order either.
        _ => (is_text(from) || matches!(from, SqlType::Char(_))) && is_text(to),
    }
}

fn is_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Name)
}

fn equal(facts: &Facts, value: &Expr, scan: &Scan) -> f64 {
    match guesses::value(value, scan) {
        Some(Datum::Null) => 0.0,
        Some(value) => facts.equal(value),
        None => facts.equal_average(),
    }
}

/// The column's side, the operator as from there, and the other side.
fn sides<'a>(
    op: CompareOp,
    a: &'a Expr,
    b: &'a Expr,
    scan: &Scan,
    catalog: &Catalog,
) -> Option<(Facts, CompareOp, &'a Expr)> {
    if let Some(facts) = facts(a, scan, catalog) {
        return Some((facts, op, b));
    }
    facts(b, scan, catalog).map(|facts| (facts, op.flipped(), a))
}

fn compare(op: CompareOp, a: &Expr, b: &Expr, scan: &Scan, catalog: &Catalog) -> f64 {
    let known = sides(op, a, b, scan, catalog);
    match (op, known) {
        (CompareOp::Eq, Some((facts, _, value))) => equal(&facts, value, scan),
        (CompareOp::Eq, None) => 0.1,
        (CompareOp::Ne, Some((facts, _, value))) if facts.has_ranges() => {
            1.0 - equal(&facts, value, scan) - facts.null_fraction().unwrap_or(0.0)
        }
        (CompareOp::Ne, _) => 0.9,
        (_, Some((facts, op, value))) => range(&facts, op, value, scan).unwrap_or(RANGE),
        (_, None) => RANGE,
    }
}

/// The part of the rows on one side of a constant.
fn range(facts: &Facts, op: CompareOp, value: &Expr, scan: &Scan) -> Option<f64> {
    let value = guesses::value(value, scan)?;
    let present = 1.0 - facts.null_fraction().unwrap_or(0.0);
    let part = match op {
        CompareOp::Lt => facts.below(value, false)?,
        CompareOp::Le => facts.below(value, true)?,
        CompareOp::Gt => present - facts.below(value, true)?,
        CompareOp::Ge => present - facts.below(value, false)?,
        CompareOp::Eq | CompareOp::Ne => return None,
    };
    // The histogram knows nothing of new values at its ends.
    Some(part.clamp(LEAST, 1.0))
}

/// One end of a range of a column.
struct RangeEnd {
    column: Slot,
    is_lower: bool,
    /// The part of the rows on this side of the end.
    part: f64,
    null_fraction: f64,
    /// The part of the rows with one value.
    of_value: f64,
}

/// The end of a range that a condition is, if the values of its column are known.
fn range_end(e: &Expr, scan: &Scan, catalog: &Catalog) -> Option<RangeEnd> {
    let (op, a, b) = comparison(e)?;
    let (column, op, value) = ends(op, a, b, scan)?;
    let is_lower = match op {
        CompareOp::Gt | CompareOp::Ge => true,
        CompareOp::Lt | CompareOp::Le => false,
        CompareOp::Eq | CompareOp::Ne => return None,
    };
    let (_, place) = scan.columns.iter().find(|(slot, _)| *slot == column)?;
    let facts = Facts::of(&scan.table, *place, catalog);
    Some(RangeEnd {
        column,
        is_lower,
        part: range(&facts, op, value, scan)?,
        null_fraction: facts.null_fraction().unwrap_or(0.0),
        of_value: facts.equal_average(),
    })
}

/// The part of the rows between two ends of one column's range.
fn between(first: &RangeEnd, second: &RangeEnd) -> f64 {
    let part = first.part + second.part - 1.0 + first.null_fraction;
    // Ends within one part of the histogram leave at least one value.
    part.max(first.of_value.min(1e-4))
}

/// The operator and the sides of a comparison. One of a date with a timestamp is a call.
pub(crate) fn comparison(e: &Expr) -> Option<(CompareOp, &Expr, &Expr)> {
    match e {
        Expr::Compare(op, a, b) => Some((*op, a, b)),
        Expr::Call(call) => match &call.args[..] {
            [a, b] if a.ty().is_datetime() && b.ty().is_datetime() => {
                Some((CompareOp::from_symbol(call.function.name)?, a, b))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The column of a comparison with a known value, the operator as from there, and the value.
fn ends<'a>(
    op: CompareOp,
    a: &'a Expr,
    b: &'a Expr,
    scan: &Scan,
) -> Option<(Slot, CompareOp, &'a Expr)> {
    let is_known = |e| guesses::value(e, scan).is_some();
    match (column(a), column(b)) {
        (Some(slot), _) if is_known(b) => Some((slot, op, b)),
        (_, Some(slot)) if is_known(a) => Some((slot, op.flipped(), a)),
        _ => None,
    }
}

fn null_fraction(e: &Expr, scan: &Scan, catalog: &Catalog) -> Option<f64> {
    let Expr::Column(slot, _) = e else { return None };
    let (_, place) = scan.columns.iter().find(|(known, _)| known == slot)?;
    let facts = Facts::of(&scan.table, *place, catalog);
    match scan.table.columns[*place].nullable {
        false => facts.null_fraction().map(|_| 0.0),
        true => facts.null_fraction(),
    }
}

fn not(inner: &Expr, scan: &Scan, catalog: &Catalog) -> f64 {
    let column = match inner {
        Expr::IsNull(value) => {
            return null_fraction(value, scan, catalog).map_or(OTHER, |n| 1.0 - n);
        }
        Expr::Compare(_, a, b) => facts(a, scan, catalog).or_else(|| facts(b, scan, catalog)),
        Expr::InList(value, _) | Expr::InSet(value, ..) => facts(value, scan, catalog),
        Expr::Column(..) => facts(inner, scan, catalog),
        Expr::Call(call) if is_like(call) => {
            call.args.first().and_then(|value| facts(value, scan, catalog))
        }
        Expr::And(_) | Expr::Or(_) => return 1.0 - selectivity(inner, scan, catalog),
        _ => None,
    };
    match column.filter(Facts::has_ranges) {
        Some(facts) => {
            let nulls = facts.null_fraction().unwrap_or(0.0);
            (1.0 - nulls - selectivity(inner, scan, catalog)).max(0.0)
        }
        None => OTHER,
    }
}

/// A boolean column as a condition.
fn truth(e: &Expr, scan: &Scan, catalog: &Catalog) -> Option<f64> {
    let (column, wanted) = match e {
        Expr::IsBool(inner, wanted) => (&**inner, *wanted),
        other => (other, Some(true)),
    };
    let facts = facts(column, scan, catalog).filter(Facts::has_ranges)?;
    match wanted {
        Some(value) => Some(facts.equal(&Datum::Bool(value))),
        None => facts.null_fraction(),
    }
}

/// The part of rows that an operator leaves which inverted indexes answer. A pattern of LIKE counts
/// as selective where there is such an index for patterns.
fn with_terms(call: &CallExpr, scan: &Scan) -> Option<f64> {
    let ty = call.types.first()?;
    let has_parts = ty.is_array() || *ty == SqlType::Jsonb;
    let has_trigrams = || {
        let mut indexes = scan.table.indexes.iter();
        indexes.any(|index| index.inverted.contains(&TermClass::Trigram))
    };
    let is_search = call.types.iter().any(|ty| matches!(ty, SqlType::TsVector | SqlType::TsQuery));
    match call.function.name {
        "@@" if is_search => Some(CONTAINING),
        "@>" | "<@" if has_parts => Some(CONTAINING),
        "&&" if has_parts => Some(OVERLAPPING),
        "?" | "?|" | "?&" | "@?" | "@@" if has_parts => Some(OVERLAPPING),
        "%" if is_text(ty) => Some(OVERLAPPING),
        "~~" | "~~*" if has_trigrams() => Some(OVERLAPPING),
        _ => None,
    }
}

fn is_like(call: &CallExpr) -> bool {
    matches!(call.function.name, "~~" | "!~~")
}

fn like(call: &CallExpr, scan: &Scan, catalog: &Catalog) -> Option<f64> {
    let [value, Expr::Const(Datum::Text(pattern), _)] = &call.args[..] else { return None };
    if !is_like(call) {
        return None;
    }
    let facts = facts(value, scan, catalog)?;
    let part = facts.like(pattern)?;
    match call.function.name {
        "~~" => Some(part),
        _ => Some((1.0 - facts.null_fraction().unwrap_or(0.0) - part).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`partners`] answers, by looking at all pairs.
    fn by_pairs(ends: &[Option<(u64, bool)>]) -> Vec<Option<usize>> {
        let mut partners = vec![None; ends.len()];
        for (place, end) in ends.iter().enumerate() {
            let Some((column, is_lower)) = *end else { continue };
            let is_other = |other: &usize| {
                partners[*other].is_none() && ends[*other] == Some((column, !is_lower))
            };
            let found = (place + 1..ends.len()).find(is_other);
            if partners[place].is_none()
                && let Some(other) = found
            {
                (partners[place], partners[other]) = (Some(other), Some(place));
            }
        }
        partners
    }

    #[test]
    fn each_end_gets_the_first_later_one_of_the_other_side() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..500 {
            let length = random(12);
            let end = |random: &mut dyn FnMut(u64) -> u64| {
                (random(5) > 0).then(|| (random(3), random(2) == 0))
            };
            let ends: Vec<_> = (0..length).map(|_| end(&mut random)).collect();
            assert_eq!(partners(&ends), by_pairs(&ends), "{ends:?}");
        }
    }
}
