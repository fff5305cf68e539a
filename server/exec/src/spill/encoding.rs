//! Rows as bytes of a temporary file.
//!
//! ```text
//!   row      count of columns, then each datum
//!   datum    tag, then what the tag says: nothing, a fixed number of bytes, or a length and a cell
//!   integer  the tag has the length: 32 + bytes of the two's complement, little end first
//! ```
//!
//! Each datum says itself what it is, since operators pass rows whose types they do not know. Types
//! of array elements and labels of enums stay in memory; the bytes have their number.
//!
//! Rule: every datum comes back as it was, with its scale, its blanks and its dimensions.

use std::collections::HashMap;
use std::sync::Arc;

use braid_codec::value::{decode_cell, encode_cell};
use braid_types::array::Dimension;
use braid_types::{Array, Datum, EnumLabel, Error, Interval, Range, Result, Row, SqlType};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const FLOAT: u8 = 3;
const NUMERIC: u8 = 4;
const TEXT: u8 = 5;
const BYTES: u8 = 6;
const UUID: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const TIMESTAMP: u8 = 10;
const TIMESTAMPTZ: u8 = 11;
const INTERVAL: u8 = 12;
const JSON: u8 = 13;
const ARRAY: u8 = 14;
const RECORD: u8 = 15;
const ENUM: u8 = 16;
const RANGE: u8 = 17;
const MULTIRANGE: u8 = 18;
const CITEXT: u8 = 19;
/// An integer of no bytes, which is 0; the next eight tags have a byte more each.
const INT: u8 = 32;

/// What bytes refer to by number.
#[derive(Default)]
pub(crate) struct Dictionary {
    types: Vec<SqlType>,
    labels: Vec<Arc<EnumLabel>>,
    /// Numbers of labels, by their address. They stay there, because `labels` holds them.
    numbers: HashMap<usize, usize>,
}

impl Dictionary {
    fn type_number(&mut self, ty: &SqlType) -> usize {
        if let Some(number) = self.types.iter().position(|known| known == ty) {
            return number;
        }
        self.types.push(ty.clone());
        self.types.len() - 1
    }

    fn label_number(&mut self, label: &Arc<EnumLabel>) -> usize {
        *self.numbers.entry(Arc::as_ptr(label) as usize).or_insert_with(|| {
            self.labels.push(label.clone());
            self.labels.len() - 1
        })
    }
}

/// Appends a row.
pub(crate) fn put_row(out: &mut Vec<u8>, row: &[Datum], names: &mut Dictionary) {
    put_count(out, row.len());
    for datum in row {
        put(out, datum, names);
    }
}

/// Takes the next row off.
pub(crate) fn read_row(rest: &mut &[u8], names: &Dictionary) -> Result<Row> {
    let count = read_count(rest)?;
    // Every datum takes a byte at least.
    if count > rest.len() {
        return Err(damaged());
    }
    let mut row = Row::with_capacity(count);
    for _ in 0..count {
        row.push(read(rest, names)?);
    }
    Ok(row)
}

fn damaged() -> Error {
    Error::internal("a temporary file does not contain what was written to it")
}

fn put(out: &mut Vec<u8>, datum: &Datum, names: &mut Dictionary) {
    let fixed = |out: &mut Vec<u8>, tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match datum {
        Datum::Null => out.push(NULL),
        Datum::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Datum::Int(value) => put_int(out, *value),
        Datum::Float(value) => fixed(out, FLOAT, &value.to_le_bytes()),
        Datum::Uuid(value) => fixed(out, UUID, value),
        Datum::Date(value) => fixed(out, DATE, &value.to_le_bytes()),
        Datum::Time(value) => fixed(out, TIME, &value.to_le_bytes()),
        Datum::Timestamp(value) => fixed(out, TIMESTAMP, &value.to_le_bytes()),
        Datum::Timestamptz(value) => fixed(out, TIMESTAMPTZ, &value.to_le_bytes()),
        Datum::Interval(value) => {
            fixed(out, INTERVAL, &value.months.to_le_bytes());
            out.extend_from_slice(&value.days.to_le_bytes());
            out.extend_from_slice(&value.micros.to_le_bytes());
        }
        Datum::Text(value) => put_bytes(out, TEXT, value.as_bytes()),
        Datum::Citext(value) => put_bytes(out, CITEXT, value.as_bytes()),
        Datum::Bytes(value) => put_bytes(out, BYTES, value),
        Datum::Numeric(_) => put_cell(out, NUMERIC, datum, &SqlType::Numeric(None)),
        Datum::Json(_) => put_cell(out, JSON, datum, &SqlType::Json),
        Datum::Array(array) => put_array(out, array, names),
        Datum::Record(fields) => {
            out.push(RECORD);
            put_row(out, fields, names);
        }
        Datum::Enum(label) => {
            out.push(ENUM);
            put_count(out, names.label_number(label));
        }
        Datum::Range(range) => {
            out.push(RANGE);
            put_range(out, range, names);
        }
        Datum::Multirange(ranges) => {
            out.push(MULTIRANGE);
            put_count(out, ranges.len());
            ranges.iter().for_each(|range| put_range(out, range, names));
        }
    }
}

