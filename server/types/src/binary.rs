//! PostgreSQL's binary format for parameters, results and COPY.
//!
//! Here: every type's bytes, without the length before them. Not here: the messages (`wire`).
//!
//! Rule: `decode(encode(d)) == d`; no bytes panic, what is malformed is 22P03.

use std::sync::Arc;

use bigdecimal::num_bigint::{BigInt, Sign};

use crate::array::{self, Array, DIMENSIONS_MAX, Dimension};
use crate::datetime::typmod::apply_to_row;
use crate::net::Inet;
use crate::numeric::rounding;
use crate::range::{Range, RangeKind, normalized};
use crate::scratch::Scratch;
use crate::snapshot::Snapshot;
use crate::sql_type::{RowType, range_subtype};
use crate::timetz::TimeTz;
use crate::{
    Datum, Error, Interval, Json, JsonPath, Numeric, Result, SqlState, SqlType, bits, geometry,
    hstore, mac, search, unsigned, work,
};

fn malformed() -> Error {
    Error::new(SqlState::InvalidBinaryRepresentation, "incorrect binary data format")
}

/// Numbers of types from here on differ from database to database.
const BUILT_IN_END: u32 = 10_000;

/// Whether a value says that it has another type than the one expected. Only the numbers of
/// built-in types are sure, so a domain may be sent for its base type and the other way round.
fn is_mismatch(sent: u32, expected: u32) -> bool {
    sent != expected && sent < BUILT_IN_END && expected < BUILT_IN_END
}

/// 42804 for such a value; `what` names the number that was sent.
fn mismatch(what: &str, sent: u32, expected: &SqlType) -> Error {
    let sent_type = SqlType::from_oid(sent);
    let none = if sent == 0 { "-" } else { "???" };
    let sent_name = sent_type.as_ref().map_or(none, |ty| ty.plain_name());
    let (oid, name) = (expected.oid(), expected.plain_name());
    Error::new(
        SqlState::DatatypeMismatch,
        format!("binary data has {what} {sent} ({sent_name}) instead of expected {oid} ({name})"),
    )
}

