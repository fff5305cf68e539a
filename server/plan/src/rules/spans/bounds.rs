//! How far conditions bound the key columns of an index.
//!
//! Equalities (`=`, `IN`, also of rows, `= ANY`, `IS NULL`, and an OR of these) come first, as far
//! as they go. After them comes at most one range, or one OR of which every branch is bounded.

use braid_catalog::{Catalog, Index, IndexKey};
use braid_types::{Datum, SqlType};

use super::bounded::Bounded;
use super::branches;
use super::columns::{fits, is_at, is_free, is_key_of, is_never, sorted_at};
use super::local_times;
use crate::rules::estimate;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Bound, Scan};

/// The part of the rows that a range with one end is assumed to have.
const HALF_RANGE: f64 = 0.3;
/// The part of the rows that a range with two ends is assumed to have, as PostgreSQL assumes it.
const RANGE: f64 = 0.005;
/// The largest part that a few values are assumed to have in a table without statistics. Such a
/// table may be large, and then a whole scan costs far more than many lookups in a small one.
const VALUES_MAX: f64 = 0.2;

/// The bounds that conditions give to the key columns of an index from `from` on.
pub(crate) fn bounded(
    scan: &Scan,
    index: &Index,
    from: usize,
    conditions: &[&Expr],
    catalog: &Catalog,
) -> Bounded {
    let (bounds, exact, first) = (Vec::new(), Vec::new(), Vec::new());
    let mut known = Bounded { bounds, part: 1.0, points: 1, exact, first, is_half_open: false };
    while let Some(key) = index.keys.get(from + known.bounds.len()) {
        let Some(place) = scan.table.position_of(key.column) else { break };
        let ty = &scan.table.columns[place].ty;
        let distinct = estimate::distinct(&scan.table, place, catalog);
        if let Some((bound, used, count)) = equality(scan, place, ty, conditions)
            .or_else(|| sorted_equality(scan, place, conditions))
            && known.has_place_for(count)
        {
            known.points *= count;
            let part = estimate::bounded_part(scan, &used, conditions, catalog);
            known.push(bound, used, part.unwrap_or(count as f64 / distinct));
            continue;
        }
        let keys = &index.keys[from + known.bounds.len()..];
        if let Some((rows, place)) = rows_of_keys(scan, keys, conditions)
            && known.has_place_for(rows.len())
        {
            known.points *= rows.len();
            let width = rows.first().map_or(1, Vec::len);
            known.push(Bound::Rows(rows), vec![place], known.points as f64 / distinct);
            known.bounds.extend(std::iter::repeat_n(Bound::OfRows, width - 1));
            continue;
        }
        let next = from + known.bounds.len();
        let inside = |own: &[&Expr]| bounded(scan, index, next, own, catalog);
        if let Some(found) = branches::branches(conditions, &inside)
            && known.has_place_for(found.branches.len())
        {
            known.is_half_open |= found.is_half_open;
            known.push(Bound::Branches(found.branches), found.used, found.part);
        } else if let Some(range) =
            range(scan, place, ty, conditions).or_else(|| prefix_of(scan, place, ty, conditions))
        {
            let (is_half_open, used) = (range.is_half_open(), range.used);
            known.is_half_open |= is_half_open;
            let part = estimate::bounded_part(scan, &used, conditions, catalog);
            let part = part.unwrap_or(if is_half_open { HALF_RANGE } else { RANGE });
            known.push(Bound::Range { lower: range.lower, upper: range.upper }, used, part);
            known.exact.retain(|place| !range.rough.contains(place));
        }
        break;
    }
    if from == 0 && is_key(index, &known.bounds) {
        known.part = known.points as f64 / estimate::table_rows(&scan.table, catalog);
    } else if from == 0 && known.bounds.iter().all(is_point) {
        known.part = known.part.max(part_together(scan, index, &known, catalog));
    }
    let is_unknown = catalog.statistics(scan.table.id).rows == 0;
    if is_unknown && !known.is_half_open && !known.bounds.is_empty() {
        known.part = known.part.min(VALUES_MAX);
    }
    known
}

