//! Whether a partition can have rows that meet conditions on the partition keys.
//!
//! The conditions are bounds, as an index on the keys would have them. While a plan is made only
//! constants have values; when a scan starts, parameters and the row around it have them, too.
//! What has no value counts as anything.
//!
//! Rule: `true` may mean anything; `false` means that no row of the partition meets the conditions.

use std::cmp::Ordering;

use braid_catalog::partitions::{Bound as Keys, End};
use braid_types::{Datum, SqlType};

use crate::tree::access::Bound;
use crate::tree::expr::Expr;
use crate::tree::node::Pruning;

impl Pruning {
    /// Whether the partition can have such rows. Values are those of the constants in the bounds.
    pub fn may_have_rows(&self) -> bool {
        // Blanks at the end do not count there, which the order of datums does not know.
        let is_blank_padded = |ty: &SqlType| matches!(ty.bare(), SqlType::Char(_));
        self.map.types.iter().any(is_blank_padded) || self.possible(&[], &self.bounds)
    }

    /// Whether all values are known.
    pub fn is_known(&self) -> bool {
        let mut known = true;
        let bounds = self.bounds.iter();
        bounds.for_each(|b| b.for_each_expr(&mut |e| known &= matches!(e, Expr::Const(..))));
        known
    }

    /// Whether a key that begins with `prefix`, and goes on as the bounds say, may be there.
    fn possible(&self, prefix: &[Datum], bounds: &[Bound]) -> bool {
        let Some((bound, rest)) = bounds.split_first() else { return self.prefix_may_be(prefix) };
        let with = |value: &Datum, rest: &[Bound]| {
            let mut longer = prefix.to_vec();
            longer.push(value.clone());
            self.possible(&longer, rest)
        };
        match bound {
            Bound::In(list) => list.iter().any(|e| match e {
                Expr::Const(Datum::Null, _) => false,
                Expr::Const(value, _) => with(value, rest),
                _ => self.prefix_may_be(prefix),
            }),
            Bound::Any(Expr::Const(Datum::Array(array), _)) => {
                array.items.iter().any(|value| !value.is_null() && with(value, rest))
            }
            Bound::Any(Expr::Const(Datum::Null, _)) => false,
            Bound::Null => with(&Datum::Null, rest),
            Bound::Rows(rows) => rows.iter().any(|row| self.row_may_be(prefix, row, bounds)),
            Bound::Range { lower, upper } => {
                match (end_of(lower.as_ref()), end_of(upper.as_ref())) {
                    (Some(lower), Some(upper)) => self.range_may_be(prefix, lower, upper),
                    _ => false,
                }
            }
            Bound::Branches(branches) => {
                branches.iter().any(|branch| self.possible(prefix, branch))
            }
            Bound::Any(_) | Bound::OfRows | Bound::Terms(_) => self.prefix_may_be(prefix),
        }
    }

    /// The same for one row of values for several keys.
    fn row_may_be(&self, prefix: &[Datum], row: &[Expr], bounds: &[Bound]) -> bool {
        let mut longer = prefix.to_vec();
        for e in row {
            match e {
                Expr::Const(Datum::Null, _) => return false,
                Expr::Const(value, _) => longer.push(value.clone()),
                _ => return self.prefix_may_be(&longer),
            }
        }
        self.possible(&longer, bounds.get(row.len()..).unwrap_or_default())
    }

    fn keys(&self) -> Option<&Keys> {
        self.map.entries.get(self.place).map(|(_, keys)| keys)
    }

    /// Whether there may be a key that begins like this.
    fn prefix_may_be(&self, prefix: &[Datum]) -> bool {
        let is_whole = prefix.len() == self.map.types.len();
        if is_whole {
            return self.map.find(prefix) == Some(self.place);
        }
        match self.keys() {
            Some(Keys::Range(from, to)) if !prefix.is_empty() => {
                !prefix.iter().any(Datum::is_null)
                    && compare(from, prefix) != Ordering::Greater
                    && compare(to, prefix) != Ordering::Less
            }
            _ => true,
        }
    }