/// Reads big-endian fields from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length).ok_or_else(|| {
            Error::new(SqlState::ProtocolViolation, "insufficient data left in message")
        })?;
        self.0 = rest;
        Ok(head)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| malformed())
    }

    fn i16(&mut self) -> Result<i16> {
        self.fixed().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32> {
        self.fixed().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64> {
        self.fixed().map(i64::from_be_bytes)
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| invalid_utf8(&bytes[error.valid_up_to()..]))?;
    match text.find('\0') {
        Some(at) => Err(invalid_utf8(&bytes[at..])),
        None => Ok(text),
    }
}

/// 22021 for bytes that begin with something that is no text. PostgreSQL shows as many of them as
/// the first one announces.
pub fn invalid_utf8(rest: &[u8]) -> Error {
    let announced = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> =
        rest.iter().take(announced).map(|byte| format!("0x{byte:02x}")).collect();
    Error::new(
        SqlState::CharacterNotInRepertoire,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}

/// Decodes a parameter; 22P03 if its bytes are not of that type.
pub fn decode(ty: &SqlType, bytes: &[u8]) -> Result<Datum> {
    let mut reader = Reader(bytes);
    let datum = decode_value(ty, &mut reader)?;
    if reader.0.is_empty() { Ok(datum) } else { Err(malformed()) }
}

fn decode_value(ty: &SqlType, reader: &mut Reader<'_>) -> Result<Datum> {
    let rest = |reader: &mut Reader<'_>| std::mem::take(&mut reader.0).to_vec();
    Ok(match ty {
        SqlType::Bool => Datum::Bool(reader.fixed::<1>()?[0] != 0),
        SqlType::Int2 => Datum::Int(reader.i16()?.into()),
        SqlType::Int4 => Datum::Int(reader.i32()?.into()),
        SqlType::Int8 => Datum::Int(reader.i64()?),
        SqlType::Oid
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc
        | SqlType::Regprocedure
        | SqlType::Regoper
        | SqlType::Regoperator
        | SqlType::Regcollation
        | SqlType::Regnamespace
        | SqlType::Regrole => Datum::Int(u32::from_be_bytes(reader.fixed()?).into()),
        SqlType::Float4 => Datum::Float(f32::from_be_bytes(reader.fixed()?).into()),
        SqlType::Float8 => Datum::Float(f64::from_be_bytes(reader.fixed()?)),
        SqlType::Numeric(modifier) => {
            let number = decode_numeric(reader)?;
            Datum::Numeric(match modifier {
                Some((precision, scale)) => rounding::apply_typmod(&number, *precision, *scale)?,
                None => number,
            })
        }
        SqlType::Text
        | SqlType::Refcursor
        | SqlType::Unknown
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name => {
            let bytes = rest(reader);
            Datum::Text(crate::text::apply_length(ty, utf8(&bytes)?, false)?)
        }
        SqlType::Citext => Datum::Citext(utf8(&rest(reader))?.into()),
        SqlType::Bit(_) | SqlType::Varbit(_) => bits::decode(ty, &rest(reader))?,
        SqlType::Hstore => hstore::decode(&rest(reader))?,
        SqlType::InternalChar => {
            let byte = reader.fixed::<1>()?[0];
            Datum::text(if byte == 0 { String::new() } else { char::from(byte).to_string() })
        }
        SqlType::Bytes => Datum::Bytes(rest(reader).into()),
        SqlType::Uuid => Datum::Uuid(reader.fixed()?),
        SqlType::Date => Datum::Date(decode_date(reader)?),
        SqlType::Time => {
            let micros = reader.i64()?;
            if !(0..=86_400_000_000).contains(&micros) {
                return Err(Error::new(SqlState::DatetimeFieldOverflow, "time out of range"));
            }
            Datum::Time(micros)
        }
        SqlType::Timestamp => Datum::Timestamp(decode_timestamp(reader)?),
        SqlType::Timestamptz => Datum::Timestamptz(decode_timestamp(reader)?),
        SqlType::Interval => {
            let (micros, days, months) = (reader.i64()?, reader.i32()?, reader.i32()?);
            Datum::Interval(Interval { months, days, micros })
        }
        SqlType::Json => Datum::Json(Arc::new(Json::parse_raw(utf8(&rest(reader))?)?)),
        SqlType::Jsonb => Datum::json(Json::parse(versioned("jsonb", reader)?)?),
        SqlType::Jsonpath => Datum::text(JsonPath::parse(versioned("jsonpath", reader)?)?.print()),
        SqlType::Array(element) => Datum::Array(Arc::new(decode_array(element, reader)?)),
        SqlType::Record(fields) => decode_record(fields, reader)?,
        SqlType::Enum(ty) => Datum::Enum(ty.parse(utf8(&rest(reader))?)?),
        SqlType::Void | SqlType::Any(_) => Datum::text(""),
        SqlType::Range(kind) => Datum::Range(Arc::new(decode_range(*kind, reader)?)),
        SqlType::Multirange(kind) => Datum::Multirange(decode_multirange(*kind, reader)?.into()),
        _ => decode_system(ty, reader)?,
    })
}

/// The text behind the byte that numbers the version of a type's format.
fn versioned<'a>(name: &str, reader: &mut Reader<'a>) -> Result<&'a str> {
    let version = reader.fixed::<1>()?[0];
    if version != 1 {
        let message = format!("unsupported {name} version number {version}");
        return Err(Error::new(SqlState::InternalError, message));
    }
    utf8(std::mem::take(&mut reader.0))
}

fn decode_date(reader: &mut Reader<'_>) -> Result<i32> {
    let days = reader.i32()?;
    let finite = (crate::datetime::DATE_MIN..crate::datetime::DATE_END).contains(&days);
    if finite || days == i32::MAX || days == i32::MIN {
        return Ok(days);
    }
    Err(Error::new(SqlState::DatetimeFieldOverflow, "date out of range"))
}

fn decode_timestamp(reader: &mut Reader<'_>) -> Result<i64> {
    let micros = reader.i64()?;
    if crate::datetime::is_infinite(micros) || crate::datetime::timestamp_in_range(micros) {
        return Ok(micros);
    }
    Err(Error::new(SqlState::DatetimeFieldOverflow, "timestamp out of range"))
}

