//! Key bytes to datum.

use std::ops::Bound;
use std::sync::Arc;

use bigdecimal::num_bigint::BigInt;
use braid_types::array::{Array, DIMENSIONS_MAX, Dimension, check_dimensions};
use braid_types::{Datum, EnumType, Interval, Numeric, Range, RangeKind, SqlType};

use super::parts::{
    BOUND_FIRST, BOUND_SECOND, DAY_MICROS, DEPTH_MAX, INTERVAL_BIAS, MONTH_DAYS, read_int,
};
use super::reader::Reader;
use super::{json, numeric, tag};
use crate::numeric::finite;
use crate::{Error, Result};

/// Reads a column off the front of a key. What [`super::is_exact`] denies comes back as one of the
/// values that are equal to what was written.
pub fn decode(input: &mut &[u8], ty: &SqlType, descending: bool) -> Result<Datum> {
    let mut reader = Reader::new(input, descending);
    let datum = read(&mut reader, ty, 0)?;
    *input = reader.rest();
    Ok(datum)
}

/// Reads a column of integers, dates or times off the front of a key; `None` is NULL.
#[inline]
pub fn decode_int(input: &mut &[u8], descending: bool) -> Result<Option<i64>> {
    let mut reader = Reader::new(input, descending);
    let value = match reader.byte()? {
        tag::NULL => None,
        tag => Some(read_int(&mut reader, tag)?),
    };
    *input = reader.rest();
    Ok(value)
}

/// Passes over a column at the front of a key.
pub fn skip(input: &mut &[u8], _ty: &SqlType, descending: bool) -> Result<()> {
    let mut reader = Reader::new(input, descending);
    skip_any(&mut reader, 0)?;
    *input = reader.rest();
    Ok(())
}

pub(super) fn read(reader: &mut Reader<'_>, ty: &SqlType, depth: u32) -> Result<Datum> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    let tag = reader.byte()?;
    if tag == tag::NULL {
        return Ok(Datum::Null);
    }
    match ty {
        SqlType::Array(element) => read_array(reader, tag, element, depth),
        SqlType::Int2Vector => read_array(reader, tag, &SqlType::Int2, depth),
        SqlType::OidVector => read_array(reader, tag, &SqlType::Oid, depth),
        SqlType::Record(fields) => {
            expect(tag, tag::RECORD, "record")?;
            let types = fields.iter().map(|(_, ty)| ty);
            let items = types.map(|ty| read(reader, ty, depth + 1)).collect::<Result<Vec<_>>>()?;
            expect(reader.byte()?, tag::END, "record")?;
            Ok(Datum::Record(items.into()))
        }
        SqlType::Range(kind) => {
            expect(tag, tag::RECORD, "range")?;
            Ok(Datum::Range(Arc::new(read_range(reader, *kind, depth)?)))
        }
        SqlType::Multirange(kind) => {
            expect(tag, tag::RECORD, "multirange")?;
            let mut ranges = Vec::new();
            while reader.peek() != Some(tag::END) {
                expect(reader.byte()?, tag::RECORD, "multirange")?;
                ranges.push(read_range(reader, *kind, depth)?);
            }
            reader.byte()?;
            Ok(Datum::Multirange(ranges.into()))
        }
        scalar => read_scalar(reader, tag, scalar, depth),
    }
}

/// The rest of a range after its tag.
fn read_range(reader: &mut Reader<'_>, kind: RangeKind, depth: u32) -> Result<Range> {
    if reader.peek() == Some(tag::END) {
        reader.byte()?;
        return Ok(Range::Empty);
    }
    let lower = read_bound(reader, kind, (BOUND_SECOND, BOUND_FIRST), depth)?;
    let upper = read_bound(reader, kind, (BOUND_FIRST, BOUND_SECOND), depth)?;
    expect(reader.byte()?, tag::END, "range")?;
    Ok(Range::Between(lower, upper))
}

/// A bound, for which one number says that it is finite and another one that it is inclusive.
fn read_bound(
    reader: &mut Reader<'_>,
    kind: RangeKind,
    (finite, inclusive): (i64, i64),
    depth: u32,
) -> Result<Bound<Datum>> {
    if read_number(reader)? != finite {
        return Ok(Bound::Unbounded);
    }
    let value = read(reader, kind.subtype(), depth + 1)?;
    if value.is_null() {
        return Err(Error::corrupt("range"));
    }
    let is_inclusive = read_number(reader)? == inclusive;
    Ok(if is_inclusive { Bound::Included(value) } else { Bound::Excluded(value) })
}

