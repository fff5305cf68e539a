//! Which parser and printer a type has.

use std::sync::Arc;

use super::settings::FormatSettings;
use super::syntax::invalid_syntax;
use super::times::{self, date_format, interval_format};
use super::{aclitem, array, range, record, scalar, vector};
use crate::datetime::typmod::apply_to_row;
use crate::hstore::Hstore;
use crate::net::Inet;
use crate::numeric::rounding;
use crate::range::{Range, RangeKind};
use crate::snapshot::Snapshot;
use crate::sql_type::range_subtype;
use crate::timetz::TimeTz;
use crate::{
    Datum, Error, Json, JsonPath, Numeric, Result, SqlType, bits, geometry, mac, money, search,
    tid, unsigned,
};

/// Parses a literal of type `ty`, applying its modifiers as an assignment from text would.
/// 22P02, 22007, 22008 or 22003 if it is not one. `now_micros` is the transaction's timestamp
/// (for `'now'`, `'today'`).
pub fn parse(
    ty: &SqlType,
    text: &str,
    settings: &FormatSettings,
    now_micros: i64,
) -> Result<Datum> {
    Ok(match ty {
        SqlType::Bool => Datum::Bool(scalar::parse_bool(text)?),
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Datum::Int(scalar::parse_int(ty, text)?),
        SqlType::Oid
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc
        | SqlType::Regprocedure
        | SqlType::Regoper
        | SqlType::Regoperator
        | SqlType::Regcollation
        | SqlType::Regnamespace
        | SqlType::Regrole => Datum::Int(scalar::parse_oid(ty, text)?),
        SqlType::Float4 => Datum::Float(f64::from(scalar::parse_f32(text)?)),
        SqlType::Float8 => Datum::Float(scalar::parse_f64(text)?),
        SqlType::Numeric(modifier) => numeric(text, *modifier)?,
        SqlType::Text
        | SqlType::Refcursor
        | SqlType::Unknown
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name
        | SqlType::InternalChar => Datum::Text(scalar::apply_length(ty, text, false)?),
        SqlType::Bit(_) | SqlType::Varbit(_) | SqlType::Citext | SqlType::Hstore => held(ty, text)?,
        SqlType::Bytes => Datum::Bytes(scalar::parse_bytes(text)?.into()),
        SqlType::Uuid => Datum::Uuid(scalar::parse_uuid(text)?),
        SqlType::Date => Datum::Date(times::parse_date(text, settings, now_micros)?),
        SqlType::Time => Datum::Time(times::parse_time(text, settings, now_micros)?),
        SqlType::Timestamp | SqlType::Timestamptz => moment(ty, text, settings, now_micros)?,
        SqlType::Interval => Datum::Interval(times::parse_interval(text, settings.interval_style)?),
        SqlType::Json => Datum::Json(Arc::new(Json::parse_raw(text)?)),
        SqlType::Jsonb => Datum::Json(Arc::new(Json::parse(text)?)),
        SqlType::Array(element) => {
            Datum::Array(Arc::new(array::parse_array(element, text, |item| {
                parse(element, item, settings, now_micros)
            })?))
        }
        SqlType::Record(row) if row.is_any_row() => return Err(no_anonymous_rows()),
        SqlType::Record(row) => {
            let read = |ty: &SqlType, field: &str| parse(ty, field, settings, now_micros);
            Datum::Record(apply_to_row(row, record::parse_record(row, text, read)?).into())
        }
        SqlType::Int2Vector | SqlType::OidVector => {
            Datum::Array(Arc::new(vector::parse_vector(ty, text)?))
        }
        SqlType::Xid | SqlType::Cid => Datum::Int(i64::from(scalar::leading_integer(text) as u32)),
        SqlType::Xid8 | SqlType::PgLsn => unsigned::to_datum(unsigned::parse(ty, text)?),
        SqlType::Tid => Datum::bytes(tid::parse(text)?),
        SqlType::Timetz => times::parse_timetz(text, settings, now_micros)?.to_datum(),
        SqlType::Inet | SqlType::Cidr => Inet::parse(ty, text)?.to_datum(),
        SqlType::Macaddr | SqlType::Macaddr8 => Datum::bytes(mac::parse(ty, text)?),
        SqlType::Money | SqlType::Geometry(_) => figure(ty, text)?,
        SqlType::TsVector => search::parse_vector(text)?,
        SqlType::TsQuery => search::Query::parse(text)?,
        SqlType::Regconfig | SqlType::Regdictionary => search_name(ty, text)?,
        SqlType::Aclitem => Datum::text(aclitem::parse_aclitem(text)?),
        SqlType::Jsonpath | SqlType::Snapshot(_) => held(ty, text)?,
        SqlType::Enum(ty) => Datum::Enum(ty.parse(text)?),
        SqlType::Range(kind) => ranges(*kind, false, text, settings, now_micros)?,
        SqlType::Multirange(kind) => ranges(*kind, true, text, settings, now_micros)?,
        SqlType::Void => Datum::text(""),
        SqlType::Any(_) => return Err(invalid_syntax(ty.plain_name(), text)),
    })
}

