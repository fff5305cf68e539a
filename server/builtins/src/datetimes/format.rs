//! `to_char`, `to_date` and `to_timestamp` with a template.

use braid_types::datetime::{
    interval_to_char, is_infinite, timestamp_to_char, timestamptz_to_char, to_date, to_timestamp,
};
use braid_types::{Datum, Result};

use super::arguments::{micros, zone};
use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

fn timestamp(call: &Call<'_>) -> Result<Datum> {
    let (value, template) = (micros(call, 0)?, call.text(1)?);
    if template.is_empty() || is_infinite(value) {
        return Ok(Datum::Null);
    }
    text(match call.datum(0) {
        Datum::Timestamptz(_) => timestamptz_to_char(value, template, zone(call)),
        _ => timestamp_to_char(value, template),
    })
}

fn interval(call: &Call<'_>) -> Result<Datum> {
    let template = call.text(1)?;
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    text(interval_to_char(&call.interval(0)?, template)?)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("to_char(timestamp, text) -> text stable", timestamp);
    registry.add("to_char(timestamptz, text) -> text stable", timestamp);
    registry.add("to_char(interval, text) -> text stable", interval);
    registry.add("to_date(text, text) -> date stable", |c| {
        Ok(Datum::Date(to_date(c.text(0)?, c.text(1)?)?))
    });
    registry.add("to_timestamp(text, text) -> timestamptz stable", |c| {
        Ok(Datum::Timestamptz(to_timestamp(c.text(0)?, c.text(1)?, zone(c))?))
    });
}