fn read_number(reader: &mut Reader<'_>) -> Result<i64> {
    let tag = reader.byte()?;
    read_int(reader, tag)
}

fn read_moment(reader: &mut Reader<'_>, tag: u8, ty: &SqlType) -> Result<Datum> {
    let micros = read_int(reader, tag)?;
    Ok(match ty {
        SqlType::Timestamptz => Datum::Timestamptz(micros),
        _ => Datum::Timestamp(micros),
    })
}

fn read_scalar(reader: &mut Reader<'_>, tag: u8, ty: &SqlType, depth: u32) -> Result<Datum> {
    match ty {
        SqlType::Bool => match tag {
            tag::FALSE => Ok(Datum::Bool(false)),
            tag::TRUE => Ok(Datum::Bool(true)),
            _ => Err(Error::corrupt("boolean")),
        },
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Xid
        | SqlType::Cid
        | SqlType::Xid8
        | SqlType::Money
        | SqlType::PgLsn => read_int(reader, tag).map(Datum::Int),
        ty if ty.is_oid() => read_int(reader, tag).map(Datum::Int),
        SqlType::Time => read_int(reader, tag).map(Datum::Time),
        SqlType::Timestamp | SqlType::Timestamptz => read_moment(reader, tag, ty),
        SqlType::Date => read_date(reader, tag),
        SqlType::Float4 | SqlType::Float8 => {
            expect(tag, tag::FLOAT, "float")?;
            Ok(Datum::Float(float_from_bits(u64::from_be_bytes(reader.array()?))))
        }
        SqlType::Numeric(modifier) => {
            let value = numeric::read(reader, tag)?;
            with_scale(value, *modifier).map(Datum::Numeric)
        }
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Aclitem
        | SqlType::Jsonpath
        | SqlType::Snapshot(_)
        | SqlType::Refcursor
        | SqlType::Bit(_)
        | SqlType::Varbit(_)
        | SqlType::Citext
        | SqlType::Hstore
        | SqlType::Unknown => {
            expect(tag, tag::TEXT, "text")?;
            read_text(reader, ty)
        }
        SqlType::Bytes
        | SqlType::Tid
        | SqlType::Timetz
        | SqlType::Inet
        | SqlType::Cidr
        | SqlType::Macaddr
        | SqlType::Macaddr8
        | SqlType::TsVector
        | SqlType::TsQuery => {
            expect(tag, tag::BYTES, "bytea")?;
            Ok(Datum::Bytes(reader.escaped()?.into()))
        }
        SqlType::Enum(ty) => read_enum(reader, tag, ty),
        SqlType::Uuid => {
            expect(tag, tag::UUID, "uuid")?;
            Ok(Datum::Uuid(reader.array()?))
        }
        SqlType::Interval => {
            expect(tag, tag::INTERVAL, "interval")?;
            read_interval(reader)
        }
        SqlType::Json | SqlType::Jsonb => json::read(reader, tag, depth).map(Datum::json),
        _ => Err(Error::corrupt("type")),
    }
}

fn read_enum(reader: &mut Reader<'_>, tag: u8, ty: &EnumType) -> Result<Datum> {
    let label = ty.label_at(read_int(reader, tag)?).ok_or(Error::corrupt("enum"))?;
    Ok(Datum::Enum(label.clone()))
}

fn read_date(reader: &mut Reader<'_>, tag: u8) -> Result<Datum> {
    let days = i32::try_from(read_int(reader, tag)?);
    days.map(Datum::Date).map_err(|_| Error::corrupt("date"))
}

fn expect(found: u8, wanted: u8, what: &'static str) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(Error::corrupt(what)) }
}

fn float_from_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

fn read_text(reader: &mut Reader<'_>, ty: &SqlType) -> Result<Datum> {
    let bytes = reader.escaped()?;
    let mut text = String::from_utf8(bytes).map_err(|_| Error::corrupt("text"))?;
    if let SqlType::Char(length) = ty {
        let missing = (*length as usize).saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n(' ', missing));
    }
    if *ty == SqlType::Citext {
        return Ok(Datum::Citext(text.into()));
    }
    Ok(Datum::Text(text.into()))
}

/// A `numeric(p, s)` shows s decimals.
fn with_scale(value: Numeric, modifier: Option<(u16, i16)>) -> Result<Numeric> {
    let Some(wanted) = modifier.and_then(|(_, scale)| u16::try_from(scale).ok()) else {
        return Ok(value);
    };
    match value.parts() {
        Some((coefficient, scale)) if scale < wanted => {
            finite(coefficient * BigInt::from(10u8).pow(u32::from(wanted - scale)), wanted)
        }
        _ => Ok(value),
    }
}

