//! Reads the arguments of calls, and the session's zone.

use braid_types::{Datum, Error, Result, SqlState};
use jiff::tz::TimeZone;

use crate::Call;

/// The session's zone.
pub(super) fn zone<'a>(call: &'a Call<'_>) -> &'a TimeZone {
    &call.env.settings().time_zone
}

/// Microseconds of a timestamp with or without zone.
pub(super) fn micros(call: &Call<'_>, index: usize) -> Result<i64> {
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

pub(super) fn date(call: &Call<'_>, index: usize) -> Result<i32> {
    match call.datum(index) {
        Datum::Date(days) => Ok(*days),
        other => Err(Error::internal(format!("not a date: {other:?}"))),
    }
}

pub(super) fn time(call: &Call<'_>, index: usize) -> Result<i64> {
    match call.datum(index) {
        Datum::Time(micros) => Ok(*micros),
        other => Err(Error::internal(format!("not a time: {other:?}"))),
    }
}

/// The local time of an instant in the session's zone; infinities stay.
pub(super) fn local(call: &Call<'_>, micros: i64) -> i64 {
    if braid_types::datetime::is_infinite(micros) {
        return micros;
    }
    braid_types::datetime::utc_to_local(zone(call), micros)
}