/// A value that is held as a text.
fn held(ty: &SqlType, text: &str) -> Result<Datum> {
    Ok(match ty {
        SqlType::Citext => Datum::Citext(text.into()),
        SqlType::Hstore => Datum::text(Hstore::parse(text)?.print()),
        SqlType::Jsonpath => Datum::text(JsonPath::parse(text)?.print()),
        SqlType::Snapshot(_) => Datum::text(Snapshot::parse(text)?.print()),
        _ => Datum::text(bits::fit(ty, bits::parse(text)?, false)?),
    })
}

/// An amount of money, or a geometric value.
fn figure(ty: &SqlType, text: &str) -> Result<Datum> {
    Ok(match ty {
        SqlType::Geometry(shape) => Datum::bytes(geometry::parse(*shape, text)?),
        _ => Datum::Int(money::parse(text)?),
    })
}

/// The number of a configuration or dictionary.
fn search_name(ty: &SqlType, text: &str) -> Result<Datum> {
    Ok(Datum::Int(search::configs::parse_name(ty, text)?.into()))
}

fn numeric(text: &str, modifier: Option<(u16, i16)>) -> Result<Datum> {
    let number = Numeric::parse(text)?;
    Ok(Datum::Numeric(match modifier {
        Some((precision, scale)) => rounding::apply_typmod(&number, precision, scale)?,
        None => number,
    }))
}

/// A range or a multirange.
fn ranges(
    kind: RangeKind,
    is_multirange: bool,
    text: &str,
    settings: &FormatSettings,
    now_micros: i64,
) -> Result<Datum> {
    let value = |text: &str| parse(kind.subtype(), text, settings, now_micros);
    let one = |text: &str| range::parse_range(kind, text, value);
    Ok(match is_multirange {
        true => Datum::Multirange(range::parse_multirange(text, one)?.into()),
        false => Datum::Range(Arc::new(one(text)?)),
    })
}

fn moment(ty: &SqlType, text: &str, settings: &FormatSettings, now_micros: i64) -> Result<Datum> {
    let has_zone = *ty == SqlType::Timestamptz;
    let micros = times::parse_timestamp(text, settings, now_micros, has_zone)?;
    Ok(if has_zone { Datum::Timestamptz(micros) } else { Datum::Timestamp(micros) })
}

fn no_anonymous_rows() -> Error {
    let message = "input of anonymous composite types is not implemented";
    Error::new(crate::SqlState::FeatureNotSupported, message)
}

