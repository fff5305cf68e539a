//! Between integers, floats, numeric, boolean and the oid types.

use crate::numeric::rounding;
use crate::{Datum, Error, Numeric, Result, SqlState, SqlType};

pub(super) fn out_of_range(name: &str) -> Error {
    Error::new(SqlState::NumericValueOutOfRange, format!("{name} out of range"))
}

fn in_range(value: i64, to: &SqlType) -> Result<i64> {
    let fits = match to {
        SqlType::Int2 => i16::try_from(value).is_ok(),
        SqlType::Int4 => i32::try_from(value).is_ok(),
        _ => true,
    };
    if fits { Ok(value) } else { Err(out_of_range(to.plain_name())) }
}

/// Half to even, then in range.
fn float_to_int(value: f64, to: &SqlType) -> Result<i64> {
    let rounded = value.round_ties_even();
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
        return Err(out_of_range(to.plain_name()));
    }
    in_range(rounded as i64, to)
}

fn numeric_to_int(value: &Numeric, to: &SqlType) -> Result<i64> {
    let what = match value {
        Numeric::NaN => Some("NaN"),
        Numeric::Infinity | Numeric::NegInfinity => Some("infinity"),
        _ => None,
    };
    if let Some(what) = what {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("cannot convert {what} to {}", to.plain_name()),
        ));
    }
    let value = value.to_i64().ok_or_else(|| out_of_range(to.plain_name()))?;
    in_range(value, to)
}

fn to_f32(value: f64) -> Result<f64> {
    let narrow = value as f32;
    let fault = if narrow.is_infinite() && value.is_finite() {
        "overflow"
    } else if narrow == 0.0 && value != 0.0 {
        "underflow"
    } else {
        return Ok(f64::from(narrow));
    };
    Err(Error::new(SqlState::NumericValueOutOfRange, format!("value out of range: {fault}")))
}

fn numeric_to_float(value: &Numeric, to: &SqlType) -> Result<f64> {
    if !value.is_finite() {
        return Ok(value.to_f64());
    }
    let float = value.to_f64();
    let float = if *to == SqlType::Float4 { f64::from(float as f32) } else { float };
    if float.is_infinite() || (float == 0.0 && !value.is_zero()) {
        return Err(Error::new(
            SqlState::NumericValueOutOfRange,
            format!("\"{value}\" is out of range for type {}", to.plain_name()),
        ));
    }
    Ok(float)
}

fn to_numeric(value: Numeric, to: &SqlType) -> Result<Datum> {
    Ok(Datum::Numeric(match to {
        SqlType::Numeric(Some((precision, scale))) => {
            rounding::apply_typmod(&value, *precision, *scale)?
        }
        _ => value,
    }))
}

/// An oid: `integer` wraps, `bigint` must be in range.
fn to_oid(value: i64, from: &SqlType) -> Result<i64> {
    match from {
        SqlType::Int2 | SqlType::Int4 => Ok(i64::from(value as u32)),
        _ if (0..=i64::from(u32::MAX)).contains(&value) => Ok(value),
        _ => Err(out_of_range("OID")),
    }
}

/// The cast, or `None` if there is no such cast between numbers.
pub(super) fn cast_number(datum: &Datum, from: &SqlType, to: &SqlType) -> Result<Option<Datum>> {
    Ok(Some(match (datum, to) {
        (Datum::Int(value), SqlType::Int4) if from.is_oid() => Datum::Int(i64::from(*value as i32)),
        (Datum::Int(value), SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
            Datum::Int(in_range(*value, to)?)
        }
        (Datum::Int(value), oid) if oid.is_oid() => Datum::Int(to_oid(*value, from)?),
        (Datum::Int(value), SqlType::Bool) => Datum::Bool(*value != 0),
        (Datum::Int(value), SqlType::Float4) => Datum::Float(f64::from(*value as f32)),
        (Datum::Int(value), SqlType::Float8) => Datum::Float(*value as f64),
        (Datum::Int(value), SqlType::Numeric(_)) => to_numeric(Numeric::from_i64(*value), to)?,
        (Datum::Bool(value), SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
            Datum::Int(i64::from(*value))
        }
        (Datum::Float(value), SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
            Datum::Int(float_to_int(*value, to)?)
        }
        (Datum::Float(value), SqlType::Float4) => Datum::Float(to_f32(*value)?),
        (Datum::Float(value), SqlType::Float8) => Datum::Float(*value),
        (Datum::Float(value), SqlType::Numeric(_)) if *from == SqlType::Float4 => {
            to_numeric(Numeric::from_f32(*value as f32), to)?
        }
        (Datum::Float(value), SqlType::Numeric(_)) => to_numeric(Numeric::from_f64(*value), to)?,
        (Datum::Numeric(value), SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
            Datum::Int(numeric_to_int(value, to)?)
        }
        (Datum::Numeric(value), SqlType::Float4 | SqlType::Float8) => {
            Datum::Float(numeric_to_float(value, to)?)
        }
        (Datum::Numeric(value), SqlType::Numeric(_)) => to_numeric(value.clone(), to)?,
        _ => return Ok(None),
    }))
}
