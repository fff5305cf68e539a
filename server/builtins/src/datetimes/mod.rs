//! Dates, times, timestamps and intervals: operators, the clock, fields and parts.
//!
//! The calendar is `braid_types::datetime`; here are the SQL names and the session's zone.

mod clock;
mod fields;
mod format;
mod make;
mod operators;
mod timetz;

use braid_types::{Datum, Error, Interval, Result, SqlState};
use jiff::tz::TimeZone;

use crate::Call;
use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    clock::register(registry);
    fields::register(registry);
    format::register(registry);
    make::register(registry);
    operators::register(registry);
    timetz::register(registry);
}

/// A timestamp and an interval later; with a zone the days and months move its local time.
pub(crate) fn add_to_timestamp(
    micros: i64,
    step: &Interval,
    zone: Option<&TimeZone>,
) -> Result<i64> {
    match zone {
        Some(zone) => braid_types::datetime::timestamptz_plus(micros, step, zone),
        None => braid_types::datetime::timestamp_plus(micros, step),
    }
}

/// The session's zone.
fn zone<'a>(call: &'a Call<'_>) -> &'a TimeZone {
    &call.env.settings().time_zone
}

/// Microseconds of a timestamp with or without zone.
fn micros(call: &Call<'_>, index: usize) -> Result<i64> {
    match call.datum(index) {
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) => Ok(*micros),
        Datum::Date(i32::MAX) => Ok(i64::MAX),
        Datum::Date(i32::MIN) => Ok(i64::MIN),
        Datum::Date(days) => {
            braid_types::datetime::timestamp(i64::from(*days), 0).ok_or_else(|| {
                let message = "date out of range for timestamp";
                Error::new(SqlState::DatetimeFieldOverflow, message)
            })
        }
        other => Err(Error::internal(format!("not a timestamp: {other:?}"))),
    }
}

fn date(call: &Call<'_>, index: usize) -> Result<i32> {
    match call.datum(index) {
        Datum::Date(days) => Ok(*days),
        other => Err(Error::internal(format!("not a date: {other:?}"))),
    }
}

fn time(call: &Call<'_>, index: usize) -> Result<i64> {
    match call.datum(index) {
        Datum::Time(micros) => Ok(*micros),
        other => Err(Error::internal(format!("not a time: {other:?}"))),
    }
}

/// The local time of an instant in the session's zone; infinities stay.
fn local(call: &Call<'_>, micros: i64) -> i64 {
    if braid_types::datetime::is_infinite(micros) {
        return micros;
    }
    braid_types::datetime::utc_to_local(zone(call), micros)
}
