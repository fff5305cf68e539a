//! Arithmetic: `timestamp + interval`, `date - date`, `interval * 2`, and `overlaps`.

use braid_types::datetime::{
    date_minus, date_plus_days, is_infinite, local_to_utc, time_plus, timestamp_minus,
    timestamp_plus, timestamptz_plus,
};
use braid_types::{Datum, Interval, Result};

use super::arguments::{date, micros, time, zone};
use crate::Call;
use crate::registry::tables::Registry;

fn later(call: &Call<'_>, at: usize, interval: Interval) -> Result<Datum> {
    Ok(match call.datum(at) {
        Datum::Timestamptz(value) => {
            Datum::Timestamptz(timestamptz_plus(*value, &interval, zone(call))?)
        }
        _ => Datum::Timestamp(timestamp_plus(micros(call, at)?, &interval)?),
    })
}

fn plus(call: &Call<'_>) -> Result<Datum> {
    later(call, 0, call.interval(1)?)
}

fn plus_reversed(call: &Call<'_>) -> Result<Datum> {
    later(call, 1, call.interval(0)?)
}

fn minus(call: &Call<'_>) -> Result<Datum> {
    later(call, 0, call.interval(1)?.checked_neg()?)
}

fn date_and_time(days: Datum, clock: i64, call: &Call<'_>, at: usize) -> Result<Datum> {
    debug_assert!(matches!(days, Datum::Date(_)));
    let interval = Interval { months: 0, days: 0, micros: clock };
    Ok(Datum::Timestamp(timestamp_plus(micros(call, at)?, &interval)?))
}

/// A day and a time in the session's zone as an instant.
fn date_and_local_time(call: &Call<'_>) -> Result<Datum> {
    let clock = Interval { months: 0, days: 0, micros: time(call, 1)? };
    let local = timestamp_plus(micros(call, 0)?, &clock)?;
    let instant = if is_infinite(local) { local } else { local_to_utc(zone(call), local)? };
    Ok(Datum::Timestamptz(instant))
}

fn difference(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Interval(timestamp_minus(micros(call, 0)?, micros(call, 1)?)?))
}

fn multiply(interval: Interval, factor: f64) -> Result<Datum> {
    Ok(Datum::Interval(interval.checked_mul(factor)?))
}

