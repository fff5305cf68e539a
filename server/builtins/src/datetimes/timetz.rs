//! `time with time zone`: arithmetic, fields, `AT TIME ZONE`.

use braid_types::datetime::{extract_clock, offset_at};
use braid_types::timetz::TimeTz;
use braid_types::{Datum, Error, Numeric, Result};

use super::arguments::micros;
use super::clock::zone_argument;
use crate::Call;
use crate::registry::tables::Registry;

fn timetz(call: &Call<'_>, index: usize) -> Result<TimeTz> {
    let found = call.datum(index).as_bytes().and_then(TimeTz::from_bytes);
    found.ok_or_else(|| Error::internal("an argument that is no time with time zone"))
}

/// The same moment of the day in a zone, with the offset that the zone has now.
fn at_time_zone(call: &Call<'_>) -> Result<Datum> {
    let now = call.env.transaction_micros();
    let zone = zone_argument(call)?.at_instant(now);
    Ok(timetz(call, 1)?.in_zone(-offset_at(&zone, now)).to_datum())
}

/// A day and a time in a zone as an instant.
fn date_and_timetz(call: &Call<'_>, day: usize, time: usize) -> Result<Datum> {
    let midnight = micros(call, day)?;
    if braid_types::datetime::is_infinite(midnight) {
        return Ok(Datum::Timestamptz(midnight));
    }
    let at = midnight.checked_add(timetz(call, time)?.utc_micros());
    let at = at.filter(|at| braid_types::datetime::timestamp_in_range(*at));
    let out_of_range = || {
        let message = "timestamp out of range";
        Error::new(braid_types::SqlState::DatetimeFieldOverflow, message)
    };
    Ok(Datum::Timestamptz(at.ok_or_else(out_of_range)?))
}

/// A field of the time or of its zone.
fn field(call: &Call<'_>) -> Result<Option<Numeric>> {
    let (name, time) = (call.text(0)?, timetz(call, 1)?);
    let east = i64::from(-time.west);
    Ok(match name.to_ascii_lowercase().as_str() {
        "timezone" => Some(Numeric::from_i64(east)),
        "timezone_h" | "timezone_hour" => Some(Numeric::from_i64(east / 3600)),
        "timezone_m" | "timezone_minute" => Some(Numeric::from_i64(east / 60 % 60)),
        "epoch" => Some(Numeric::from_parts(i128::from(time.utc_micros()), 6)),
        _ => Some(extract_clock(name, time.micros)?),
    })
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("+(timetz, interval) -> timetz", |c| {
        Ok(timetz(c, 0)?.plus(&c.interval(1)?).to_datum())
    });
    registry.add("+(interval, timetz) -> timetz", |c| {
        Ok(timetz(c, 1)?.plus(&c.interval(0)?).to_datum())
    });
    registry.add("-(timetz, interval) -> timetz", |c| {
        Ok(timetz(c, 0)?.plus(&c.interval(1)?.checked_neg()?).to_datum())
    });
    registry.add("+(date, timetz) -> timestamptz", |c| date_and_timetz(c, 0, 1));
    registry.add("+(timetz, date) -> timestamptz", |c| date_and_timetz(c, 1, 0));
    registry.add("timezone(text, timetz) -> timetz stable", at_time_zone);
    registry.add("timezone(interval, timetz) -> timetz stable", at_time_zone);
    registry.add("extract(text, timetz) -> numeric", |c| {
        Ok(field(c)?.map_or(Datum::Null, Datum::Numeric))
    });
    registry.add("date_part(text, timetz) -> float8", |c| {
        Ok(field(c)?.map_or(Datum::Null, |value| Datum::Float(value.to_f64())))
    });
    for signature in ["timetz(time) -> timetz stable", "timetz(timestamptz) -> timetz stable"] {
        registry.add(signature, |c| c.cast(0, c.returns));
    }
    registry.add("time(timetz) -> time", |c| c.cast(0, c.returns));
}