    /// Whether there may be a key that begins like this and whose next value is in a range.
    fn range_may_be(&self, prefix: &[Datum], lower: Limit<'_>, upper: Limit<'_>) -> bool {
        match self.keys() {
            Some(Keys::List(values)) => {
                let above = |value: &Datum| {
                    lower.is_none_or(|(limit, inside)| is_beyond(value.cmp(limit), inside))
                };
                let below = |value: &Datum| {
                    upper.is_none_or(|(limit, inside)| is_beyond(limit.cmp(value), inside))
                };
                values.iter().any(|value| !value.is_null() && above(value) && below(value))
            }
            Some(Keys::Range(from, to)) => {
                if !self.prefix_may_be(prefix) {
                    return false;
                }
                let is_last = prefix.len() + 1 == self.map.types.len();
                let next = prefix.len();
                let starts_below = compare(from, prefix) != Ordering::Equal
                    || from.get(next).zip(upper).is_none_or(|(from, (limit, inside))| {
                        is_beyond(from.compare(limit).reverse(), inside)
                    });
                let ends_above = compare(to, prefix) != Ordering::Equal
                    || to.get(next).zip(lower).is_none_or(|(to, (limit, inside))| {
                        // The upper end is outside, unless more keys follow.
                        is_beyond(to.compare(limit), inside && !is_last)
                    });
                starts_below && ends_above
            }
            _ => true,
        }
    }
}

/// An end of a range and whether it is inside; `None` if there is none or it is not known.
type Limit<'b> = Option<(&'b Datum, bool)>;

/// The end of a range; `None` if no value is within it.
fn end_of(end: Option<&(Expr, bool)>) -> Option<Limit<'_>> {
    match end {
        Some((Expr::Const(Datum::Null, _), _)) => None,
        Some((Expr::Const(value, _), inside)) => Some(Some((value, *inside))),
        _ => Some(None),
    }
}

fn is_beyond(order: Ordering, inside: bool) -> bool {
    order == Ordering::Greater || (inside && order == Ordering::Equal)
}

/// How the first parts of an end compare with the beginning of a key.
fn compare(end: &[End], prefix: &[Datum]) -> Ordering {
    let mut parts = end.iter().zip(prefix).map(|(end, value)| end.compare(value));
    parts.find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_catalog::{PartitionMap, PartitionStrategy};

    use super::*;

    fn value(value: i64) -> Expr {
        Expr::Const(Datum::Int(value), SqlType::Int4)
    }

    fn ranges() -> Arc<PartitionMap> {
        let range = |from: i64, to: i64| {
            let end = |value| vec![End::Value(Datum::Int(value)), End::Min];
            Keys::Range(end(from), end(to))
        };
        let entries = vec![(1, range(0, 10)), (2, range(10, 20)), (3, Keys::Default)];
        let types = vec![SqlType::Int4, SqlType::Int4];
        Arc::new(PartitionMap::new(PartitionStrategy::Range, types, entries))
    }

    fn left(bounds: Vec<Bound>) -> Vec<usize> {
        let map = ranges();
        let may = |place: &usize| {
            let (map, bounds) = (map.clone(), bounds.clone());
            Pruning { map, place: *place, bounds }.may_have_rows()
        };
        (0..3).filter(may).collect()
    }

    #[test]
    fn a_partition_stays_unless_no_key_of_it_can_meet_the_bounds() {
        assert_eq!(left(vec![]), [0, 1, 2]);
        assert_eq!(left(vec![Bound::In(vec![value(5)])]), [0, 2]);
        assert_eq!(left(vec![Bound::In(vec![value(10)])]), [0, 1, 2]);
        let whole = |key| vec![Bound::In(vec![value(key)]), Bound::In(vec![value(1)])];
        assert_eq!(left(whole(5)), [0]);
        assert_eq!(left(whole(10)), [1]);
        assert_eq!(left(whole(99)), [2]);
        let from =
            |limit, inside| Bound::Range { lower: Some((value(limit), inside)), upper: None };
        assert_eq!(left(vec![from(10, true)]), [0, 1, 2]);
        assert_eq!(left(vec![from(10, false)]), [1, 2]);
        let below = |limit| Bound::Range { lower: None, upper: Some((value(limit), false)) };
        assert_eq!(left(vec![below(10)]), [0, 2]);
        assert_eq!(left(vec![Bound::Null]), [2]);
    }
}
