//! Doing a cast.

use super::{CastEnv, NoCast, numbers, times};
use crate::datetime::typmod::apply_to_row;
use crate::net::Inet;
use crate::scratch::Scratch;
use crate::sql_type::RowType;
use crate::{
    Datum, Error, Json, Result, SqlState, SqlType, bits, geometry, hstore, mac, money, text,
    unsigned, work,
};

/// Casts a datum, applying `to`'s modifiers: an explicit cast truncates strings, an assignment
/// fails with 22001. NULL stays NULL. The `reg*` types are looked up by `builtins`, not here.
pub fn cast(
    datum: &Datum,
    from: &SqlType,
    to: &SqlType,
    explicit: bool,
    env: &CastEnv<'_>,
) -> Result<Datum> {
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    if from == to {
        return Ok(datum.clone());
    }
    match (from, to) {
        (_, SqlType::Array(element)) if from.is_array() => {
            cast_array(datum, element, explicit, env)
        }
        (SqlType::Record(types), SqlType::Record(targets)) => {
            cast_record(datum, types, targets, explicit, env)
        }
        (_, SqlType::Citext) => {
            let text = to_string_type(datum, from, &SqlType::Text, explicit, env)?;
            Ok(text.as_str().map_or(Datum::Null, |text| Datum::Citext(text.into())))
        }
        (SqlType::Citext, _) => {
            let text = Datum::text(datum.as_str().unwrap_or_default());
            cast(&text, &SqlType::Text, to, explicit, env)
        }
        _ if to.is_string() || matches!(to, SqlType::InternalChar | SqlType::Unknown) => {
            to_string_type(datum, from, to, explicit, env)
        }
        _ if from.is_string() || matches!(from, SqlType::Unknown | SqlType::InternalChar) => {
            from_string_type(datum, from, to, explicit, env)
        }
        _ if bits::is_bits(from) || bits::is_bits(to) => {
            bits::cast(datum, from, to, explicit)?.ok_or_else(|| mismatch(from, to))
        }
        _ if is_rare(from) || is_rare(to) => rare(datum, from, to),
        (SqlType::Xid8, SqlType::Xid) => {
            Ok(Datum::Int(i64::from(unsigned::from_datum(datum)? as u32)))
        }
        (SqlType::Inet | SqlType::Cidr, SqlType::Inet | SqlType::Cidr)
        | (SqlType::Macaddr | SqlType::Macaddr8, SqlType::Macaddr | SqlType::Macaddr8) => {
            cast_address(datum, to)
        }
        (SqlType::Json, SqlType::Jsonb) => match datum {
            Datum::Json(value) => Ok(Datum::json(value.normalised()?)),
            _ => Err(mismatch(from, to)),
        },
        (SqlType::Jsonb, SqlType::Json) => match datum {
            Datum::Json(value) => Ok(Datum::json(Json::Raw(value.to_string().into()))),
            _ => Err(mismatch(from, to)),
        },
        (SqlType::Jsonb, _) => from_jsonb(datum, to),
        (SqlType::Range(_), SqlType::Multirange(_)) => match datum.as_ranges() {
            Some(ranges) => Ok(Datum::Multirange(ranges.into())),
            None => Err(mismatch(from, to)),
        },
        (SqlType::Timetz, _) | (_, SqlType::Timetz) => {
            times::cast_timetz(datum, to, env)?.ok_or_else(|| mismatch(from, to))
        }
        _ if to.is_datetime() || *to == SqlType::Interval => {
            times::cast_time(datum, to, env)?.ok_or_else(|| mismatch(from, to))
        }
        _ => numbers::cast_number(datum, from, to)?.ok_or_else(|| mismatch(from, to)),
    }
}

/// A type whose casts stand beside its text form.
fn is_rare(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Hstore | SqlType::Money | SqlType::Geometry(_))
}

fn rare(datum: &Datum, from: &SqlType, to: &SqlType) -> Result<Datum> {
    match (from, to) {
        (SqlType::Hstore, _) | (_, SqlType::Hstore) => {
            hstore::cast(datum, to)?.ok_or_else(|| mismatch(from, to))
        }
        (SqlType::Geometry(from), SqlType::Geometry(to)) => geometry::cast(datum, *from, *to),
        _ => {
            let found = money::cast(datum, from, to)?.ok_or_else(|| mismatch(from, to))?;
            Ok(numbers::cast_number(&found, &SqlType::Numeric(None), to)?.unwrap_or(found))
        }
    }
}

fn mismatch(from: &SqlType, to: &SqlType) -> Error {
    NoCast::error(from.plain_name(), to.plain_name())
}