/// The flags of a range, then its finite bounds.
fn put_range(out: &mut Vec<u8>, range: &Range, names: &mut Dictionary) {
    out.push(range.flags());
    for value in [range.lower_value(), range.upper_value()].into_iter().flatten() {
        put(out, value, names);
    }
}

fn read_range(rest: &mut &[u8], names: &Dictionary) -> Result<Range> {
    let [flags] = take_array::<1>(rest)?;
    let bounds = Range::read_bounds(flags, || read(rest, names))?;
    Ok(bounds.map_or(Range::Empty, |(lower, upper)| Range::Between(lower, upper)))
}

fn read_multirange(rest: &mut &[u8], names: &Dictionary) -> Result<Datum> {
    let count = read_count(rest)?;
    // Every range takes a byte at least.
    if count > rest.len() {
        return Err(damaged());
    }
    let mut ranges = Vec::with_capacity(count);
    for _ in 0..count {
        ranges.push(read_range(rest, names)?);
    }
    Ok(Datum::Multirange(ranges.into()))
}

fn read(rest: &mut &[u8], names: &Dictionary) -> Result<Datum> {
    let [tag] = take_array::<1>(rest)?;
    Ok(match tag {
        NULL => Datum::Null,
        FALSE => Datum::Bool(false),
        TRUE => Datum::Bool(true),
        FLOAT => Datum::Float(f64::from_le_bytes(take_array(rest)?)),
        UUID => Datum::Uuid(take_array(rest)?),
        DATE => Datum::Date(i32::from_le_bytes(take_array(rest)?)),
        TIME => Datum::Time(i64::from_le_bytes(take_array(rest)?)),
        TIMESTAMP => Datum::Timestamp(i64::from_le_bytes(take_array(rest)?)),
        TIMESTAMPTZ => Datum::Timestamptz(i64::from_le_bytes(take_array(rest)?)),
        INTERVAL => Datum::Interval(Interval {
            months: i32::from_le_bytes(take_array(rest)?),
            days: i32::from_le_bytes(take_array(rest)?),
            micros: i64::from_le_bytes(take_array(rest)?),
        }),
        TEXT => {
            let bytes = read_bytes(rest)?;
            Datum::Text(std::str::from_utf8(bytes).map_err(|_| damaged())?.into())
        }
        CITEXT => {
            let bytes = read_bytes(rest)?;
            Datum::Citext(std::str::from_utf8(bytes).map_err(|_| damaged())?.into())
        }
        BYTES => Datum::Bytes(read_bytes(rest)?.into()),
        NUMERIC => cell(read_bytes(rest)?, &SqlType::Numeric(None))?,
        JSON => cell(read_bytes(rest)?, &SqlType::Json)?,
        ARRAY => read_array(rest, names)?,
        RECORD => Datum::Record(read_row(rest, names)?.into()),
        ENUM => {
            let label = names.labels.get(read_count(rest)?);
            Datum::Enum(label.ok_or_else(damaged)?.clone())
        }
        RANGE => Datum::Range(Arc::new(read_range(rest, names)?)),
        MULTIRANGE => read_multirange(rest, names)?,
        tag => Datum::Int(read_int(rest, tag)?),
    })
}

fn put_int(out: &mut Vec<u8>, value: i64) {
    let significant = if value < 0 { !value } else { value } as u64;
    let bits = 64 - significant.leading_zeros() as usize;
    let count = if value == 0 { 0 } else { bits / 8 + 1 };
    out.push(INT + count as u8);
    out.extend(value.to_le_bytes().iter().take(count));
}

fn read_int(rest: &mut &[u8], tag: u8) -> Result<i64> {
    let count = tag.checked_sub(INT).filter(|count| *count <= 8).ok_or_else(damaged)?;
    let bytes = take(rest, usize::from(count))?;
    let Some((&last, low)) = bytes.split_last() else { return Ok(0) };
    // The last byte has the sign.
    let high = i64::from(last as i8);
    Ok(low.iter().rev().fold(high, |value, &byte| value << 8 | i64::from(byte)))
}

fn put_array(out: &mut Vec<u8>, array: &Array, names: &mut Dictionary) {
    out.push(ARRAY);
    put_count(out, names.type_number(&array.element));
    out.extend_from_slice(&array.lower.to_le_bytes());
    put_count(out, array.inner.len());
    for dimension in &array.inner {
        out.extend_from_slice(&dimension.lower.to_le_bytes());
        put_count(out, dimension.length);
    }
    put_row(out, &array.items, names);
}

