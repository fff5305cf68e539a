//! `int4range(1, 5, '[]')`, `int4multirange(…)` and the same for the other types.

use std::ops::Bound;
use std::sync::Arc;

use braid_types::range::normalized;
use braid_types::sql_type::range_kind;
use braid_types::{Datum, Error, Range, RangeKind, Result, SqlState};

use crate::Call;
use crate::registry::tables::Registry;

/// A range; the type of the result says which one.
fn range(call: &Call<'_>) -> Result<Datum> {
    let (is_lower_inclusive, is_upper_inclusive) = inclusive(call)?;
    let bound = |index: usize, is_inclusive: bool| match call.datum(index) {
        Datum::Null => Bound::Unbounded,
        value if is_inclusive => Bound::Included(value.clone()),
        value => Bound::Excluded(value.clone()),
    };
    let (lower, upper) = (bound(0, is_lower_inclusive), bound(1, is_upper_inclusive));
    Ok(Datum::Range(Arc::new(Range::new(kind(call)?, lower, upper)?)))
}

/// Which bounds are inclusive: the lower one, unless the third argument says something else.
fn inclusive(call: &Call<'_>) -> Result<(bool, bool)> {
    if call.args.len() < 3 {
        return Ok((true, false));
    }
    if call.is_null(2) {
        let message = "range constructor flags argument must not be null";
        return Err(Error::new(SqlState::DataException, message));
    }
    match call.text(2)? {
        "[]" => Ok((true, true)),
        "[)" => Ok((true, false)),
        "(]" => Ok((false, true)),
        "()" => Ok((false, false)),
        _ => Err(Error::new(SqlState::SyntaxError, "invalid range bound flags")
            .hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".")),
    }
}

fn kind(call: &Call<'_>) -> Result<RangeKind> {
    range_kind(call.returns).ok_or_else(|| Error::internal("a range of no range type"))
}

/// A multirange of any number of ranges; NULL for one range that is NULL.
fn multirange(call: &Call<'_>) -> Result<Datum> {
    if let [Datum::Null] = call.args {
        return Ok(Datum::Null);
    }
    let mut ranges = Vec::with_capacity(call.args.len());
    for value in call.args {
        match value.as_ranges() {
            Some(own) => ranges.extend(own.iter().cloned()),
            None => {
                let message = "multirange values cannot contain null members";
                return Err(Error::new(SqlState::NullValueNotAllowed, message));
            }
        }
    }
    Ok(Datum::Multirange(normalized(ranges)?.into()))
}

fn same(call: &Call<'_>) -> Result<Datum> {
    Ok(call.datum(0).clone())
}

macro_rules! constructors {
    ($registry:ident: $(($range:literal, $bound:literal, $multirange:literal)),*) => {
        $(
            $registry.add(concat!($range, "(", $range, ") -> ", $range), same);
            $registry.add(
                concat!($range, "(", $bound, ", ", $bound, ") -> ", $range, " lax"),
                range,
            );
            $registry.add(
                concat!($range, "(", $bound, ", ", $bound, ", text) -> ", $range, " lax"),
                range,
            );
            $registry.add(concat!($multirange, "(", $multirange, ") -> ", $multirange), same);
            $registry.add(concat!($multirange, "() -> ", $multirange), multirange);
            $registry.add(
                concat!($multirange, "(variadic ", $range, ") -> ", $multirange, " lax"),
                multirange,
            );
        )*
    };
}

pub(crate) fn register(registry: &mut Registry) {
    constructors!(registry:
        ("int4range", "int4", "int4multirange"),
        ("int8range", "int8", "int8multirange"),
        ("numrange", "numeric", "nummultirange"),
        ("tsrange", "timestamp", "tsmultirange"),
        ("tstzrange", "timestamptz", "tstzmultirange"),
        ("daterange", "date", "datemultirange"));
}