fn read_interval(reader: &mut Reader<'_>) -> Result<Datum> {
    let mut wide = [0; 16];
    wide[6..].copy_from_slice(&reader.array::<10>()?);
    let micros = i128::from_be_bytes(wide) - INTERVAL_BIAS;
    let (days, micros) = (micros / DAY_MICROS, micros % DAY_MICROS);
    let (months, days) = (days / MONTH_DAYS, days % MONTH_DAYS);
    // More months than an interval holds come from days and microseconds beside them.
    let kept = months.clamp(i128::from(i32::MIN), i128::from(i32::MAX));
    let days = days + (months - kept) * MONTH_DAYS;
    let kept_days = days.clamp(i128::from(i32::MIN), i128::from(i32::MAX));
    let micros = micros + (days - kept_days) * DAY_MICROS;
    let corrupt = |_| Error::corrupt("interval");
    Ok(Datum::Interval(Interval {
        months: i32::try_from(kept).map_err(corrupt)?,
        days: i32::try_from(kept_days).map_err(corrupt)?,
        micros: i64::try_from(micros).map_err(corrupt)?,
    }))
}

fn read_array(reader: &mut Reader<'_>, tag: u8, element: &SqlType, depth: u32) -> Result<Datum> {
    expect(tag, tag::ARRAY, "array")?;
    let mut items = Vec::new();
    while reader.peek() != Some(tag::END) {
        items.push(read(reader, element, depth + 1)?);
    }
    reader.byte()?;
    let tag = reader.byte()?;
    let dimensions = if tag == tag::RECORD {
        read_dimensions(reader)?
    } else {
        let lower = i32::try_from(read_int(reader, tag)?).map_err(|_| Error::corrupt("array"))?;
        return Ok(Array::from_lower(element.clone(), lower, items).into());
    };
    if check_dimensions(&dimensions).ok() != Some(items.len()) {
        return Err(Error::corrupt("array"));
    }
    Ok(Array::from_dimensions(element.clone(), &dimensions, items).into())
}

/// The dimensions of an array that has several.
fn read_dimensions(reader: &mut Reader<'_>) -> Result<Vec<Dimension>> {
    let mut number = || read_number(reader);
    let count = usize::try_from(number()?).map_err(|_| Error::corrupt("array"))?;
    if !(2..=DIMENSIONS_MAX).contains(&count) {
        return Err(Error::corrupt("array"));
    }
    let mut dimensions = vec![Dimension { lower: 1, length: 0 }; count];
    for dimension in &mut dimensions {
        dimension.length = usize::try_from(number()?).map_err(|_| Error::corrupt("array"))?;
    }
    for dimension in &mut dimensions {
        dimension.lower = i32::try_from(number()?).map_err(|_| Error::corrupt("array"))?;
    }
    expect(reader.byte()?, tag::END, "array")?;
    Ok(dimensions)
}

/// The tag is enough to find the end.
pub(super) fn skip_any(reader: &mut Reader<'_>, depth: u32) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    let tag = reader.byte()?;
    match tag {
        tag::NULL | tag::FALSE | tag::TRUE => Ok(()),
        tag::INT_MIN..tag::INT_ZERO => reader.skip(usize::from(tag::INT_ZERO - tag)),
        tag::INT_ZERO..=tag::INT_SMALL_MAX => Ok(()),
        tag::INT_ONE_BYTE..=tag::INT_MAX => reader.skip(usize::from(tag - tag::INT_SMALL_MAX)),
        tag::FLOAT => reader.skip(8),
        tag::TEXT | tag::BYTES | tag::JSON_TEXT => reader.skip_escaped(),
        tag::UUID => reader.skip(16),
        tag::NUMERIC_NEG_INFINITY..=tag::NUMERIC_NAN => numeric::skip(reader, tag),
        tag::INTERVAL => reader.skip(10),
        tag::ARRAY | tag::RECORD => {
            while reader.peek() != Some(tag::END) {
                skip_any(reader, depth + 1)?;
            }
            reader.byte()?;
            if tag == tag::ARRAY { skip_any(reader, depth + 1) } else { Ok(()) }
        }
        tag::JSONB => json::skip(reader, depth),
        _ => Err(Error::corrupt("tag")),
    }
}