fn read_array(rest: &mut &[u8], names: &Dictionary) -> Result<Datum> {
    let element = names.types.get(read_count(rest)?).ok_or_else(damaged)?.clone();
    let lower = i32::from_le_bytes(take_array(rest)?);
    let mut inner = Vec::new();
    for _ in 0..read_count(rest)? {
        let lower = i32::from_le_bytes(take_array(rest)?);
        inner.push(Dimension { lower, length: read_count(rest)? });
    }
    let items = read_row(rest, names)?;
    Ok(Datum::Array(Arc::new(Array { inner, ..Array::from_lower(element, lower, items) })))
}

fn put_bytes(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_cell(out: &mut Vec<u8>, tag: u8, datum: &Datum, ty: &SqlType) {
    let mut cell = Vec::new();
    encode_cell(&mut cell, datum, ty);
    put_bytes(out, tag, &cell);
}

fn cell(bytes: &[u8], ty: &SqlType) -> Result<Datum> {
    decode_cell(bytes, ty).map_err(|_| damaged())
}

/// Seven bits a byte, low ones first, the top bit set on all but the last.
fn put_count(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read_count(rest: &mut &[u8]) -> Result<usize> {
    let mut value = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let [byte] = take_array::<1>(rest)?;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged())
}

fn read_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = read_count(rest)?;
    take(rest, count)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count).ok_or_else(damaged)?;
    *rest = left;
    Ok(taken)
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>().ok_or_else(damaged)?;
    *rest = left;
    Ok(*taken)
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use braid_types::{Json, Numeric};

    use super::*;

    fn all() -> Row {
        let label = EnumLabel { oid: 7, order: 9, name: "ok".into(), is_uncommitted: false };
        let label = Arc::new(label);
        let dimension = Dimension { lower: -1, length: 2 };
        let inner = vec![dimension];
        let items = vec![Datum::Int(1), Datum::Null, Datum::Int(3), Datum::Int(4)];
        let array = Array { inner, ..Array::from_lower(SqlType::Int4, 5, items) };
        let record = vec![Datum::text("a "), Datum::Null, Datum::Enum(label.clone())];
        let (low, high) = (Datum::Int(1), Datum::Int(9));
        let range = Range::Between(Bound::Included(low), Bound::Excluded(high.clone()));
        let above = Range::Between(Bound::Excluded(high), Bound::Unbounded);
        let mut row = vec![
            Datum::Range(Arc::new(Range::Empty)),
            Datum::Range(Arc::new(range.clone())),
            Datum::Multirange(vec![range, above].into()),
            Datum::Null,
            Datum::Bool(true),
            Datum::Bool(false),
            Datum::Float(-0.0),
            Datum::Float(f64::NAN),
            Datum::Numeric(Numeric::from_parts(-1200, 3)),
            Datum::Numeric(Numeric::from_parts(i128::MAX, 20)),
            Datum::Numeric(Numeric::NaN),
            Datum::text(""),
            Datum::text("ä  "),
            Datum::bytes(vec![0, 255]),
            Datum::Uuid([9; 16]),
            Datum::Date(i32::MAX),
            Datum::Time(1),
            Datum::Timestamp(i64::MIN),
            Datum::Timestamptz(i64::MAX),
            Datum::Interval(Interval { months: -1, days: 40, micros: i64::MIN }),
            Datum::json(Json::Raw("{\"a\" :1}".into())),
            Datum::json(Json::Array(vec![Json::Null, Json::string("x")])),
            Datum::Array(Arc::new(array)),
            Datum::Enum(label),
            Datum::Record(record.into()),
        ];
        let ints = [0, 1, -1, 127, 128, -128, -129, i64::from(i32::MAX), i64::MAX, i64::MIN];
        row.extend(ints.map(Datum::Int));
        row
    }

    #[test]
    fn every_datum_comes_back_as_it_was() {
        let (mut names, mut bytes) = (Dictionary::default(), Vec::new());
        put_row(&mut bytes, &all(), &mut names);
        put_row(&mut bytes, &[], &mut names);
        put_row(&mut bytes, &all(), &mut names);
        assert_eq!(names.labels.len(), 2, "a label has a number");
        let mut rest = bytes.as_slice();
        for right in [all(), Row::new(), all()] {
            let found = read_row(&mut rest, &names).expect("a row");
            assert_eq!(format!("{found:?}"), format!("{right:?}"));
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn bytes_that_nobody_wrote_are_an_error() {
        let (mut names, mut bytes) = (Dictionary::default(), Vec::new());
        put_row(&mut bytes, &all(), &mut names);
        for end in 0..bytes.len() {
            assert!(read_row(&mut &bytes[..end], &names).is_err(), "{end}");
        }
        for place in 0..bytes.len() {
            for byte in [0, 17, 41, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[place] = byte;
                // It must only not panic.
                let _ = read_row(&mut damaged.as_slice(), &names);
            }
        }
    }
}
