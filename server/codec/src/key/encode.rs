//! Datum to key bytes.

use std::ops::Bound;

use braid_types::{Array, Datum, Interval, Range, SqlType, citext};

use super::parts::{
    BOUND_FIRST, BOUND_SECOND, DAY_MICROS, INTERVAL_BIAS, MONTH_DAYS, put_escaped, put_int,
};
use super::{json, numeric, tag};

/// Appends a column. The datum is of type `ty`, or NULL, which sorts last, or first if descending.
pub fn encode(out: &mut Vec<u8>, datum: &Datum, ty: &SqlType, descending: bool) {
    let start = out.len();
    put(out, datum, ty);
    if descending {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

/// Whether the key holds everything of a value. If not (equal values can look different: `1.0` and
/// `1.00`, the two zeros of a float, `30 days` and `1 mon`), a row keeps it in its value as well.
pub fn is_exact(ty: &SqlType) -> bool {
    match ty {
        SqlType::Float4 | SqlType::Float8 => false,
        SqlType::Numeric(modifier) => modifier.is_some(),
        SqlType::Char(length) => *length > 0,
        SqlType::Interval | SqlType::Jsonb | SqlType::Citext => false,
        SqlType::Array(element) => is_exact(element),
        SqlType::Record(fields) => fields.iter().all(|(_, ty)| is_exact(ty)),
        SqlType::Range(kind) | SqlType::Multirange(kind) => is_exact(kind.subtype()),
        _ => true,
    }
}

/// Whether the type has an order, so that it can be a key column.
pub fn is_orderable(ty: &SqlType) -> bool {
    match ty {
        SqlType::Json | SqlType::Void | SqlType::Any(_) | SqlType::Unknown => false,
        SqlType::Geometry(_) => false,
        // An anonymous row may have any columns.
        SqlType::Record(row) => row.name().is_some() && row.iter().all(|(_, ty)| is_orderable(ty)),
        SqlType::Xid | SqlType::Cid | SqlType::Aclitem | SqlType::Jsonpath | SqlType::Refcursor => {
            false
        }
        SqlType::Snapshot(_) => false,
        SqlType::Array(element) => is_orderable(element),
        _ => true,
    }
}

fn put(out: &mut Vec<u8>, datum: &Datum, ty: &SqlType) {
    match datum {
        Datum::Null => out.push(tag::NULL),
        Datum::Bool(false) => out.push(tag::FALSE),
        Datum::Bool(true) => out.push(tag::TRUE),
        Datum::Int(value)
        | Datum::Time(value)
        | Datum::Timestamp(value)
        | Datum::Timestamptz(value) => put_int(out, *value),
        Datum::Date(value) => put_int(out, i64::from(*value)),
        Datum::Float(value) => {
            out.push(tag::FLOAT);
            out.extend_from_slice(&float_bits(*value).to_be_bytes());
        }
        Datum::Numeric(value) => numeric::put(out, value),
        Datum::Text(value) => {
            out.push(tag::TEXT);
            let significant = match ty {
                SqlType::Char(_) => value.trim_end_matches(' '),
                _ => value,
            };
            put_escaped(out, significant.as_bytes());
        }
        Datum::Citext(value) => {
            out.push(tag::TEXT);
            put_escaped(out, citext::folded(value).as_bytes());
        }
        Datum::Bytes(value) => {
            out.push(tag::BYTES);
            put_escaped(out, value);
        }
        Datum::Uuid(value) => {
            out.push(tag::UUID);
            out.extend_from_slice(value);
        }
        Datum::Interval(value) => {
            out.push(tag::INTERVAL);
            out.extend_from_slice(&interval_bytes(value));
        }
        Datum::Enum(label) => put_int(out, label.order),
        Datum::Json(value) => json::put(out, value),
        Datum::Array(array) => {
            out.push(tag::ARRAY);
            for item in &array.items {
                put(out, item, &array.element);
            }
            out.push(tag::END);
            put_dimensions(out, array);
        }
        Datum::Record(items) => {
            out.push(tag::RECORD);
            let types = if let SqlType::Record(fields) = ty { fields.as_slice() } else { &[] };
            for (place, item) in items.iter().enumerate() {
                put(out, item, types.get(place).map_or(&SqlType::Unknown, |(_, ty)| ty));
            }
            out.push(tag::END);
        }
        Datum::Range(range) => put_range(out, range),
        Datum::Multirange(ranges) => {
            out.push(tag::RECORD);
            ranges.iter().for_each(|range| put_range(out, range));
            out.push(tag::END);
        }
    }
}

/// A range as a record: see the table of the parent module.
fn put_range(out: &mut Vec<u8>, range: &Range) {
    out.push(tag::RECORD);
    if let Range::Between(lower, upper) = range {
        match lower {
            Bound::Unbounded => put_int(out, BOUND_FIRST),
            Bound::Included(value) => put_bound(out, (BOUND_SECOND, value, BOUND_FIRST)),
            Bound::Excluded(value) => put_bound(out, (BOUND_SECOND, value, BOUND_SECOND)),
        }
        match upper {
            Bound::Unbounded => put_int(out, BOUND_SECOND),
            Bound::Included(value) => put_bound(out, (BOUND_FIRST, value, BOUND_SECOND)),
            Bound::Excluded(value) => put_bound(out, (BOUND_FIRST, value, BOUND_FIRST)),
        }
    }
    out.push(tag::END);
}

/// A number that orders finite and infinite bounds, the value, and a number that orders inclusive
/// and exclusive ones.
fn put_bound(out: &mut Vec<u8>, (finite, value, inclusive): (i64, &Datum, i64)) {
    put_int(out, finite);
    // No type of bounds has an order of its own beside that of its values.
    put(out, value, &SqlType::Unknown);
    put_int(out, inclusive);
}

/// The lower bound of an array of one dimension; of several their number, lengths and lower bounds
/// as a record, which sorts after every number.
fn put_dimensions(out: &mut Vec<u8>, array: &Array) {
    if array.inner.is_empty() || array.items.is_empty() {
        // Empty arrays have no bounds.
        return put_int(out, if array.items.is_empty() { 1 } else { i64::from(array.lower) });
    }
    let dimensions = array.dimensions();
    out.push(tag::RECORD);
    put_int(out, dimensions.len() as i64);
    dimensions.iter().for_each(|dimension| put_int(out, dimension.length as i64));
    dimensions.iter().for_each(|dimension| put_int(out, i64::from(dimension.lower)));
    out.push(tag::END);
}

/// Bits that sort as the numbers: NaN last, one zero.
fn float_bits(value: f64) -> u64 {
    let canonical = if value.is_nan() {
        f64::NAN.copysign(1.0)
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    let bits = canonical.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// What PostgreSQL compares of an interval, in ten bytes.
fn interval_bytes(interval: &Interval) -> [u8; 10] {
    let days = i128::from(interval.months) * MONTH_DAYS + i128::from(interval.days);
    let micros = days * DAY_MICROS + i128::from(interval.micros) + INTERVAL_BIAS;
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&micros.to_be_bytes()[6..]);
    bytes
}