/// Whether bounds are values of every key column of a unique index.
pub(crate) fn is_key(index: &Index, bounds: &[Bound]) -> bool {
    index.unique && bounds.len() == index.keys.len() && bounds.iter().all(is_point)
}

fn is_point(bound: &Bound) -> bool {
    matches!(bound, Bound::In(_) | Bound::Any(_) | Bound::Rows(_) | Bound::OfRows)
}

/// The part of the rows with values of several key columns, if statistics count their
/// combinations: columns of an index often depend on each other.
fn part_together(scan: &Scan, index: &Index, known: &Bounded, catalog: &Catalog) -> f64 {
    if index.predicate.is_some() || known.bounds.len() < 2 {
        return 0.0;
    }
    let keys = index.keys.iter().take(known.bounds.len());
    let place = |key: &IndexKey| scan.table.position_of(key.column);
    let places: Vec<usize> = keys.filter_map(place).collect();
    let distinct = estimate::group_distinct(&scan.table, &places, catalog);
    distinct.map_or(0.0, |distinct| (known.points as f64 / distinct).min(1.0))
}

/// The first of the conditions that gives a key column values, as a bound, with the places of the
/// conditions that it stands for, and how many values these are.
pub(super) fn equality(
    scan: &Scan,
    place: usize,
    ty: &SqlType,
    conditions: &[&Expr],
) -> Option<(Bound, Vec<usize>, usize)> {
    let usable = |e: &Expr| is_key_of(e, ty) && is_free(scan, e);
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
            Expr::Or(list) => {
                if let Some(values) = values_of_or(scan, place, ty, list) {
                    let count = values.len();
                    return Some((Bound::In(values), vec![i], count));
                }
            }
            _ => {}
        }
    }
    None
}

/// `a = 'x'` as a bound of a key that is the sort key of `a`: equal texts have equal keys.
fn sorted_equality(
    scan: &Scan,
    place: usize,
    conditions: &[&Expr],
) -> Option<(Bound, Vec<usize>, usize)> {
    let sorted = sorted_at(scan, place)?;
    let text = sorted.args.first()?;
    let is_text = |e: &Expr| text.same_value(e);
    let key = |value: &Expr| {
        let mut call = sorted.clone();
        *call.args.first_mut()? = value.clone();
        *call.types.first_mut()? = value.ty();
        Some(Expr::Call(Box::new(call)))
    };
    let usable = |e: &Expr| fits(&e.ty(), &text.ty()) && is_free(scan, e);
    conditions.iter().enumerate().find_map(|(i, condition)| match condition {
        Expr::Compare(CompareOp::Eq, a, b) => {
            let value = match (is_text(a), is_text(b)) {
                (true, false) => b,
                (false, true) => a,
                _ => return None,
            };
            usable(value).then(|| Some((Bound::In(vec![key(value)?]), vec![i], 1)))?
        }
        Expr::InList(e, list) if is_text(e) && list.iter().all(usable) => {
            let keys = list.iter().map(key).collect::<Option<Vec<_>>>()?;
            Some((Bound::In(keys), vec![i], list.len().max(1)))
        }
        _ => None,
    })
}

/// The values of `a = 1 OR a = 2 OR a IN (3, 4)`.
fn values_of_or(scan: &Scan, place: usize, ty: &SqlType, list: &[Expr]) -> Option<Vec<Expr>> {
    let mut values = Vec::with_capacity(list.len());
    for branch in list.iter().filter(|branch| !is_never(branch)) {
        match equality(scan, place, ty, &[branch])?.0 {
            bound @ Bound::In(_) if !bound.can_fail() => {
                bound.for_each_expr(&mut |e| values.push(e.clone()));
            }
            _ => return None,
        }
    }
    (!values.is_empty()).then_some(values)
}