const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xc000;
const NUMERIC_INFINITY: u16 = 0xd000;
const NUMERIC_NEG_INFINITY: u16 = 0xf000;

fn decode_numeric(reader: &mut Reader<'_>) -> Result<Numeric> {
    let invalid = |what: &str| {
        Error::new(
            SqlState::InvalidBinaryRepresentation,
            format!("invalid {what} in external \"numeric\" value"),
        )
    };
    let groups = u16::from_be_bytes(reader.fixed()?);
    let weight = i64::from(reader.i16()?);
    let sign = u16::from_be_bytes(reader.fixed()?);
    let scale = u16::from_be_bytes(reader.fixed()?);
    match sign {
        NUMERIC_NAN => return Ok(Numeric::NaN),
        NUMERIC_INFINITY => return Ok(Numeric::Infinity),
        NUMERIC_NEG_INFINITY => return Ok(Numeric::NegInfinity),
        0 | NUMERIC_NEGATIVE => {}
        _ => return Err(invalid("sign")),
    }
    if scale > 16_383 {
        return Err(invalid("scale"));
    }
    let mut text = String::with_capacity(usize::from(groups) * 4 + 16);
    if sign == NUMERIC_NEGATIVE {
        text.push('-');
    }
    text.push('0');
    for _ in 0..groups {
        let group = reader.i16()?;
        if !(0..10_000).contains(&group) {
            return Err(invalid("digit"));
        }
        text.push_str(&format!("{group:04}"));
    }
    // Digits beyond the scale go before parsing: the last group may reach beyond its limit.
    let mut exponent = (weight + 1 - i64::from(groups)) * 4;
    let beyond = (-exponent - i64::from(scale)).clamp(0, i64::from(groups) * 4);
    text.truncate(text.len() - beyond as usize);
    exponent += beyond;
    if beyond == i64::from(groups) * 4 {
        exponent = 0;
    }
    let value = Numeric::parse(&format!("{text}e{exponent}"))?;
    // Digits beyond the display scale are cut, missing ones are zeros.
    rounding::trunc_to_scale(&value, scale)
}

fn decode_array(element: &SqlType, reader: &mut Reader<'_>) -> Result<Array> {
    let dimensions = reader.i32()?;
    let _has_nulls = reader.i32()?;
    let oid = u32::from_be_bytes(reader.fixed()?);
    if is_mismatch(oid, element.oid()) {
        return Err(mismatch("array element type", oid, element));
    }
    let count = usize::try_from(dimensions).map_err(|_| {
        let message = format!("invalid number of dimensions: {dimensions}");
        Error::new(SqlState::InvalidBinaryRepresentation, message)
    })?;
    let mut dimensions = Vec::with_capacity(count.min(DIMENSIONS_MAX));
    for _ in 0..count {
        if dimensions.len() == DIMENSIONS_MAX {
            break;
        }
        let (length, lower) = (reader.i32()?, reader.i32()?);
        let length = usize::try_from(length).map_err(|_| array::too_many_items())?;
        dimensions.push(Dimension { lower, length });
    }
    if count > DIMENSIONS_MAX {
        return Err(array::too_many_dimensions(count));
    }
    let length = array::check_dimensions(&dimensions)?;
    let (mut items, mut scratch) = (Vec::new(), Scratch::default());
    for _ in 0..length {
        work::tick()?;
        items.push(scratch.keep(decode_field(element, reader)?)?);
    }
    Ok(Array::from_dimensions(element.clone(), &dimensions, items))
}

/// A byte of flags, then each finite bound with its length.
fn decode_range(kind: RangeKind, reader: &mut Reader<'_>) -> Result<Range> {
    let [flags] = reader.fixed::<1>()?;
    let bounds = Range::read_bounds(flags, || {
        let length = usize::try_from(reader.i32()?).map_err(|_| malformed())?;
        decode(kind.subtype(), reader.take(length)?)
    })?;
    bounds.map_or(Ok(Range::Empty), |(lower, upper)| Range::new(kind, lower, upper))
}

