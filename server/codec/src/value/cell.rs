//! Datum to cell.

use braid_types::sql_type::{RowType, range_subtype};
use braid_types::{Array, Datum, Interval, Range, SqlType, bits};

use super::json;
use super::parts::{put_int, put_numeric, put_uvarint};

/// Appends a datum that is not NULL (NULL is a bit of the row, and takes no bytes here).
pub fn encode_cell(out: &mut Vec<u8>, datum: &Datum, ty: &SqlType) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(u8::from(*value)),
        Datum::Int(value)
        | Datum::Time(value)
        | Datum::Timestamp(value)
        | Datum::Timestamptz(value) => put_int(out, *value),
        Datum::Date(value) => put_int(out, i64::from(*value)),
        Datum::Enum(label) => put_int(out, label.order),
        Datum::Float(value) => match ty {
            SqlType::Float4 => out.extend_from_slice(&(*value as f32).to_le_bytes()),
            _ => out.extend_from_slice(&value.to_le_bytes()),
        },
        Datum::Numeric(value) => put_numeric(out, value),
        Datum::Text(value) if bits::is_bits(ty) => put_bits(out, value),
        Datum::Text(value) | Datum::Citext(value) => out.extend_from_slice(value.as_bytes()),
        Datum::Bytes(value) => out.extend_from_slice(value),
        Datum::Uuid(value) => out.extend_from_slice(value),
        Datum::Interval(value) => put_interval(out, value),
        Datum::Json(value) => match ty {
            SqlType::Json => json::put_text(out, value),
            _ => json::put(out, value),
        },
        Datum::Array(array) => {
            put_dimensions(out, array);
            put_items(out, array.items.iter().map(|item| (item, &array.element)));
        }
        Datum::Record(items) => {
            let unknown = RowType::unknown();
            let row = if let SqlType::Record(row) = ty { row } else { &unknown };
            put_record(out, items, row);
        }
        Datum::Range(range) => put_range(out, range, ty),
        Datum::Multirange(ranges) => {
            put_uvarint(out, ranges.len() as u64);
            ranges.iter().for_each(|range| put_range(out, range, ty));
        }
    }
}

/// The number of unused bits of the last byte, then the bits, eight to a byte.
fn put_bits(out: &mut Vec<u8>, value: &str) {
    out.push((value.len().next_multiple_of(8) - value.len()) as u8);
    out.extend(bits::pack(value));
}

/// The flags of a range, then the length and the cell of each finite bound.
fn put_range(out: &mut Vec<u8>, range: &Range, ty: &SqlType) {
    let subtype = range_subtype(ty).unwrap_or(&SqlType::Unknown);
    out.push(range.flags());
    let mut cell = Vec::new();
    for value in [range.lower_value(), range.upper_value()].into_iter().flatten() {
        cell.clear();
        encode_cell(&mut cell, value, subtype);
        put_uvarint(out, cell.len() as u64);
        out.extend_from_slice(&cell);
    }
}

/// Above every lower bound: the number of dimensions is what is left.
pub(super) const SEVERAL_DIMENSIONS: u64 = 1 << 32;

/// The lower bound of an array of one dimension; of several their number, then for each its lower
/// bound and its length.
fn put_dimensions(out: &mut Vec<u8>, array: &Array) {
    if array.inner.is_empty() {
        return put_uvarint(out, zigzag(i64::from(array.lower)));
    }
    let dimensions = array.dimensions();
    put_uvarint(out, SEVERAL_DIMENSIONS + dimensions.len() as u64);
    for dimension in dimensions {
        put_uvarint(out, zigzag(i64::from(dimension.lower)));
        put_uvarint(out, dimension.length as u64);
    }
}

/// Lengths of months and days in one byte, then months, days and microseconds.
fn put_interval(out: &mut Vec<u8>, interval: &Interval) {
    let lengths = out.len();
    out.push(0);
    put_int(out, i64::from(interval.months));
    let months_len = out.len() - lengths - 1;
    put_int(out, i64::from(interval.days));
    let days_len = out.len() - lengths - 1 - months_len;
    out[lengths] = (months_len | days_len << 4) as u8;
    put_int(out, interval.micros);
}

/// The numbers of the columns of a row type with a name, then the items. An anonymous row has no
/// numbers: its columns never change.
fn put_record(out: &mut Vec<u8>, items: &[Datum], row: &RowType) {
    let numbers = row.attributes();
    let is_numbered = numbers.len() == items.len();
    put_uvarint(out, if is_numbered { numbers.len() as u64 } else { 0 });
    if is_numbered {
        numbers.iter().for_each(|attribute| put_uvarint(out, u64::from(attribute.number)));
    }
    let ty = |place: usize| row.get(place).map_or(&SqlType::Text, |(_, ty)| ty);
    put_items(out, items.iter().enumerate().map(|(place, item)| (item, ty(place))));
}

/// A count, then each item's length plus one (0: NULL) and its cell.
fn put_items<'a>(
    out: &mut Vec<u8>,
    items: impl ExactSizeIterator<Item = (&'a Datum, &'a SqlType)>,
) {
    put_uvarint(out, items.len() as u64);
    let mut cell = Vec::new();
    for (item, ty) in items {
        if item.is_null() {
            put_uvarint(out, 0);
            continue;
        }
        cell.clear();
        encode_cell(&mut cell, item, ty);
        put_uvarint(out, cell.len() as u64 + 1);
        out.extend_from_slice(&cell);
    }
}

/// Small numbers of either sign become small numbers.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}
