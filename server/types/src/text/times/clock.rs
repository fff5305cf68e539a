//! Why a literal was refused, and the clock that times and intervals share.

use crate::{Error, SqlState};

/// Why a literal was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Format,
    Field,
    /// A field that another date order might accept.
    DateOrder,
    Displacement,
    UnknownZone(String),
}

impl Fault {
    pub(super) fn error(self, type_name: &str, text: &str) -> Error {
        let field = || {
            Error::new(
                SqlState::DatetimeFieldOverflow,
                format!("date/time field value out of range: \"{text}\""),
            )
        };
        match self {
            Fault::Format => Error::new(
                SqlState::InvalidDatetimeFormat,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Fault::Field => field(),
            Fault::DateOrder => field().hint("Perhaps you need a different \"datestyle\" setting."),
            Fault::Displacement => Error::new(
                SqlState::InvalidTimeZoneDisplacement,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Fault::UnknownZone(name) => Error::new(
                SqlState::InvalidParameterValue,
                format!("time zone \"{name}\" not recognized"),
            ),
        }
    }
}

/// What a field was read as, or why the literal was refused.
pub(super) type Decoded<T = ()> = std::result::Result<T, Fault>;

/// Microseconds of a fraction's digits, rounded.
pub(super) fn fraction_micros(digits: &str) -> Decoded<i64> {
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    let kept: String = digits.chars().chain("0000000".chars()).take(6).collect();
    let value: i64 = kept.parse().map_err(|_| Fault::Format)?;
    // Half is rounded to even, as the fraction is read into a float there.
    let rest = digits.get(6..).unwrap_or("");
    let above = match rest.as_bytes().first() {
        Some(b'6'..=b'9') => true,
        Some(b'5') => rest[1..].bytes().any(|b| b != b'0') || value % 2 == 1,
        _ => false,
    };
    Ok(value + i64::from(above))
}

/// Hours, minutes, seconds and microseconds of a clock text, hours unbounded.
pub(super) fn clock_parts(text: &str) -> Decoded<(i64, i64, i64, i64)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let parts: Vec<&str> = clock.split(':').collect();
    let number = |part: &str| {
        if part.is_empty() {
            return Err(Fault::Format);
        }
        part.parse::<i64>().map_err(|_| Fault::Field)
    };
    let micros = fraction_micros(fraction)?;
    match parts.as_slice() {
        [hours, minutes, seconds] => {
            Ok((number(hours)?, number(minutes)?, number(seconds)?, micros))
        }
        [minutes, seconds] if text.contains('.') => {
            Ok((0, number(minutes)?, number(seconds)?, micros))
        }
        [hours, ""] if !hours.is_empty() => Ok((number(hours)?, 0, 0, 0)),
        [hours, minutes] => Ok((number(hours)?, number(minutes)?, 0, 0)),
        _ => Err(Fault::Format),
    }
}
