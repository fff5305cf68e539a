//! What `timestamp(n)`, `time(n)`, `interval(n)` and `interval day to hour` make of a value.
//!
//! The modifiers are PostgreSQL's numbers, as `pg_attribute.atttypmod` has them: the digits after
//! the second; for an interval those in the lower half and its fields in the upper one.

use std::sync::Arc;

use super::{DAY_MICROS, SECOND_MICROS, is_infinite};
use crate::sql_type::RowType;
use crate::timetz::TimeTz;
use crate::{Array, Datum, Interval, SqlType};

/// Digits after the second that are kept at most.
pub const PRECISION_MAX: i32 = 6;
/// The lower half of an interval's modifier: all digits.
const FULL_PRECISION: i32 = 0xffff;
/// The upper half of an interval's modifier: all fields.
const FULL_RANGE: i32 = 0x7fff;
const HOUR_MICROS: i64 = 3600 * SECOND_MICROS;
const MINUTE_MICROS: i64 = 60 * SECOND_MICROS;

/// Fields of an interval, by their bits in its modifier.
pub const YEAR: i32 = 1 << 2;
/// See [`YEAR`].
pub const MONTH: i32 = 1 << 1;
/// See [`YEAR`].
pub const DAY: i32 = 1 << 3;
/// See [`YEAR`].
pub const HOUR: i32 = 1 << 10;
/// See [`YEAR`].
pub const MINUTE: i32 = 1 << 11;
/// See [`YEAR`].
pub const SECOND: i32 = 1 << 12;

const FIELDS: [(i32, &str); 6] = [
    (YEAR, "year"),
    (MONTH, "month"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
    (SECOND, "second"),
];

/// The modifier of an interval; without a field it has all, without digits all of them.
pub fn interval_typmod(first: Option<i32>, last: Option<i32>, precision: Option<i32>) -> i32 {
    let range = match (first, last) {
        (Some(first), Some(last)) => FIELDS
            .iter()
            .skip_while(|(bit, _)| *bit != first)
            .scan(true, |open, (bit, _)| {
                let kept = open.then_some(*bit);
                *open &= *bit != last;
                kept
            })
            .sum(),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => FULL_RANGE,
    };
    range << 16 | precision.unwrap_or(FULL_PRECISION)
}

/// The fields of an interval's modifier; 0: all.
pub(crate) fn interval_range(typmod: i32) -> i32 {
    match typmod >> 16 & FULL_RANGE {
        FULL_RANGE => 0,
        range => range,
    }
}

/// The fields and digits of an interval's modifier as `format_type` prints them, with a blank in
/// front of fields.
pub fn interval_suffix(typmod: i32) -> String {
    let range = interval_range(typmod);
    let mut named = FIELDS.iter().filter(|(bit, _)| range & bit != 0).map(|(_, name)| *name);
    let mut suffix = match (named.next(), named.next_back()) {
        (Some(first), Some(last)) => format!(" {first} to {last}"),
        (Some(only), None) => format!(" {only}"),
        _ => String::new(),
    };
    let precision = typmod & FULL_PRECISION;
    if precision != FULL_PRECISION {
        suffix.push_str(&format!("({precision})"));
    }
    suffix
}

/// A type of times with a modifier, as `format_type` prints it.
pub fn type_name(ty: &SqlType, typmod: i32) -> String {
    match ty {
        SqlType::Time => format!("time({typmod}) without time zone"),
        SqlType::Timetz => format!("time({typmod}) with time zone"),
        SqlType::Timestamp => format!("timestamp({typmod}) without time zone"),
        SqlType::Timestamptz => format!("timestamp({typmod}) with time zone"),
        SqlType::Interval => format!("interval{}", interval_suffix(typmod)),
        SqlType::Array(element) => format!("{}[]", type_name(element, typmod)),
        other => other.display_name(),
    }
}

/// Microseconds rounded to a number of digits after the second, a half away from zero.
pub(super) fn round(micros: i64, digits: i32) -> i64 {
    let digits = u32::try_from(digits.clamp(0, PRECISION_MAX)).unwrap_or(0);
    let unit = 10i64.pow(PRECISION_MAX as u32 - digits);
    let rest = micros % unit;
    let down = micros - rest;
    if rest.abs() * 2 >= unit { down.saturating_add(unit * rest.signum()) } else { down }
}

fn cut_interval(value: &Interval, typmod: i32) -> Interval {
    let Interval { mut months, mut days, mut micros } = *value;
    let range = interval_range(typmod);
    let lowest = FIELDS.iter().rev().find(|(bit, _)| range & bit != 0).map(|(bit, _)| *bit);
    if matches!(lowest, Some(YEAR | MONTH)) {
        days = 0;
    }
    match lowest {
        Some(YEAR) => (months, micros) = (months / 12 * 12, 0),
        Some(MONTH | DAY) => micros = 0,
        Some(HOUR) => micros = micros / HOUR_MICROS * HOUR_MICROS,
        Some(MINUTE) => micros = micros / MINUTE_MICROS * MINUTE_MICROS,
        _ => {}
    }
    let precision = typmod & FULL_PRECISION;
    if precision != FULL_PRECISION {
        micros = round(micros, precision);
    }
    Interval { months, days, micros }
}

/// The fields of a row as the modifiers of its columns have them.
pub fn apply_to_row(row: &RowType, mut fields: Vec<Datum>) -> Vec<Datum> {
    for (field, attribute) in fields.iter_mut().zip(row.attributes()) {
        if let Some(typmod) = attribute.modifier {
            *field = apply_typmod(field, typmod);
        }
    }
    fields
}

/// A time, a timestamp or an interval as its type's modifier has it; others as they are.
pub fn apply_typmod(value: &Datum, typmod: i32) -> Datum {
    match value {
        Datum::Time(micros) => Datum::Time(round(*micros, typmod).min(DAY_MICROS)),
        Datum::Timestamp(micros) if !is_infinite(*micros) => {
            Datum::Timestamp(round(*micros, typmod))
        }
        Datum::Timestamptz(micros) if !is_infinite(*micros) => {
            Datum::Timestamptz(round(*micros, typmod))
        }
        Datum::Interval(interval) => Datum::Interval(cut_interval(interval, typmod)),
        // No other type of bytes has a modifier of times.
        Datum::Bytes(bytes) => match TimeTz::from_bytes(bytes) {
            Some(time) => {
                let micros = round(time.micros, typmod).min(DAY_MICROS);
                TimeTz { micros, ..time }.to_datum()
            }
            None => value.clone(),
        },
        Datum::Array(array) => {
            let items = array.items.iter().map(|item| apply_typmod(item, typmod)).collect();
            Datum::Array(Arc::new(Array { items, ..(**array).clone() }))
        }
        other => other.clone(),
    }
}
