//! What is asked of one range or multirange: its bounds, and whether it is empty.
//!
//! The bounds of a multirange are those of the smallest range around it.

use std::ops::Bound;
use std::sync::Arc;

use braid_types::range::{hull, merged};
use braid_types::{Datum, Error, Range, Result};

use crate::Call;
use crate::registry::tables::Registry;

/// The ranges of an argument.
pub(super) fn ranges<'a>(call: &Call<'a>, index: usize) -> Result<&'a [Range]> {
    call.datum(index).as_ranges().ok_or_else(|| Error::internal("an argument is no range"))
}

/// A range as a value.
pub(crate) fn range_datum(range: Range) -> Result<Datum> {
    Ok(Datum::Range(Arc::new(range)))
}

fn lower<'a>(call: &Call<'a>) -> Result<Option<&'a Bound<Datum>>> {
    Ok(ranges(call, 0)?.first().and_then(Range::lower))
}

fn upper<'a>(call: &Call<'a>) -> Result<Option<&'a Bound<Datum>>> {
    Ok(ranges(call, 0)?.last().and_then(Range::upper))
}

/// The value of a bound; NULL for an infinite one and for that of an empty range.
fn value(bound: Option<&Bound<Datum>>) -> Result<Datum> {
    Ok(match bound {
        Some(Bound::Included(value) | Bound::Excluded(value)) => value.clone(),
        Some(Bound::Unbounded) | None => Datum::Null,
    })
}

fn is_inclusive(bound: Option<&Bound<Datum>>) -> Result<Datum> {
    Ok(Datum::Bool(matches!(bound, Some(Bound::Included(_)))))
}

fn is_infinite(bound: Option<&Bound<Datum>>) -> Result<Datum> {
    Ok(Datum::Bool(matches!(bound, Some(Bound::Unbounded))))
}

fn one_range(call: &Call<'_>, index: usize) -> Result<Range> {
    Ok(hull(ranges(call, index)?))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("lower(anyrange) -> anyelement", |c| value(lower(c)?));
    registry.add("lower(anymultirange) -> anyelement", |c| value(lower(c)?));
    registry.add("upper(anyrange) -> anyelement", |c| value(upper(c)?));
    registry.add("upper(anymultirange) -> anyelement", |c| value(upper(c)?));
    for signature in ["isempty(anyrange) -> bool", "isempty(anymultirange) -> bool"] {
        registry.add(signature, |c| Ok(Datum::Bool(ranges(c, 0)?.is_empty())));
    }
    for signature in ["lower_inc(anyrange) -> bool", "lower_inc(anymultirange) -> bool"] {
        registry.add(signature, |c| is_inclusive(lower(c)?));
    }
    for signature in ["upper_inc(anyrange) -> bool", "upper_inc(anymultirange) -> bool"] {
        registry.add(signature, |c| is_inclusive(upper(c)?));
    }
    for signature in ["lower_inf(anyrange) -> bool", "lower_inf(anymultirange) -> bool"] {
        registry.add(signature, |c| is_infinite(lower(c)?));
    }
    for signature in ["upper_inf(anyrange) -> bool", "upper_inf(anymultirange) -> bool"] {
        registry.add(signature, |c| is_infinite(upper(c)?));
    }
    registry.add("range_merge(anyrange, anyrange) -> anyrange", |c| {
        range_datum(merged(one_range(c, 0)?, one_range(c, 1)?))
    });
    registry.add("range_merge(anymultirange) -> anyrange", |c| range_datum(one_range(c, 0)?));
    registry.add("multirange(anyrange) -> anymultirange", |c| {
        Ok(Datum::Multirange(ranges(c, 0)?.into()))
    });
    register_support(registry);
}

/// What `pg_range` names: the canonical form, which every range has, and the distance of bounds.
fn register_support(registry: &mut Registry) {
    for signature in [
        "int4range_canonical(int4range) -> int4range",
        "int8range_canonical(int8range) -> int8range",
        "daterange_canonical(daterange) -> daterange",
    ] {
        registry.add(signature, |c| Ok(c.datum(0).clone()));
    }
    for signature in [
        "int4range_subdiff(int4, int4) -> float8",
        "int8range_subdiff(int8, int8) -> float8",
        "numrange_subdiff(numeric, numeric) -> float8",
        "daterange_subdiff(date, date) -> float8",
        "tsrange_subdiff(timestamp, timestamp) -> float8",
        "tstzrange_subdiff(timestamptz, timestamptz) -> float8",
    ] {
        registry.add(signature, distance);
    }
}

/// How far the first value is above the second one, in units, days or seconds.
fn distance(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Float(match (call.datum(0), call.datum(1)) {
        (Datum::Int(a), Datum::Int(b)) => *a as f64 - *b as f64,
        (Datum::Numeric(a), Datum::Numeric(b)) => a.sub(b)?.to_f64(),
        (Datum::Date(a), Datum::Date(b)) => f64::from(a.wrapping_sub(*b)),
        (
            Datum::Timestamp(a) | Datum::Timestamptz(a),
            Datum::Timestamp(b) | Datum::Timestamptz(b),
        ) => (*a as f64 - *b as f64) / 1_000_000.0,
        _ => return Err(Error::internal("bounds of no range")),
    }))
}
