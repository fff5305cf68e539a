//! Making dates, times and intervals from parts; ages; justified intervals.

use braid_types::datetime::typmod::{PRECISION_MAX, apply_typmod};
use braid_types::datetime::{
    DAY_MICROS, IntervalParts, age, fixed_zone, justify_days, justify_hours, justify_interval,
    local_to_utc, make_date, make_interval, make_time, parse_offset, timestamp, zone_by_name,
};
use braid_types::{Datum, Error, Interval, Result, SqlState};
use jiff::tz::TimeZone;

use super::arguments::{local, micros, zone};
use crate::Call;
use crate::registry::tables::Registry;

/// Seconds from 1970 to 2000.
const SECONDS_1970_TO_2000: f64 = 946_684_800.0;

fn out_of_range() -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, "timestamp out of range")
}

fn date(call: &Call<'_>) -> Result<i32> {
    make_date(call.int(0)?, call.int(1)?, call.int(2)?)
}

/// Local microseconds of `make_timestamp`'s six numbers.
fn local_timestamp(call: &Call<'_>) -> Result<i64> {
    let days = date(call)?;
    let clock = make_time(call.int(3)?, call.int(4)?, call.float(5)?)?;
    timestamp(days.into(), clock).ok_or_else(out_of_range)
}

/// The zone that a text names for a local time; an offset needs a sign and counts east of
/// Greenwich.
fn given_zone(text: &str, local: i64) -> Result<TimeZone> {
    let Some(first) = text.bytes().next().filter(|b| matches!(b, b'+' | b'-' | b'0'..=b'9')) else {
        return Ok(zone_by_name(text)?.at_local(local));
    };
    let refused = |message: String| Error::new(SqlState::InvalidParameterValue, message);
    if first.is_ascii_digit() {
        let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
        return Err(refused(message)
            .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    let zone = parse_offset(text).and_then(fixed_zone);
    zone.ok_or_else(|| refused(format!("time zone \"{text}\" not recognized")))
}

fn make_timestamptz(call: &Call<'_>) -> Result<Datum> {
    let local = local_timestamp(call)?;
    let instant = if call.args.len() > 6 {
        local_to_utc(&given_zone(call.text(6)?, local)?, local)?
    } else {
        local_to_utc(zone(call), local)?
    };
    Ok(Datum::Timestamptz(instant))
}

fn interval(call: &Call<'_>) -> Result<Datum> {
    let part = |index: usize| if index < call.args.len() { call.int(index) } else { Ok(0) };
    let seconds = if call.args.len() > 6 { call.float(6)? } else { 0.0 };
    let made = make_interval(IntervalParts {
        years: part(0)?,
        months: part(1)?,
        weeks: part(2)?,
        days: part(3)?,
        hours: part(4)?,
        minutes: part(5)?,
        seconds,
    })?;
    Ok(Datum::Interval(made))
}

/// `age(a)` counts from midnight today; `age(a, b)` from `b`.
fn age_between(call: &Call<'_>) -> Result<Datum> {
    let at = |index: usize| -> Result<i64> {
        Ok(match call.datum(index) {
            Datum::Timestamptz(value) => local(call, *value),
            _ => micros(call, index)?,
        })
    };
    let (later, earlier) = if call.args.len() > 1 {
        (at(0)?, at(1)?)
    } else {
        let today = local(call, call.env.transaction_micros());
        (today.div_euclid(DAY_MICROS) * DAY_MICROS, at(0)?)
    };
    Ok(Datum::Interval(age(later, earlier)?))
}

fn justified(call: &Call<'_>, how: fn(&Interval) -> Result<Interval>) -> Result<Datum> {
    Ok(Datum::Interval(how(&call.interval(0)?)?))
}

/// Six significant digits with an exponent, as C's `%g` prints a large number.
fn short(value: f64) -> String {
    let shown = format!("{value:.5e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}e+{exponent:0>2}")
}

/// `to_timestamp(seconds since 1970)`.
fn from_seconds(call: &Call<'_>) -> Result<Datum> {
    let seconds = call.float(0)?;
    if seconds.is_nan() {
        return Err(Error::new(SqlState::DatetimeFieldOverflow, "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(Datum::Timestamptz(if seconds > 0.0 { i64::MAX } else { i64::MIN }));
    }
    let micros = ((seconds - SECONDS_1970_TO_2000) * 1e6).round_ties_even();
    let value = micros as i64;
    if micros.abs() >= 9.3e18 || !braid_types::datetime::timestamp_in_range(value) {
        let message = format!("timestamp out of range: \"{}\"", short(seconds));
        return Err(Error::new(SqlState::DatetimeFieldOverflow, message));
    }
    Ok(Datum::Timestamptz(value))
}

/// A value of a type with a modifier, as `timestamp(3)` has it.
fn modified(call: &Call<'_>) -> Result<Datum> {
    let typmod = i32::try_from(call.int(1)?).unwrap_or(PRECISION_MAX);
    Ok(apply_typmod(call.datum(0), typmod))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("braid_time_modifier(anyelement, int4) -> anyelement", modified);
    registry.add("make_date(int4, int4, int4) -> date", |c| Ok(Datum::Date(date(c)?)));
    registry.add("make_time(int4, int4, float8) -> time", |c| {
        Ok(Datum::Time(make_time(c.int(0)?, c.int(1)?, c.float(2)?)?))
    });
    registry.add("make_timestamp(int4, int4, int4, int4, int4, float8) -> timestamp", |c| {
        Ok(Datum::Timestamp(local_timestamp(c)?))
    });
    registry.add(
        "make_timestamptz(int4, int4, int4, int4, int4, float8) -> timestamptz stable",
        make_timestamptz,
    );
    registry.add(
        "make_timestamptz(int4, int4, int4, int4, int4, float8, text) -> timestamptz stable",
        make_timestamptz,
    );
    for signature in [
        "make_interval() -> interval",
        "make_interval(int4) -> interval",
        "make_interval(int4, int4) -> interval",
        "make_interval(int4, int4, int4) -> interval",
        "make_interval(int4, int4, int4, int4) -> interval",
        "make_interval(int4, int4, int4, int4, int4) -> interval",
        "make_interval(int4, int4, int4, int4, int4, int4) -> interval",
        "make_interval(int4, int4, int4, int4, int4, int4, float8) -> interval",
    ] {
        registry.add(signature, interval);
    }
    registry.add("age(timestamp) -> interval stable", age_between);
    registry.add("age(timestamptz) -> interval stable", age_between);
    registry.add("age(timestamp, timestamp) -> interval", age_between);
    registry.add("age(timestamptz, timestamptz) -> interval stable", age_between);
    registry.add("justify_hours(interval) -> interval", |c| justified(c, justify_hours));
    registry.add("justify_days(interval) -> interval", |c| justified(c, justify_days));
    registry.add("justify_interval(interval) -> interval", |c| justified(c, justify_interval));
    registry.add("to_timestamp(float8) -> timestamptz", from_seconds);
}