/// Between addresses of networks, or of hardware.
fn cast_address(datum: &Datum, to: &SqlType) -> Result<Datum> {
    let Datum::Bytes(bytes) = datum else {
        return Err(Error::internal("an address holds something else"));
    };
    Ok(match (to, bytes.len()) {
        (SqlType::Macaddr8, 6) => Datum::bytes(mac::to_eight(bytes)),
        (SqlType::Macaddr, 8) => Datum::bytes(mac::to_six(bytes)?),
        (SqlType::Cidr, _) => match Inet::from_bytes(bytes) {
            Some(inet) => Inet { address: inet.network(), ..inet }.to_datum(),
            None => datum.clone(),
        },
        _ => datum.clone(),
    })
}

fn cast_array(datum: &Datum, target: &SqlType, explicit: bool, env: &CastEnv<'_>) -> Result<Datum> {
    let Datum::Array(array) = datum else {
        return Err(Error::internal("an array type holds something else"));
    };
    if array.element == *target {
        return Ok(datum.clone());
    }
    let mut scratch = Scratch::default();
    let items = array
        .items
        .iter()
        .map(|item| {
            work::tick()?;
            scratch.keep(cast(item, &array.element, target, explicit, env)?)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(array.with_items(target.clone(), items).into())
}

fn cast_record(
    datum: &Datum,
    types: &RowType,
    targets: &RowType,
    explicit: bool,
    env: &CastEnv<'_>,
) -> Result<Datum> {
    let Datum::Record(fields) = datum else {
        return Err(Error::internal("a row type holds something else"));
    };
    if targets.is_empty() || types.len() != targets.len() {
        return Ok(datum.clone());
    }
    let fields = fields
        .iter()
        .zip(types.iter().zip(targets.iter()))
        .map(|(field, ((_, from), (_, to)))| cast(field, from, to, explicit, env))
        .collect::<Result<Vec<_>>>()?;
    Ok(Datum::Record(apply_to_row(targets, fields).into()))
}

fn to_string_type(
    datum: &Datum,
    from: &SqlType,
    to: &SqlType,
    explicit: bool,
    env: &CastEnv<'_>,
) -> Result<Datum> {
    let text = match datum {
        Datum::Text(_) if *from == SqlType::InternalChar && *to != SqlType::InternalChar => {
            text::to_string(from, datum, env.settings)
        }
        Datum::Text(value) => {
            if *to == SqlType::Text && !matches!(from, SqlType::Char(_)) {
                return Ok(datum.clone());
            }
            let padded = matches!(from, SqlType::Char(_)) && !matches!(to, SqlType::Char(_));
            let kept: &str = if padded { value.trim_end_matches(' ') } else { value };
            if *to == SqlType::Text && kept.len() == value.len() {
                return Ok(datum.clone());
            }
            return Ok(Datum::Text(text::apply_length(to, kept, explicit)?));
        }
        Datum::Bool(true) => "true".to_owned(),
        Datum::Bool(false) => "false".to_owned(),
        Datum::Int(value) if *to == SqlType::InternalChar => {
            if !(-128..=127).contains(value) {
                return Err(numbers::out_of_range("\"char\""));
            }
            let byte = (*value != 0).then(|| char::from(*value as u8));
            return Ok(Datum::text(byte.map_or_else(String::new, String::from)));
        }
        // As text an address always has its mask.
        Datum::Bytes(value) if *from == SqlType::Inet => {
            Inet::from_bytes(value).map(|inet| inet.with_mask()).unwrap_or_default()
        }
        other => text::to_string(from, other, env.settings),
    };
    Ok(Datum::Text(text::apply_length(to, &text, explicit)?))
}

fn from_string_type(
    datum: &Datum,
    from: &SqlType,
    to: &SqlType,
    explicit: bool,
    env: &CastEnv<'_>,
) -> Result<Datum> {
    let Datum::Text(value) = datum else {
        return Err(Error::internal("a string type holds something else"));
    };
    if bits::is_bits(to) {
        return Ok(Datum::text(bits::fit(to, bits::parse(value)?, explicit)?));
    }
    if *from == SqlType::InternalChar && *to == SqlType::Int4 {
        let code = value.chars().next().map_or(0, |c| i64::from(u32::from(c) as u8 as i8));
        return Ok(Datum::Int(code));
    }
    text::parse(to, value, env.settings, env.now_micros)
}

fn from_jsonb(datum: &Datum, to: &SqlType) -> Result<Datum> {
    let Datum::Json(value) = datum else {
        return Err(Error::internal("a jsonb holds something else"));
    };
    match (&**value, to) {
        (Json::Bool(value), SqlType::Bool) => Ok(Datum::Bool(*value)),
        (Json::Number(number), _) if *to != SqlType::Bool => {
            let number = Datum::Numeric(number.clone());
            numbers::cast_number(&number, &SqlType::Numeric(None), to)?
                .ok_or_else(|| mismatch(&SqlType::Jsonb, to))
        }
        (other, _) => {
            let kind = match other.type_name() {
                "number" => "numeric",
                kind => kind,
            };
            Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("cannot cast jsonb {kind} to type {}", to.plain_name()),
            ))
        }
    }
}