/// `(a, b) IN ((1, 2), (3, 4))`, which is bound as an OR of rows of equalities: the rows of values
/// for the first of these keys, and the place of the condition.
fn rows_of_keys(
    scan: &Scan,
    keys: &[IndexKey],
    conditions: &[&Expr],
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
            let place = |key: &IndexKey| scan.table.position_of(key.column);
            let at = keys
                .iter()
                .position(|key| place(key).is_some_and(|place| is_at(scan, column, place)))?;
            let ty = &scan.table.columns[place(&keys[at])?].ty;
            let usable = is_key_of(value, ty) && is_free(scan, value);
            usable.then(|| (at, (**value).clone()))
        })?;
        if row[at].replace(value).is_some() {
            return None;
        }
    }
    row.into_iter().collect()
}

/// The values of a key between two ends, and the places of the conditions that they come from.
#[derive(Default)]
struct Range {
    lower: Option<(Expr, bool)>,
    upper: Option<(Expr, bool)>,
    used: Vec<usize>,
    /// Places of conditions that are still to be checked.
    rough: Vec<usize>,
}

impl Range {
    fn is_half_open(&self) -> bool {
        self.lower.is_none() || self.upper.is_none()
    }

    /// Takes the ends that `key op value` gives, if it has none there yet. The values that are
    /// equal are those from `first` to `last`.
    fn take(&mut self, op: CompareOp, first: &Expr, last: &Expr, is_inside: bool) -> bool {
        let is_lower = matches!(op, CompareOp::Gt | CompareOp::Ge | CompareOp::Eq);
        let is_upper = matches!(op, CompareOp::Lt | CompareOp::Le | CompareOp::Eq);
        let (takes_lower, takes_upper) =
            (is_lower && self.lower.is_none(), is_upper && self.upper.is_none());
        if takes_lower {
            self.lower = Some((first.clone(), is_inside));
        }
        if takes_upper {
            self.upper = Some((last.clone(), is_inside));
        }
        takes_lower || takes_upper
    }
}

/// `a LIKE 'abc%'`: the texts from `abc` to `abd`.
fn prefix_of(scan: &Scan, place: usize, ty: &SqlType, conditions: &[&Expr]) -> Option<Range> {
    if !matches!(ty, SqlType::Text | SqlType::Varchar(_)) {
        return None;
    }
    let (used, prefix) = conditions.iter().enumerate().find_map(|(i, condition)| {
        let Expr::Call(call) = condition else { return None };
        let [value, Expr::Const(Datum::Text(pattern), _)] = &call.args[..] else { return None };
        let is_like = call.function.name == "~~" && is_at(scan, value.unlabelled(), place);
        let prefix = is_like.then(|| estimate::prefix(pattern))?;
        (!prefix.text.is_empty()).then_some((i, prefix))
    })?;
    let end = |text: String| Expr::Const(Datum::text(text), SqlType::Text);
    let upper = prefix.after().map(|text| (end(text), false));
    let lower = Some((end(prefix.text), true));
    Some(Range { lower, upper, used: vec![used], rough: vec![used] })
}

fn range(scan: &Scan, place: usize, ty: &SqlType, conditions: &[&Expr]) -> Option<Range> {
    let mut range = Range::default();
    for (i, condition) in conditions.iter().enumerate() {
        let Some((op, a, b)) = estimate::comparison(condition) else { continue };
        for (key, op, value) in [(a, op, b), (b, op.flipped(), a)] {
            if !is_at(scan, key, place) || !is_free(scan, value) {
                continue;
            }
            if is_key_of(value, ty) {
                let is_inside = matches!(op, CompareOp::Ge | CompareOp::Le);
                // Equalities come before ranges.
                if op != CompareOp::Eq && range.take(op, value, value, is_inside) {
                    range.used.push(i);
                    break;
                }
            } else if let Some(equals) = local_times::equals(ty, value)
                && range.take(op, &equals.first, &equals.last, true)
            {
                range.used.push(i);
                range.rough.push(i);
                break;
            }
        }
    }
    if range.lower.is_none() && range.upper.is_none() {
        // A range without ends has all values but NULL.
        let is_not_null = |e: &Expr| match e {
            Expr::Not(e) => matches!(&**e, Expr::IsNull(e) if is_at(scan, e, place)),
            _ => false,
        };
        range.used.push(conditions.iter().position(|e| is_not_null(e))?);
    }
    Some(range)
}
