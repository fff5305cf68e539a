//! Between dates, times, timestamps and intervals.

use super::CastEnv;
use crate::datetime::{
    DAY_MICROS, TIMESTAMP_END, TIMESTAMP_MIN, is_infinite, local_to_utc, offset_at,
    offset_of_local, utc_to_local,
};
use crate::timetz::TimeTz;
use crate::{Datum, Error, Interval, Result, SqlState, SqlType};

/// Midnight of a date; 22008 if no timestamp reaches it.
fn date_to_timestamp(days: i32) -> Result<i64> {
    match days {
        i32::MAX => Ok(i64::MAX),
        i32::MIN => Ok(i64::MIN),
        days => i64::from(days)
            .checked_mul(DAY_MICROS)
            .filter(|micros| (TIMESTAMP_MIN..TIMESTAMP_END).contains(micros))
            .ok_or_else(|| {
                let message = "date out of range for timestamp";
                Error::new(SqlState::DatetimeFieldOverflow, message)
            }),
    }
}

fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        // Any timestamp's day fits.
        micros => micros.div_euclid(DAY_MICROS) as i32,
    }
}

fn timestamp_to_time(micros: i64) -> Datum {
    if is_infinite(micros) { Datum::Null } else { Datum::Time(micros.rem_euclid(DAY_MICROS)) }
}

/// The cast, or `None` if there is no such cast.
pub(super) fn cast_time(datum: &Datum, to: &SqlType, env: &CastEnv<'_>) -> Result<Option<Datum>> {
    let zone = &env.settings.time_zone;
    Ok(Some(match (datum, to) {
        (Datum::Date(days), SqlType::Timestamp) => Datum::Timestamp(date_to_timestamp(*days)?),
        (Datum::Date(days), SqlType::Timestamptz) => {
            Datum::Timestamptz(local_to_utc(zone, date_to_timestamp(*days)?)?)
        }
        (Datum::Timestamp(at), SqlType::Timestamptz) => {
            Datum::Timestamptz(local_to_utc(zone, *at)?)
        }
        (Datum::Timestamp(at), SqlType::Date) => Datum::Date(timestamp_to_date(*at)),
        (Datum::Timestamp(at), SqlType::Time) => timestamp_to_time(*at),
        (Datum::Timestamptz(at), SqlType::Timestamp) => Datum::Timestamp(utc_to_local(zone, *at)),
        (Datum::Timestamptz(at), SqlType::Date) => {
            Datum::Date(timestamp_to_date(utc_to_local(zone, *at)))
        }
        (Datum::Timestamptz(at), SqlType::Time) => timestamp_to_time(utc_to_local(zone, *at)),
        (Datum::Time(micros), SqlType::Interval) => {
            Datum::Interval(Interval { months: 0, days: 0, micros: *micros })
        }
        (Datum::Interval(value), SqlType::Time) => Datum::Time(value.micros.rem_euclid(DAY_MICROS)),
        _ => return Ok(None),
    }))
}

/// A cast from or to `timetz`, or `None` if there is no such cast. A time is in the session's zone
/// on the day of the transaction.
pub(super) fn cast_timetz(datum: &Datum, to: &SqlType, env: &CastEnv<'_>) -> Result<Option<Datum>> {
    let zone = &env.settings.time_zone;
    Ok(Some(match (datum, to) {
        (Datum::Bytes(bytes), SqlType::Time) => match TimeTz::from_bytes(bytes) {
            Some(time) => Datum::Time(time.micros),
            None => return Ok(None),
        },
        (Datum::Time(micros), SqlType::Timetz) => {
            let today = utc_to_local(zone, env.now_micros).div_euclid(DAY_MICROS) * DAY_MICROS;
            let west = -offset_of_local(zone, today + micros);
            TimeTz { micros: *micros, west }.to_datum()
        }
        (Datum::Timestamptz(at), SqlType::Timetz) if is_infinite(*at) => Datum::Null,
        (Datum::Timestamptz(at), SqlType::Timetz) => {
            let micros = utc_to_local(zone, *at).rem_euclid(DAY_MICROS);
            TimeTz { micros, west: -offset_at(zone, *at) }.to_datum()
        }
        _ => return Ok(None),
    }))
}
