//! Literals of `time with time zone`.

use jiff::tz::TimeZone;

use super::clock::Fault;
use super::date_parse::{Special, decode};
use crate::Result;
use crate::datetime::{DAY_MICROS, offset_at, offset_of_local, utc_to_local};
use crate::text::FormatSettings;
use crate::timetz::TimeTz;

/// A `timetz` literal. Without an offset it is in the session's zone, on the date of the literal or
/// on the day of the transaction. A zone whose offset changes needs a date.
pub fn parse_timetz(text: &str, settings: &FormatSettings, now_micros: i64) -> Result<TimeTz> {
    let fault = |fault: Fault| fault.error("time with time zone", text);
    let decoder = decode(text, settings.date_order, true).map_err(fault)?;
    let local_now = utc_to_local(&settings.time_zone, now_micros);
    let in_zone = |zone: &TimeZone, days: i64, micros: i64| TimeTz {
        micros,
        west: -offset_of_local(zone, days.saturating_mul(DAY_MICROS).saturating_add(micros)),
    };
    match decoder.special {
        Some(Special::Now) => {
            let west = -offset_at(&settings.time_zone, now_micros);
            return Ok(TimeTz { micros: local_now.rem_euclid(DAY_MICROS), west });
        }
        Some(_) => return Err(fault(Fault::Format)),
        None => {}
    }
    let days = if decoder.time_only { None } else { decoder.days().map_err(fault)? };
    let micros = decoder.time().map_err(fault)?.ok_or_else(|| fault(Fault::Format))?;
    let day = days.unwrap_or(local_now.div_euclid(DAY_MICROS));
    let Some(named) = &decoder.zone else { return Ok(in_zone(&settings.time_zone, day, micros)) };
    let zone = named.at_local(day.saturating_mul(DAY_MICROS).saturating_add(micros));
    if days.is_none() && zone.to_fixed_offset().is_err() {
        return Err(fault(Fault::Format));
    }
    Ok(in_zone(&zone, day, micros))
}