/// SQL's `OVERLAPS` on four times: each pair may be in either order, the end may be NULL.
fn overlaps(call: &Call<'_>) -> Result<Datum> {
    let ordered = |a: &Datum, b: &Datum| -> Option<(Datum, Datum)> {
        match (a.is_null(), b.is_null()) {
            (true, true) => None,
            (true, false) => Some((b.clone(), Datum::Null)),
            (false, true) => Some((a.clone(), Datum::Null)),
            (false, false) if a.compare(b).is_gt() => Some((b.clone(), a.clone())),
            (false, false) => Some((a.clone(), b.clone())),
        }
    };
    let (Some(first), Some(second)) =
        (ordered(call.datum(0), call.datum(1)), ordered(call.datum(2), call.datum(3)))
    else {
        return Ok(Datum::Null);
    };
    let (early, late) =
        if first.0.compare(&second.0).is_gt() { (second, first) } else { (first, second) };
    if early.0.compare(&late.0).is_eq() {
        // The same start overlaps, unless an end is unknown.
        let unknown = early.1.is_null() || late.1.is_null();
        return Ok(if unknown { Datum::Null } else { Datum::Bool(true) });
    }
    if early.1.is_null() {
        return Ok(Datum::Null);
    }
    if late.0.compare(&early.1).is_lt() {
        return Ok(Datum::Bool(true));
    }
    Ok(if late.1.is_null() { Datum::Null } else { Datum::Bool(false) })
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("+(timestamp, interval) -> timestamp", plus);
    registry.add("+(interval, timestamp) -> timestamp", plus_reversed);
    registry.add("-(timestamp, interval) -> timestamp", minus);
    registry.add("+(timestamptz, interval) -> timestamptz stable", plus);
    registry.add("+(interval, timestamptz) -> timestamptz stable", plus_reversed);
    registry.add("-(timestamptz, interval) -> timestamptz stable", minus);
    registry.add("+(date, interval) -> timestamp", plus);
    registry.add("+(interval, date) -> timestamp", plus_reversed);
    registry.add("-(date, interval) -> timestamp", minus);
    registry.add("-(timestamp, timestamp) -> interval", difference);
    registry.add("-(timestamptz, timestamptz) -> interval", difference);
    registry
        .add("+(date, int4) -> date", |c| Ok(Datum::Date(date_plus_days(date(c, 0)?, c.int(1)?)?)));
    registry
        .add("+(int4, date) -> date", |c| Ok(Datum::Date(date_plus_days(date(c, 1)?, c.int(0)?)?)));
    registry.add("-(date, int4) -> date", |c| {
        Ok(Datum::Date(date_plus_days(date(c, 0)?, -c.int(1)?)?))
    });
    registry
        .add("-(date, date) -> int4", |c| Ok(Datum::Int(date_minus(date(c, 0)?, date(c, 1)?)?)));
    registry.add("+(date, time) -> timestamp", |c| {
        date_and_time(c.datum(0).clone(), time(c, 1)?, c, 0)
    });
    registry.add("+(time, date) -> timestamp", |c| {
        date_and_time(c.datum(1).clone(), time(c, 0)?, c, 1)
    });
    registry.add("timestamptz(date, time) -> timestamptz stable", date_and_local_time);
    registry.add("+(time, interval) -> time", |c| {
        Ok(Datum::Time(time_plus(time(c, 0)?, &c.interval(1)?)))
    });
    registry.add("+(interval, time) -> time", |c| {
        Ok(Datum::Time(time_plus(time(c, 1)?, &c.interval(0)?)))
    });
    registry.add("-(time, interval) -> time", |c| {
        Ok(Datum::Time(time_plus(time(c, 0)?, &c.interval(1)?.checked_neg()?)))
    });
    registry.add("-(time, time) -> interval", |c| {
        let micros = time(c, 0)? - time(c, 1)?;
        Ok(Datum::Interval(Interval { months: 0, days: 0, micros }))
    });
    registry.add("+(interval, interval) -> interval", |c| {
        Ok(Datum::Interval(c.interval(0)?.checked_add(&c.interval(1)?)?))
    });
    registry.add("-(interval, interval) -> interval", |c| {
        Ok(Datum::Interval(c.interval(0)?.checked_sub(&c.interval(1)?)?))
    });
    registry.add("-(interval) -> interval", |c| Ok(Datum::Interval(c.interval(0)?.checked_neg()?)));
    registry.add("*(interval, float8) -> interval", |c| multiply(c.interval(0)?, c.float(1)?));
    registry.add("*(float8, interval) -> interval", |c| multiply(c.interval(1)?, c.float(0)?));
    registry.add("/(interval, float8) -> interval", |c| {
        Ok(Datum::Interval(c.interval(0)?.checked_div(c.float(1)?)?))
    });
    register_overlaps(registry);
}

fn register_overlaps(registry: &mut Registry) {
    for signature in [
        "overlaps(timestamp, timestamp, timestamp, timestamp) -> bool lax",
        "overlaps(timestamptz, timestamptz, timestamptz, timestamptz) -> bool lax",
        "overlaps(time, time, time, time) -> bool lax",
        "overlaps(timetz, timetz, timetz, timetz) -> bool lax",
    ] {
        registry.add(signature, overlaps);
    }
    for signature in [
        "overlaps(timestamp, interval, timestamp, interval) -> bool lax",
        "overlaps(timestamp, timestamp, timestamp, interval) -> bool lax",
        "overlaps(timestamp, interval, timestamp, timestamp) -> bool lax",
        "overlaps(timestamptz, interval, timestamptz, interval) -> bool stable lax",
        "overlaps(timestamptz, timestamptz, timestamptz, interval) -> bool stable lax",
        "overlaps(timestamptz, interval, timestamptz, timestamptz) -> bool stable lax",
        "overlaps(time, interval, time, interval) -> bool lax",
        "overlaps(time, time, time, interval) -> bool lax",
        "overlaps(time, interval, time, time) -> bool lax",
    ] {
        registry.add(signature, overlaps_lengths);
    }
}

/// `OVERLAPS` where a pair is a start and a length.
fn overlaps_lengths(call: &Call<'_>) -> Result<Datum> {
    let end = |at: usize| match (call.datum(at), call.datum(at + 1)) {
        (Datum::Null, Datum::Interval(_)) => Ok(Datum::Null),
        (Datum::Time(start), Datum::Interval(length)) => Ok(Datum::Time(time_plus(*start, length))),
        (_, Datum::Interval(length)) => later(call, at, *length),
        (_, end) => Ok(end.clone()),
    };
    let args = [call.datum(0).clone(), end(0)?, call.datum(2).clone(), end(2)?];
    overlaps(&Call { env: call.env, types: call.types, returns: call.returns, args: &args })
}
