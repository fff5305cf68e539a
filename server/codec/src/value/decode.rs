//! Cell to datum.

use std::sync::Arc;

use braid_types::array::{Array, DIMENSIONS_MAX, Dimension, check_dimensions};
use braid_types::sql_type::RowType;
use braid_types::{Datum, Interval, Range, RangeKind, SqlType, bits};

use super::cell::SEVERAL_DIMENSIONS;
use super::json;
use super::parts::{DEPTH_MAX, cell_i64, cell_str, decode_numeric, read_uvarint, take};
use crate::{Error, Result};

/// Decodes a cell of that type.
pub fn decode_cell(bytes: &[u8], ty: &SqlType) -> Result<Datum> {
    decode_at(bytes, ty, 0)
}

/// The cell of a `jsonb` of which these members alone are wanted, if it is an object. The object
/// that is given has no others.
pub fn decode_members(bytes: &[u8], wanted: &[Box<str>]) -> Result<Datum> {
    Ok(Datum::Json(Arc::new(json::read_members(bytes, wanted)?)))
}

/// The boolean in a cell.
pub fn cell_bool(bytes: &[u8]) -> Result<bool> {
    match bytes {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(Error::corrupt("boolean")),
    }
}

/// The number in a cell of `float4` or `float8`.
pub fn cell_f64(bytes: &[u8]) -> Result<f64> {
    if let Ok(double) = bytes.try_into() {
        return Ok(f64::from_le_bytes(double));
    }
    let single = bytes.try_into().map_err(|_| Error::corrupt("float"))?;
    Ok(f64::from(f32::from_le_bytes(single)))
}

fn decode_at(bytes: &[u8], ty: &SqlType, depth: u32) -> Result<Datum> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    Ok(match ty {
        SqlType::Bool => Datum::Bool(cell_bool(bytes)?),
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Oid
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc
        | SqlType::Regprocedure
        | SqlType::Regoper
        | SqlType::Regoperator
        | SqlType::Regcollation
        | SqlType::Regnamespace
        | SqlType::Regrole
        | SqlType::Regconfig
        | SqlType::Regdictionary
        | SqlType::Xid
        | SqlType::Cid
        | SqlType::Xid8
        | SqlType::Money
        | SqlType::PgLsn => Datum::Int(cell_i64(bytes)?),
        SqlType::Float4 | SqlType::Float8 => Datum::Float(float(bytes, ty)?),
        SqlType::Numeric(_) => Datum::Numeric(decode_numeric(bytes)?),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Aclitem
        | SqlType::Jsonpath
        | SqlType::Snapshot(_)
        | SqlType::Refcursor
        | SqlType::Unknown => Datum::Text(cell_str(bytes)?.into()),
        SqlType::Bit(_) | SqlType::Varbit(_) | SqlType::Citext | SqlType::Hstore => own(bytes, ty)?,
        SqlType::Bytes
        | SqlType::Tid
        | SqlType::Timetz
        | SqlType::Inet
        | SqlType::Cidr
        | SqlType::Macaddr
        | SqlType::Macaddr8
        | SqlType::Geometry(_)
        | SqlType::TsVector
        | SqlType::TsQuery => Datum::Bytes(bytes.into()),
        SqlType::Enum(ty) => {
            let label = ty.label_at(cell_i64(bytes)?).ok_or(Error::corrupt("enum"))?;
            Datum::Enum(label.clone())
        }
        SqlType::Uuid => Datum::Uuid(bytes.try_into().map_err(|_| Error::corrupt("uuid"))?),
        SqlType::Date => Datum::Date(to_i32(cell_i64(bytes)?)?),
        SqlType::Time => Datum::Time(cell_i64(bytes)?),
        SqlType::Timestamp => Datum::Timestamp(cell_i64(bytes)?),
        SqlType::Timestamptz => Datum::Timestamptz(cell_i64(bytes)?),
        SqlType::Interval => Datum::Interval(decode_interval(bytes)?),
        SqlType::Json => Datum::Json(Arc::new(json::read_text(bytes)?)),
        SqlType::Jsonb => Datum::Json(Arc::new(json::read(bytes)?)),
        SqlType::Array(element) => decode_array(bytes, element, depth)?,
        SqlType::Int2Vector => decode_array(bytes, &SqlType::Int2, depth)?,
        SqlType::OidVector => decode_array(bytes, &SqlType::Oid, depth)?,
        SqlType::Record(row) => decode_record(bytes, row, depth)?,
        SqlType::Range(kind) => decode_range(bytes, *kind, depth)?,
        SqlType::Multirange(kind) => decode_multirange(bytes, *kind, depth)?,
        SqlType::Void | SqlType::Any(_) => return Err(Error::corrupt("void")),
    })
}