/// A number, then each range with its length.
fn decode_multirange(kind: RangeKind, reader: &mut Reader<'_>) -> Result<Vec<Range>> {
    let count = u32::from_be_bytes(reader.fixed()?);
    let (mut ranges, mut scratch) = (Vec::new(), Scratch::default());
    for _ in 0..count {
        work::tick()?;
        let length = usize::try_from(reader.i32()?).map_err(|_| malformed())?;
        let mut own = Reader(reader.take(length)?);
        let range = decode_range(kind, &mut own)?;
        if !own.0.is_empty() {
            return Err(malformed());
        }
        scratch.add(range.size_bytes())?;
        ranges.push(range);
    }
    normalized(ranges)
}

/// The types of the catalog and of system columns.
fn decode_system(ty: &SqlType, reader: &mut Reader<'_>) -> Result<Datum> {
    Ok(match ty {
        SqlType::Int2Vector => decode_vector(&SqlType::Int2, "int2vector", reader)?,
        SqlType::OidVector => decode_vector(&SqlType::Oid, "oidvector", reader)?,
        SqlType::Xid8 | SqlType::PgLsn => unsigned::to_datum(u64::from_be_bytes(reader.fixed()?)),
        SqlType::Money => Datum::Int(reader.i64()?),
        SqlType::Snapshot(_) => {
            Datum::text(Snapshot::decode(std::mem::take(&mut reader.0))?.print())
        }
        SqlType::Geometry(shape) => {
            let bytes = geometry::decode(*shape, std::mem::take(&mut reader.0))?;
            Datum::bytes(bytes.ok_or_else(malformed)?)
        }
        SqlType::Tid => Datum::bytes(rest_of_tid(reader)?),
        SqlType::Timetz => TimeTz::decode(reader.i64()?, reader.i32()?)?.to_datum(),
        SqlType::Inet | SqlType::Cidr => {
            Inet::decode(ty, std::mem::take(&mut reader.0))?.to_datum()
        }
        SqlType::Macaddr => Datum::bytes(reader.fixed::<6>()?),
        // A `macaddr` may be sent for it.
        SqlType::Macaddr8 if reader.0.len() == 6 => {
            Datum::bytes(mac::to_eight(&reader.fixed::<6>()?))
        }
        SqlType::Macaddr8 => Datum::bytes(reader.fixed::<8>()?),
        SqlType::TsVector => search::decode_vector(std::mem::take(&mut reader.0))?,
        SqlType::TsQuery => search::decode_query(std::mem::take(&mut reader.0))?,
        SqlType::Aclitem => {
            let message = "no binary input function available for type aclitem";
            return Err(Error::new(SqlState::UndefinedFunction, message));
        }
        _ => Datum::Int(u32::from_be_bytes(reader.fixed()?).into()),
    })
}

/// A vector always has one dimension, which begins at 0, and no NULL.
fn decode_vector(element: &SqlType, name: &str, reader: &mut Reader<'_>) -> Result<Datum> {
    let invalid =
        || Error::new(SqlState::InvalidBinaryRepresentation, format!("invalid {name} data"));
    let mut array = decode_array(element, reader)?;
    if !array.inner.is_empty() {
        return Err(invalid());
    }
    if array.items.iter().any(Datum::is_null) || (array.lower != 0 && !array.items.is_empty()) {
        return Err(invalid());
    }
    array.lower = 0;
    Ok(Datum::Array(Arc::new(array)))
}

/// A tid has six bytes or more: see [`crate::tid`].
fn rest_of_tid<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let bytes = std::mem::take(&mut reader.0);
    if bytes.len() < 6 || (bytes.len() > 6 && bytes.starts_with(&[0])) {
        return Err(malformed());
    }
    Ok(bytes)
}

/// A value with its length before it; -1 is NULL.
fn decode_field(ty: &SqlType, reader: &mut Reader<'_>) -> Result<Datum> {
    match reader.i32()? {
        -1 => Ok(Datum::Null),
        length => {
            let length = usize::try_from(length).map_err(|_| malformed())?;
            decode(ty, reader.take(length)?)
        }
    }
}

