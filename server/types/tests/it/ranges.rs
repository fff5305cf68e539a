//! Ranges against a model: a range of small integers as the set of the half units that it holds.

use std::cmp::Ordering;
use std::ops::Bound;

use braid_types::range::{
    adjoins, contains, contains_value, difference, ends_within, intersection, is_left_of, merged,
    normalized, overlaps, starts_within,
};
use braid_types::{Datum, Numeric, Range, RangeKind};
use proptest::collection::vec;
use proptest::prelude::*;

/// Bounds are between -3 and 3; the model has a point at each half unit from -4 to 4.
const POINTS: std::ops::RangeInclusive<i64> = -8..=8;

type Ends = (Bound<i64>, Bound<i64>);

fn any_end() -> impl Strategy<Value = Bound<i64>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        3 => (-3i64..4).prop_map(Bound::Included),
        3 => (-3i64..4).prop_map(Bound::Excluded),
    ]
}

/// A range of numbers, which has no canonical form, with its bounds.
fn any_range() -> impl Strategy<Value = (Range, Ends)> {
    let ends = (any_end(), any_end());
    ends.prop_filter_map("bounds that cross", |(lower, upper)| {
        let range = Range::new(RangeKind::Num, number(lower), number(upper)).ok()?;
        Some((range, (lower, upper)))
    })
}

fn number(end: Bound<i64>) -> Bound<Datum> {
    end.map(|value| Datum::Numeric(Numeric::from_i64(value)))
}

/// The points of the model as numbers: twice their value.
fn points(set: &[Range]) -> Vec<i64> {
    POINTS.filter(|point| contains_value(set, &half(*point))).collect()
}

fn half(point: i64) -> Datum {
    Datum::Numeric(Numeric::from_parts(i128::from(point) * 5, 1))
}

/// What PostgreSQL's `range_cmp_bounds` says of two lower or two upper bounds.
fn by_bounds(a: Bound<i64>, b: Bound<i64>, is_lower: bool) -> Ordering {
    let infinite = if is_lower { Ordering::Less } else { Ordering::Greater };
    let value = |end: Bound<i64>| match end {
        Bound::Unbounded => None,
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
    };
    match (value(a), value(b)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => infinite,
        (Some(_), None) => infinite.reverse(),
        (Some(x), Some(y)) if x != y => x.cmp(&y),
        _ => {
            let inclusive = |end: Bound<i64>| matches!(end, Bound::Included(_));
            match (inclusive(a), inclusive(b)) {
                (true, false) => infinite,
                (false, true) => infinite.reverse(),
                _ => Ordering::Equal,
            }
        }
    }
}

fn set_of(ranges: Vec<(Range, Ends)>) -> Vec<Range> {
    normalized(ranges.into_iter().map(|(range, _)| range).collect()).expect("no statement")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_order_is_that_of_postgresql((a, a_ends) in any_range(), (b, b_ends) in any_range()) {
        let wanted = match (a.is_empty(), b.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => by_bounds(a_ends.0, b_ends.0, true)
                .then(by_bounds(a_ends.1, b_ends.1, false)),
        };
        prop_assert_eq!(a.compare(&b), wanted);
    }

    #[test]
    fn sets_do_what_sets_of_points_do(a in vec(any_range(), 0..4), b in vec(any_range(), 0..4)) {
        let (a, b) = (set_of(a), set_of(b));
        let (in_a, in_b) = (points(&a), points(&b));
        prop_assert_eq!(overlaps(&a, &b)?, in_a.iter().any(|point| in_b.contains(point)));
        prop_assert_eq!(contains(&a, &b)?, in_b.iter().all(|point| in_a.contains(point)));
        let common: Vec<i64> = in_a.iter().filter(|p| in_b.contains(p)).copied().collect();
        prop_assert_eq!(points(&intersection(&a, &b)?), common);
        let rest: Vec<i64> = in_a.iter().filter(|p| !in_b.contains(p)).copied().collect();
        prop_assert_eq!(points(&difference(&a, &b)?), rest);
        let (first, last) = (|set: &[i64]| set.first().copied(), |set: &[i64]| set.last().copied());
        let both = !a.is_empty() && !b.is_empty();
        prop_assert_eq!(is_left_of(&a, &b), both && last(&in_a) < first(&in_b));
        prop_assert_eq!(ends_within(&a, &b), both && last(&in_a) <= last(&in_b));
        prop_assert_eq!(starts_within(&a, &b), both && first(&in_a) >= first(&in_b));
    }

    #[test]
    fn sets_stay_sorted_with_gaps(a in vec(any_range(), 0..6), b in vec(any_range(), 0..6)) {
        let (a, b) = (set_of(a), set_of(b));
        for set in [intersection(&a, &b)?, difference(&a, &b)?, a, b] {
            let again = normalized(set.clone())?;
            prop_assert_eq!(format!("{set:?}"), format!("{again:?}"));
        }
    }

    #[test]
    fn ranges_that_touch_become_one((a, _) in any_range(), (b, _) in any_range()) {
        let (left, right) = (a.as_set(), b.as_set());
        let whole = normalized(vec![a.clone(), b.clone()])?;
        let is_one = left.is_empty() || right.is_empty() || overlaps(left, right)?
            || adjoins(left, right);
        prop_assert_eq!(whole.len() <= 1, is_one);
        if is_one {
            let merged = merged(a.clone(), b.clone());
            prop_assert!(points(merged.as_set()) == points(&whole));
        }
    }

    #[test]
    fn integers_have_one_form(lower in any_end(), upper in any_end()) {
        let whole = |end: Bound<i64>| end.map(Datum::Int);
        let Ok(range) = Range::new(RangeKind::Int4, whole(lower), whole(upper)) else {
            return Ok(());
        };
        prop_assert!(!matches!(range.lower(), Some(Bound::Excluded(_))));
        prop_assert!(!matches!(range.upper(), Some(Bound::Included(_))));
        let as_number = Range::new(RangeKind::Num, number(lower), number(upper)).expect("checked");
        for value in -4i64..=4 {
            let of_numbers = contains_value(as_number.as_set(), &half(value * 2));
            prop_assert_eq!(contains_value(range.as_set(), &Datum::Int(value)), of_numbers);
        }
    }
}

#[test]
fn bounds_beyond_the_last_value_are_an_error() {
    let upper = |value: i64| Bound::Included(Datum::Int(value));
    let int4 = Range::new(RangeKind::Int4, Bound::Unbounded, upper(i64::from(i32::MAX)));
    assert_eq!(int4.unwrap_err().message(), "integer out of range");
    let int8 = Range::new(RangeKind::Int8, Bound::Unbounded, upper(i64::MAX));
    assert_eq!(int8.unwrap_err().message(), "bigint out of range");
    let infinite = Bound::Included(Datum::Date(i32::MAX));
    let date = Range::new(RangeKind::Date, Bound::Unbounded, infinite).expect("it stays");
    assert!(matches!(date.upper(), Some(Bound::Included(_))));
}
