//! Fields and parts: `extract`, `date_part`, `date_trunc`, `date_bin`, `isfinite`.

use braid_types::datetime::{
    date_bin, extract, is_infinite, trunc_interval, trunc_timestamp, trunc_timestamptz,
    zone_by_name,
};
use braid_types::{Datum, Result};
use jiff::tz::TimeZone;

use super::arguments::{date, micros, zone};
use crate::Call;
use crate::registry::tables::Registry;

static UTC: TimeZone = TimeZone::UTC;

/// The session's zone where the value has need of one.
fn zone_of<'a>(call: &'a Call<'_>) -> &'a TimeZone {
    if matches!(call.datum(1), Datum::Timestamptz(_)) { zone(call) } else { &UTC }
}

fn field(call: &Call<'_>) -> Result<Datum> {
    let found = extract(call.text(0)?, call.datum(1), zone_of(call))?;
    Ok(found.map_or(Datum::Null, Datum::Numeric))
}

fn date_part(call: &Call<'_>) -> Result<Datum> {
    let found = extract(call.text(0)?, call.datum(1), zone_of(call))?;
    Ok(found.map_or(Datum::Null, |value| Datum::Float(value.to_f64())))
}

fn date_trunc(call: &Call<'_>) -> Result<Datum> {
    let name = call.text(0)?;
    Ok(match call.datum(1) {
        Datum::Interval(value) => Datum::Interval(trunc_interval(name, value)?),
        Datum::Timestamptz(value) if call.args.len() > 2 => {
            let zone = zone_by_name(call.text(2)?)?.at_instant(*value);
            Datum::Timestamptz(trunc_timestamptz(name, *value, &zone)?)
        }
        Datum::Timestamptz(value) => {
            Datum::Timestamptz(trunc_timestamptz(name, *value, zone(call))?)
        }
        _ => Datum::Timestamp(trunc_timestamp(name, micros(call, 1)?)?),
    })
}

fn bin(call: &Call<'_>) -> Result<Datum> {
    let start = date_bin(&call.interval(0)?, micros(call, 1)?, micros(call, 2)?)?;
    Ok(match call.datum(1) {
        Datum::Timestamptz(_) => Datum::Timestamptz(start),
        _ => Datum::Timestamp(start),
    })
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("extract(text, date) -> numeric", field);
    registry.add("extract(text, time) -> numeric", field);
    registry.add("extract(text, timestamp) -> numeric", field);
    registry.add("extract(text, timestamptz) -> numeric stable", field);
    registry.add("extract(text, interval) -> numeric", field);
    registry.add("date_part(text, date) -> float8", date_part);
    registry.add("date_part(text, time) -> float8", date_part);
    registry.add("date_part(text, timestamp) -> float8", date_part);
    registry.add("date_part(text, timestamptz) -> float8 stable", date_part);
    registry.add("date_part(text, interval) -> float8", date_part);
    registry.add("date_trunc(text, timestamp) -> timestamp", date_trunc);
    registry.add("date_trunc(text, timestamptz) -> timestamptz stable", date_trunc);
    registry.add("date_trunc(text, timestamptz, text) -> timestamptz stable", date_trunc);
    registry.add("date_trunc(text, interval) -> interval", date_trunc);
    registry.add("date_bin(interval, timestamp, timestamp) -> timestamp", bin);
    registry.add("date_bin(interval, timestamptz, timestamptz) -> timestamptz", bin);
    registry.add("isfinite(date) -> bool", |c| {
        Ok(Datum::Bool(!matches!(date(c, 0)?, i32::MAX | i32::MIN)))
    });
    for signature in ["isfinite(timestamp) -> bool", "isfinite(timestamptz) -> bool"] {
        registry.add(signature, |c| Ok(Datum::Bool(!is_infinite(micros(c, 0)?))));
    }
    registry.add("isfinite(interval) -> bool", |_| Ok(Datum::Bool(true)));
}