fn decode_record(fields: &RowType, reader: &mut Reader<'_>) -> Result<Datum> {
    let count = reader.i32()?;
    if fields.is_any_row() {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            "input of anonymous composite types is not implemented",
        ));
    }
    if usize::try_from(count).ok() != Some(fields.len()) {
        return Err(Error::new(
            SqlState::DatatypeMismatch,
            format!("wrong number of columns: {count}, expected {}", fields.len()),
        ));
    }
    let mut values = Vec::with_capacity(fields.len());
    for (place, (_, ty)) in fields.iter().enumerate() {
        let oid = u32::from_be_bytes(reader.fixed()?);
        if is_mismatch(oid, fields.type_oid(place)) && is_mismatch(oid, ty.oid()) {
            let error = mismatch("type", oid, ty);
            let message = format!("{} in record column {}", error.message(), place + 1);
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        values.push(decode_field(ty, reader)?);
    }
    Ok(Datum::Record(apply_to_row(fields, values).into()))
}

/// Appends the binary form of a value that is held as a text and is none. False for texts.
fn encode_held(ty: &SqlType, value: &str, out: &mut Vec<u8>) -> bool {
    match ty {
        SqlType::Hstore => hstore::encode(value, out),
        SqlType::Snapshot(_) => Snapshot::encode(value, out),
        ty if bits::is_bits(ty) => bits::encode(value, out),
        _ => return false,
    }
    true
}