/// A float, whose length must be that of its type.
fn float(bytes: &[u8], ty: &SqlType) -> Result<f64> {
    let wanted = if *ty == SqlType::Float4 { 4 } else { 8 };
    if bytes.len() == wanted { cell_f64(bytes) } else { Err(Error::corrupt("float")) }
}

/// A value that is held as a text.
fn own(bytes: &[u8], ty: &SqlType) -> Result<Datum> {
    Ok(match ty {
        SqlType::Citext => Datum::Citext(cell_str(bytes)?.into()),
        SqlType::Hstore => Datum::Text(cell_str(bytes)?.into()),
        _ => Datum::text(read_bits(bytes)?),
    })
}

/// What `put_bits` has written.
fn read_bits(bytes: &[u8]) -> Result<String> {
    let corrupt = Error::corrupt("bit string");
    let (&unused, packed) = bytes.split_first().ok_or(corrupt)?;
    let length = (packed.len() * 8).checked_sub(usize::from(unused)).ok_or(corrupt)?;
    Ok(bits::unpack(packed, length))
}

fn check_end(rest: &[u8], what: &'static str) -> Result<()> {
    if rest.is_empty() { Ok(()) } else { Err(Error::corrupt(what)) }
}

/// What `put_range` has written.
fn read_range(rest: &mut &[u8], kind: RangeKind, depth: u32) -> Result<Range> {
    let (&flags, left) = rest.split_first().ok_or(Error::corrupt("range"))?;
    *rest = left;
    let bounds = Range::read_bounds(flags, || {
        let len = read_uvarint(rest)?;
        decode_at(take(rest, len)?, kind.subtype(), depth + 1)
    })?;
    Ok(bounds.map_or(Range::Empty, |(lower, upper)| Range::Between(lower, upper)))
}

fn decode_range(bytes: &[u8], kind: RangeKind, depth: u32) -> Result<Datum> {
    let mut rest = bytes;
    let range = read_range(&mut rest, kind, depth)?;
    check_end(rest, "range")?;
    Ok(Datum::Range(Arc::new(range)))
}

fn decode_multirange(bytes: &[u8], kind: RangeKind, depth: u32) -> Result<Datum> {
    let mut rest = bytes;
    let count = read_uvarint(&mut rest)?;
    // Every range takes a byte at least, which bounds what garbage can ask for.
    if count > rest.len() as u64 {
        return Err(Error::corrupt("multirange"));
    }
    let mut ranges = Vec::with_capacity(count as usize);
    for _ in 0..count {
        ranges.push(read_range(&mut rest, kind, depth)?);
    }
    check_end(rest, "multirange")?;
    Ok(Datum::Multirange(ranges.into()))
}