/// Appends the text form of a datum that is not NULL.
pub fn format(ty: &SqlType, datum: &Datum, settings: &FormatSettings, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Datum::Int(value) => format_int(ty, *value, out),
        Datum::Float(value) if *ty == SqlType::Float4 => {
            scalar::format_f32(*value as f32, settings.extra_float_digits, out);
        }
        Datum::Float(value) => scalar::format_f64(*value, settings.extra_float_digits, out),
        Datum::Numeric(value) => value.write_text(out),
        Datum::Text(value) if *ty == SqlType::InternalChar => {
            scalar::format_internal_char(value, out);
        }
        Datum::Text(value) | Datum::Citext(value) => out.extend_from_slice(value.as_bytes()),
        Datum::Enum(label) => out.extend_from_slice(label.name.as_bytes()),
        Datum::Bytes(value) if let SqlType::Geometry(shape) = ty => {
            geometry::format(*shape, value, settings.extra_float_digits, out);
        }
        Datum::Bytes(value) if *ty == SqlType::Tid => tid::format(value, out),
        Datum::Bytes(value) if matches!(ty, SqlType::Inet | SqlType::Cidr) => {
            let shown = Inet::from_bytes(value).map(|inet| inet.show(ty));
            out.extend_from_slice(shown.unwrap_or_default().as_bytes());
        }
        Datum::Bytes(value) if matches!(ty, SqlType::Macaddr | SqlType::Macaddr8) => {
            mac::format(value, out);
        }
        Datum::Bytes(value) if *ty == SqlType::Timetz => {
            if let Some(time) = TimeTz::from_bytes(value) {
                date_format::format_time(time.micros, out);
                date_format::format_offset(-time.west, out);
            }
        }
        Datum::Bytes(value) if *ty == SqlType::TsVector => search::format_vector(value, out),
        Datum::Bytes(value) if *ty == SqlType::TsQuery => search::format_query(value, out),
        Datum::Bytes(value) => scalar::format_bytes(value, settings.bytea_escape, out),
        Datum::Uuid(value) => scalar::format_uuid(value, out),
        Datum::Date(value) => date_format::format_date(*value, settings, out),
        Datum::Time(value) => date_format::format_time(*value, out),
        Datum::Timestamp(value) => date_format::format_timestamp(*value, settings, out),
        Datum::Timestamptz(value) => date_format::format_timestamptz(*value, settings, out),
        Datum::Interval(value) => {
            interval_format::format_interval(value, settings.interval_style, out);
        }
        Datum::Json(value) => value.write_text(out),
        Datum::Array(value) if ty.is_vector() => vector::format_vector(value, out),
        Datum::Array(value) => {
            let write = |item: &Datum, out: &mut Vec<u8>| {
                format(&value.element, item, settings, out);
            };
            array::format_array(value, write, out);
        }
        Datum::Record(fields) => {
            let types: &[(String, SqlType)] = match ty {
                SqlType::Record(types) => types,
                _ => &[],
            };
            let write = |ty: &SqlType, field: &Datum, out: &mut Vec<u8>| {
                format(ty, field, settings, out);
            };
            record::format_record(types, fields, write, out);
        }
        Datum::Range(value) => format_range(ty, value, settings, out),
        Datum::Multirange(ranges) => format_ranges(ty, ranges, settings, out),
    }
}

/// Appends a value that is held as an integer.
fn format_int(ty: &SqlType, value: i64, out: &mut Vec<u8>) {
    match ty {
        SqlType::Xid8 | SqlType::PgLsn => unsigned::format(ty, value, out),
        SqlType::Regconfig | SqlType::Regdictionary => {
            out.extend_from_slice(search::configs::print_name(ty, value).as_bytes());
        }
        SqlType::Money => money::format(value, out),
        _ => scalar::format_int(value, out),
    }
}

fn format_ranges(ty: &SqlType, ranges: &[Range], settings: &FormatSettings, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, range) in ranges.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        format_range(ty, range, settings, out);
    }
    out.push(b'}');
}

/// Appends a range of that type, or of a multirange of that type.
fn format_range(ty: &SqlType, value: &Range, settings: &FormatSettings, out: &mut Vec<u8>) {
    let subtype = range_subtype(ty).unwrap_or(&SqlType::Unknown);
    range::format_range(value, |value, out| format(subtype, value, settings, out), out);
}

/// The text form as a string.
pub fn to_string(ty: &SqlType, datum: &Datum, settings: &FormatSettings) -> String {
    let mut out = Vec::new();
    format(ty, datum, settings, &mut out);
    match String::from_utf8(out) {
        Ok(text) => text,
        Err(broken) => String::from_utf8_lossy(broken.as_bytes()).into_owned(),
    }
}
