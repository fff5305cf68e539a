//! One range: how it is made, its order and its parts.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Bound;

use crate::datetime::DATE_END;
use crate::datum::Range;
use crate::{Datum, Error, Result, SqlState};

use super::kind::RangeKind;

impl Hash for Range {
    /// Ranges that are equal have the same flags and equal values.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.flags().hash(state);
        self.lower_value().hash(state);
        self.upper_value().hash(state);
    }
}

/// A lower and an upper bound.
type Bounds = (Bound<Datum>, Bound<Datum>);

/// A place between two values, or before or after all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cut<'a> {
    /// Before every value.
    Start,
    /// Just before (false) or just after (true) a value.
    At(&'a Datum, bool),
    /// After every value.
    End,
}

/// The flags of a range's stored and wire form, with PostgreSQL's numbers.
const EMPTY: u8 = 0x01;
const LOWER_INCLUSIVE: u8 = 0x02;
const UPPER_INCLUSIVE: u8 = 0x04;
const LOWER_INFINITE: u8 = 0x08;
const UPPER_INFINITE: u8 = 0x10;

pub(super) fn lower_cut(bound: &Bound<Datum>) -> Cut<'_> {
    match bound {
        Bound::Unbounded => Cut::Start,
        Bound::Included(value) => Cut::At(value, false),
        Bound::Excluded(value) => Cut::At(value, true),
    }
}

pub(super) fn upper_cut(bound: &Bound<Datum>) -> Cut<'_> {
    match bound {
        Bound::Unbounded => Cut::End,
        Bound::Included(value) => Cut::At(value, true),
        Bound::Excluded(value) => Cut::At(value, false),
    }
}

/// The value of a bound; `None` for an infinite one.
pub(super) fn value_of(bound: &Bound<Datum>) -> Option<&Datum> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
    }
}

impl Range {
    /// The range between two bounds in canonical form. 22000 if the lower one is above the upper
    /// one; 22003 or 22008 if the canonical form has no such bound.
    pub fn new(kind: RangeKind, lower: Bound<Datum>, upper: Bound<Datum>) -> Result<Range> {
        if let (Some(low), Some(high)) = (value_of(&lower), value_of(&upper))
            && low.compare(high).is_gt()
        {
            let message = "range lower bound must be less than or equal to range upper bound";
            return Err(Error::new(SqlState::DataException, message));
        }
        if lower_cut(&lower) >= upper_cut(&upper) {
            return Ok(Range::Empty);
        }
        let lower = match lower {
            Bound::Excluded(value) => match next(kind, &value)? {
                Some(next) => Bound::Included(next),
                None => Bound::Excluded(value),
            },
            bound => bound,
        };
        let upper = match upper {
            Bound::Included(value) => match next(kind, &value)? {
                Some(next) => Bound::Excluded(next),
                None => Bound::Included(value),
            },
            bound => bound,
        };
        let is_empty = lower_cut(&lower) >= upper_cut(&upper);
        Ok(if is_empty { Range::Empty } else { Range::Between(lower, upper) })
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        matches!(self, Range::Empty)
    }

    /// The lower bound; `None` for the empty range.
    pub fn lower(&self) -> Option<&Bound<Datum>> {
        match self {
            Range::Empty => None,
            Range::Between(lower, _) => Some(lower),
        }
    }

    /// The upper bound; `None` for the empty range.
    pub fn upper(&self) -> Option<&Bound<Datum>> {
        match self {
            Range::Empty => None,
            Range::Between(_, upper) => Some(upper),
        }
    }

    /// The value of the lower bound, if it has one.
    pub fn lower_value(&self) -> Option<&Datum> {
        self.lower().and_then(value_of)
    }

    /// The value of the upper bound, if it has one.
    pub fn upper_value(&self) -> Option<&Datum> {
        self.upper().and_then(value_of)
    }

    /// PostgreSQL's order: the empty range first, then by lower bounds, then by upper ones.
    pub fn compare(&self, other: &Range) -> Ordering {
        self.cuts().cmp(&other.cuts())
    }

    pub(super) fn cuts(&self) -> Option<(Cut<'_>, Cut<'_>)> {
        match self {
            Range::Empty => None,
            Range::Between(lower, upper) => Some((lower_cut(lower), upper_cut(upper))),
        }
    }

    /// As a set of ranges: none or one.
    pub fn as_set(&self) -> &[Range] {
        if self.is_empty() { &[] } else { std::slice::from_ref(self) }
    }

    /// A byte that says which bounds there are, as the wire format has it.
    pub fn flags(&self) -> u8 {
        let (lower, upper) = match self {
            Range::Empty => return EMPTY,
            Range::Between(lower, upper) => (lower, upper),
        };
        let flag = |bound: &Bound<Datum>, inclusive: u8, infinite: u8| match bound {
            Bound::Included(_) => inclusive,
            Bound::Excluded(_) => 0,
            Bound::Unbounded => infinite,
        };
        flag(lower, LOWER_INCLUSIVE, LOWER_INFINITE) | flag(upper, UPPER_INCLUSIVE, UPPER_INFINITE)
    }

    /// Reads the bounds that [`Range::flags`] announces, the lower one first. `None`: empty.
    pub fn read_bounds<E>(
        flags: u8,
        mut value: impl FnMut() -> std::result::Result<Datum, E>,
    ) -> std::result::Result<Option<Bounds>, E> {
        if flags & EMPTY != 0 {
            return Ok(None);
        }
        let mut bound = |inclusive: u8, infinite: u8| {
            if flags & infinite != 0 {
                return Ok(Bound::Unbounded);
            }
            let value = value()?;
            Ok(if flags & inclusive != 0 { Bound::Included(value) } else { Bound::Excluded(value) })
        };
        let lower = bound(LOWER_INCLUSIVE, LOWER_INFINITE)?;
        Ok(Some((lower, bound(UPPER_INCLUSIVE, UPPER_INFINITE)?)))
    }

    /// Approximate bytes of memory that it takes.
    pub fn size_bytes(&self) -> usize {
        let bound = |value: Option<&Datum>| value.map_or(0, Datum::size_bytes);
        size_of::<Range>() + bound(self.lower_value()) + bound(self.upper_value())
    }
}

/// The value that follows in a type whose values follow each other; `None` where there is none.
/// 22003 or 22008 after the last value of the type.
fn next(kind: RangeKind, value: &Datum) -> Result<Option<Datum>> {
    let (last, name) = match kind {
        RangeKind::Int4 => (i64::from(i32::MAX), "integer"),
        RangeKind::Int8 => (i64::MAX, "bigint"),
        _ => (i64::from(DATE_END) - 1, "date"),
    };
    match value {
        Datum::Int(value) if *value < last => Ok(Some(Datum::Int(value + 1))),
        Datum::Int(_) => {
            let message = format!("{name} out of range");
            Err(Error::new(SqlState::NumericValueOutOfRange, message))
        }
        // Infinite dates stay as they are.
        Datum::Date(i32::MAX | i32::MIN) => Ok(None),
        Datum::Date(days) if i64::from(*days) < last => Ok(Some(Datum::Date(days + 1))),
        Datum::Date(_) => {
            let message = format!("{name} out of range");
            Err(Error::new(SqlState::DatetimeFieldOverflow, message))
        }
        _ => Ok(None),
    }
}