/// The columns that the type has today: those that came after the row was written are NULL.
fn decode_record(bytes: &[u8], row: &RowType, depth: u32) -> Result<Datum> {
    let mut rest = bytes;
    let count = read_uvarint(&mut rest)?;
    if count > rest.len() as u64 {
        return Err(Error::corrupt("record"));
    }
    let mut numbers = Vec::with_capacity(count as usize);
    for _ in 0..count {
        numbers.push(read_uvarint(&mut rest)?);
    }
    let known = row.attributes();
    let is_same =
        known.iter().map(|attribute| u64::from(attribute.number)).eq(numbers.iter().copied());
    if is_same || numbers.is_empty() || row.name().is_none() {
        let ty = |place: usize| row.get(place).map(|(_, ty)| Some(ty));
        let mut fields = read_items(rest, ty, depth)?;
        if fields.is_empty() {
            fields.resize(row.len(), Datum::Null);
        }
        return Ok(Datum::Record(fields.into()));
    }
    let place_of = |number: u64| known.iter().position(|known| u64::from(known.number) == number);
    let places: Vec<Option<usize>> = numbers.iter().map(|number| place_of(*number)).collect();
    let ty = |item: usize| {
        let place = places.get(item)?;
        Some(place.and_then(|place| row.get(place)).map(|(_, ty)| ty))
    };
    let mut fields = vec![Datum::Null; row.len()];
    for (item, place) in read_items(rest, ty, depth)?.into_iter().zip(&places) {
        if let Some(field) = place.and_then(|place| fields.get_mut(place)) {
            *field = item;
        }
    }
    Ok(Datum::Record(fields.into()))
}

fn decode_array(bytes: &[u8], element: &SqlType, depth: u32) -> Result<Datum> {
    let mut rest = bytes;
    let first = read_uvarint(&mut rest)?;
    let Some(count) = first.checked_sub(SEVERAL_DIMENSIONS) else {
        let items = read_items(rest, |_| Some(Some(element)), depth)?;
        return Ok(Array::from_lower(element.clone(), to_i32(unzigzag(first))?, items).into());
    };
    if !(2..=DIMENSIONS_MAX as u64).contains(&count) {
        return Err(Error::corrupt("array"));
    }
    let mut dimensions = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let lower = to_i32(unzigzag(read_uvarint(&mut rest)?))?;
        let length = read_uvarint(&mut rest)?;
        let length = usize::try_from(length).map_err(|_| Error::corrupt("array"))?;
        dimensions.push(Dimension { lower, length });
    }
    let items = read_items(rest, |_| Some(Some(element)), depth)?;
    if check_dimensions(&dimensions).ok() != Some(items.len()) {
        return Err(Error::corrupt("array"));
    }
    Ok(Array::from_dimensions(element.clone(), &dimensions, items).into())
}

fn to_i32(value: i64) -> Result<i32> {
    i32::try_from(value).map_err(|_| Error::corrupt("integer out of range"))
}

fn decode_interval(bytes: &[u8]) -> Result<Interval> {
    let corrupt = Error::corrupt("interval");
    let (&lengths, rest) = bytes.split_first().ok_or(corrupt)?;
    let (months, rest) = rest.split_at_checked(usize::from(lengths & 0xf)).ok_or(corrupt)?;
    let (days, micros) = rest.split_at_checked(usize::from(lengths >> 4)).ok_or(corrupt)?;
    Ok(Interval {
        months: to_i32(cell_i64(months)?)?,
        days: to_i32(cell_i64(days)?)?,
        micros: cell_i64(micros)?,
    })
}

/// Items of these types. One that has no type any more is passed over as NULL.
fn read_items<'a>(
    mut rest: &[u8],
    ty: impl Fn(usize) -> Option<Option<&'a SqlType>>,
    depth: u32,
) -> Result<Vec<Datum>> {
    let count = read_uvarint(&mut rest)?;
    // Every item takes a byte at least, which bounds what garbage can ask for.
    if count > rest.len() as u64 {
        return Err(Error::corrupt("array"));
    }
    let mut items = Vec::with_capacity(count as usize);
    for place in 0..count as usize {
        let Some(len) = read_uvarint(&mut rest)?.checked_sub(1) else {
            items.push(Datum::Null);
            continue;
        };
        let cell = take(&mut rest, len)?;
        items.push(match ty(place).ok_or(Error::corrupt("record"))? {
            Some(ty) => decode_at(cell, ty, depth + 1)?,
            None => Datum::Null,
        });
    }
    check_end(rest, "array")?;
    Ok(items)
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