/// Appends the binary form of a datum that is not NULL (no length prefix).
pub fn encode(ty: &SqlType, datum: &Datum, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(u8::from(*value)),
        Datum::Int(value) => match ty {
            SqlType::Int2 => out.extend_from_slice(&(*value as i16).to_be_bytes()),
            SqlType::Int8 | SqlType::Money => out.extend_from_slice(&value.to_be_bytes()),
            SqlType::Xid8 | SqlType::PgLsn => {
                out.extend_from_slice(&unsigned::from_int(*value).to_be_bytes());
            }
            // `integer` and the oids: the low four bytes.
            _ => out.extend_from_slice(&(*value as u32).to_be_bytes()),
        },
        Datum::Float(value) if *ty == SqlType::Float4 => {
            out.extend_from_slice(&(*value as f32).to_be_bytes());
        }
        Datum::Float(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Numeric(value) => encode_numeric(value, out),
        Datum::Text(value) if *ty == SqlType::InternalChar => {
            out.push(value.chars().next().map_or(0, |c| u32::from(c) as u8));
        }
        Datum::Text(value) if encode_held(ty, value, out) => {}
        Datum::Text(value) | Datum::Citext(value) => {
            out.extend((*ty == SqlType::Jsonpath).then_some(1));
            out.extend_from_slice(value.as_bytes());
        }
        Datum::Bytes(value) if matches!(ty, SqlType::Inet | SqlType::Cidr) => {
            if let Some(inet) = Inet::from_bytes(value) {
                inet.encode(ty, out);
            }
        }
        Datum::Bytes(value) if *ty == SqlType::Timetz => {
            if let Some(time) = TimeTz::from_bytes(value) {
                out.extend_from_slice(&time.micros.to_be_bytes());
                out.extend_from_slice(&time.west.to_be_bytes());
            }
        }
        Datum::Bytes(value) if *ty == SqlType::TsVector => search::encode_vector(value, out),
        Datum::Bytes(value) if *ty == SqlType::TsQuery => search::encode_query(value, out),
        Datum::Bytes(value) => out.extend_from_slice(value),
        Datum::Uuid(value) => out.extend_from_slice(value),
        Datum::Enum(label) => out.extend_from_slice(label.name.as_bytes()),
        Datum::Date(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => {
            out.extend_from_slice(&value.to_be_bytes());
        }
        Datum::Interval(value) => {
            out.extend_from_slice(&value.micros.to_be_bytes());
            out.extend_from_slice(&value.days.to_be_bytes());
            out.extend_from_slice(&value.months.to_be_bytes());
        }
        Datum::Json(value) => {
            if *ty == SqlType::Jsonb {
                out.push(1);
            }
            value.write_text(out);
        }
        Datum::Array(array) => encode_array(ty, array, out),
        Datum::Record(fields) => encode_record(ty, fields, out),
        Datum::Range(value) => encode_range(ty, value, out),
        Datum::Multirange(ranges) => {
            out.extend_from_slice(&(ranges.len() as i32).to_be_bytes());
            for range in ranges.iter() {
                work::note(1);
                with_length(out, |out| encode_range(ty, range, out));
            }
        }
    }
}

fn encode_record(ty: &SqlType, fields: &[Datum], out: &mut Vec<u8>) {
    let unknown = RowType::unknown();
    let types = if let SqlType::Record(types) = ty { types } else { &unknown };
    out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
    for (at, field) in fields.iter().enumerate() {
        let ty = types.get(at).map_or(&SqlType::Unknown, |(_, ty)| ty);
        out.extend_from_slice(&types.type_oid(at).to_be_bytes());
        encode_field(ty, field, out);
    }
}

/// Appends a range of that type, or of a multirange of that type.
fn encode_range(ty: &SqlType, value: &Range, out: &mut Vec<u8>) {
    let subtype = range_subtype(ty).unwrap_or(&SqlType::Unknown);
    out.push(value.flags());
    for bound in [value.lower_value(), value.upper_value()].into_iter().flatten() {
        encode_field(subtype, bound, out);
    }
}

/// Appends what a closure appends, with its length before it.
fn with_length(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a length and the value, or -1 for NULL.
fn encode_field(ty: &SqlType, datum: &Datum, out: &mut Vec<u8>) {
    if datum.is_null() {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return;
    }
    with_length(out, |out| encode(ty, datum, out));
}

fn encode_array(ty: &SqlType, array: &Array, out: &mut Vec<u8>) {
    let has_nulls = array.items.iter().any(Datum::is_null);
    // An empty vector has its dimension, an empty array none.
    let dimensions = match array.dimensions() {
        none if none.is_empty() && ty.is_vector() => vec![Dimension { lower: 0, length: 0 }],
        dimensions => dimensions,
    };
    out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(has_nulls).to_be_bytes());
    out.extend_from_slice(&array.element.oid().to_be_bytes());
    for dimension in &dimensions {
        out.extend_from_slice(&(dimension.length as i32).to_be_bytes());
        out.extend_from_slice(&dimension.lower.to_be_bytes());
    }
    for item in &array.items {
        work::note(1);
        encode_field(&array.element, item, out);
    }
}

fn encode_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let special = match value {
        Numeric::NaN => Some((NUMERIC_NAN, 0u16)),
        Numeric::Infinity => Some((NUMERIC_INFINITY, 0x20)),
        Numeric::NegInfinity => Some((NUMERIC_NEG_INFINITY, 0x20)),
        _ => None,
    };
    let mut header = |groups: u16, weight: i16, sign: u16, scale: u16| {
        out.extend_from_slice(&groups.to_be_bytes());
        out.extend_from_slice(&weight.to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&scale.to_be_bytes());
    };
    if let Some((sign, scale)) = special {
        return header(0, 0, sign, scale);
    }
    let Some((coefficient, scale)) = value.parts() else { return };
    // Align the point to groups of four digits.
    let padding = (4 - scale % 4) % 4;
    let shifted = coefficient.magnitude() * 10u32.pow(u32::from(padding));
    let fraction_groups = i64::from(scale.div_ceil(4));
    let negative = coefficient.sign() == Sign::Minus;
    let digits = BigInt::from(shifted).to_string();
    let digits = if digits == "0" { String::new() } else { digits };
    let lead = (4 - digits.len() % 4) % 4;
    let padded = format!("{}{digits}", "0".repeat(lead));
    let mut groups: Vec<i16> = padded
        .as_bytes()
        .chunks(4)
        .map(|chunk| chunk.iter().fold(0i16, |sum, digit| sum * 10 + i16::from(digit - b'0')))
        .collect();
    let weight = groups.len() as i64 - 1 - fraction_groups;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let weight = if groups.is_empty() { 0 } else { weight as i16 };
    header(groups.len() as u16, weight, if negative { NUMERIC_NEGATIVE } else { 0 }, scale);
    for group in groups {
        out.extend_from_slice(&group.to_be_bytes());
    }
}
