//! The clock: `now()`, `clock_timestamp()` and the like, `AT TIME ZONE`.
//!
//! `now()` is the transaction's time, `statement_timestamp()` the statement's; only
//! `clock_timestamp()` moves while a statement runs.

use braid_types::datetime::{
    DAY_MICROS, ZoneName, fixed_zone, is_infinite, local_range, local_to_utc, offset_at,
    utc_to_local, zone_by_name,
};
use braid_types::timetz::TimeTz;
use braid_types::{Datum, Error, Result, SqlState, SqlType, text};

use super::arguments::{local, micros, zone};
use crate::Call;
use crate::registry::tables::Registry;
use crate::system::clock_micros;

/// The transaction's local time.
fn local_now(call: &Call<'_>) -> i64 {
    local(call, call.env.transaction_micros())
}

fn current_date(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Date(local_now(call).div_euclid(DAY_MICROS) as i32))
}

fn rounded(micros: i64, call: &Call<'_>) -> Result<i64> {
    let Some(Datum::Int(digits)) = call.args.first() else { return Ok(micros) };
    let unit = 10i64.pow(6 - (*digits).clamp(0, 6) as u32);
    Ok((micros + unit / 2).div_euclid(unit) * unit)
}

fn current_time(call: &Call<'_>) -> Result<Datum> {
    let clock = local_now(call).rem_euclid(DAY_MICROS);
    Ok(Datum::Time(rounded(clock, call)?))
}

fn current_timetz(call: &Call<'_>) -> Result<Datum> {
    let clock = local_now(call).rem_euclid(DAY_MICROS);
    let west = -offset_at(zone(call), call.env.transaction_micros());
    Ok(TimeTz { micros: rounded(clock, call)?, west }.to_datum())
}

fn time_of_day(call: &Call<'_>) -> Result<Datum> {
    let shown = text::to_string(
        &SqlType::Timestamptz,
        &Datum::Timestamptz(clock_micros()),
        call.env.settings(),
    );
    crate::registry::call::text(shown)
}

/// The zone of `AT TIME ZONE`: a name, or an interval without months or days.
pub(super) fn zone_argument(call: &Call<'_>) -> Result<ZoneName> {
    let Datum::Interval(offset) = call.datum(0) else { return zone_by_name(call.text(0)?) };
    if offset.months != 0 || offset.days != 0 {
        let shown = text::to_string(&SqlType::Interval, call.datum(0), call.env.settings());
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let seconds = i32::try_from(offset.micros / 1_000_000).ok();
    seconds.and_then(fixed_zone).map(ZoneName::Rules).ok_or_else(|| {
        let message = "time zone displacement out of range";
        Error::new(SqlState::InvalidTimeZoneDisplacement, message)
    })
}

/// An instant as the local time of a zone.
fn to_local(call: &Call<'_>) -> Result<Datum> {
    let value = micros(call, 1)?;
    if is_infinite(value) {
        return Ok(Datum::Timestamp(value));
    }
    Ok(Datum::Timestamp(utc_to_local(&zone_argument(call)?.at_instant(value), value)))
}

/// A local time of a zone as an instant.
fn to_instant(call: &Call<'_>) -> Result<Datum> {
    let value = micros(call, 1)?;
    if is_infinite(value) {
        return Ok(Datum::Timestamptz(value));
    }
    Ok(Datum::Timestamptz(local_to_utc(&zone_argument(call)?.at_local(value), value)?))
}

/// The first and the last local time of the session's zone that may be an instant.
fn local_ends(call: &Call<'_>) -> Result<(i64, i64)> {
    Ok(local_range(zone(call), micros(call, 0)?))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("now|transaction_timestamp|current_timestamp() -> timestamptz stable", |c| {
        Ok(Datum::Timestamptz(c.env.transaction_micros()))
    });
    registry.add("current_timestamp(int4) -> timestamptz stable", |c| {
        Ok(Datum::Timestamptz(rounded(c.env.transaction_micros(), c)?))
    });
    registry.add("statement_timestamp() -> timestamptz stable", |c| {
        Ok(Datum::Timestamptz(c.env.statement_micros()))
    });
    registry.add("clock_timestamp() -> timestamptz volatile", |_| {
        Ok(Datum::Timestamptz(clock_micros()))
    });
    registry.add("timeofday() -> text volatile", time_of_day);
    registry.add("current_date() -> date stable", current_date);
    registry.add("current_time() -> timetz stable", current_timetz);
    registry.add("current_time(int4) -> timetz stable", current_timetz);
    registry.add("localtime() -> time stable", current_time);
    registry.add("localtime(int4) -> time stable", current_time);
    registry.add("localtimestamp() -> timestamp stable", |c| Ok(Datum::Timestamp(local_now(c))));
    registry.add("localtimestamp(int4) -> timestamp stable", |c| {
        Ok(Datum::Timestamp(rounded(local_now(c), c)?))
    });
    registry.add("braid_first_local(timestamptz) -> timestamp stable", |c| {
        Ok(Datum::Timestamp(local_ends(c)?.0))
    });
    registry.add("braid_last_local(timestamptz) -> timestamp stable", |c| {
        Ok(Datum::Timestamp(local_ends(c)?.1))
    });
    registry.add("timezone(text, timestamptz) -> timestamp", to_local);
    registry.add("timezone(text, timestamp) -> timestamptz", to_instant);
    registry.add("timezone(interval, timestamptz) -> timestamp", to_local);
    registry.add("timezone(interval, timestamp) -> timestamptz", to_instant);
}
