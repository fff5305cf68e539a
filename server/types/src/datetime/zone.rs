//! Time zones: names, abbreviations, offsets and conversions both ways.
//!
//! The rules come from jiff's bundled database, which ends at the years ±9999. Later instants
//! repeat its last 400 years; earlier ones have the zone's first offset.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::civil::{
    DAY_MICROS, DAYS_1970_TO_2000, SECOND_MICROS, TIMESTAMP_END, TIMESTAMP_MIN, is_infinite,
    timestamp_in_range,
};
use crate::{Error, Result, SqlState};

const EPOCH_SECONDS: i64 = DAYS_1970_TO_2000 as i64 * 86_400;
/// Seconds in the 400 years after which the calendar repeats.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;
/// Unix seconds a little inside jiff's range.
const UNIX_MAX: i64 = 253_000_000_000;
const UNIX_MIN: i64 = -377_000_000_000;

/// Unix seconds brought into jiff's range.
fn folded(unix: i64) -> i64 {
    if unix > UNIX_MAX {
        let cycles = (unix - UNIX_MAX) / CYCLE_SECONDS + 1;
        unix - cycles * CYCLE_SECONDS
    } else {
        unix.max(UNIX_MIN)
    }
}

pub(super) fn jiff_timestamp(micros: i64) -> Timestamp {
    let unix = folded(micros.div_euclid(SECOND_MICROS) + EPOCH_SECONDS);
    Timestamp::from_second(unix).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Seconds east of UTC at an instant.
pub fn offset_at(zone: &TimeZone, utc_micros: i64) -> i32 {
    zone.to_offset(jiff_timestamp(utc_micros)).seconds()
}

/// The zone's abbreviation at an instant, and whether daylight saving is in force.
pub fn abbreviation_at(zone: &TimeZone, utc_micros: i64) -> (String, bool) {
    let info = zone.to_offset_info(jiff_timestamp(utc_micros));
    (info.abbreviation().to_owned(), info.dst().is_dst())
}

/// Local time of an instant; infinities stay. The result can be a few hours out of range.
pub fn utc_to_local(zone: &TimeZone, utc_micros: i64) -> i64 {
    if is_infinite(utc_micros) {
        return utc_micros;
    }
    utc_micros.saturating_add(i64::from(offset_at(zone, utc_micros)) * SECOND_MICROS)
}

/// Seconds east of UTC that a local time has. In a gap the offset before it counts, in an
/// overlap the one after it: standard time either way.
pub fn offset_of_local(zone: &TimeZone, local_micros: i64) -> i32 {
    let unix = folded(local_micros.div_euclid(SECOND_MICROS) + EPOCH_SECONDS);
    let civil: DateTime =
        Timestamp::from_second(unix).map(|at| Offset::UTC.to_datetime(at)).unwrap_or_default();
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
        AmbiguousOffset::Gap { before, .. } => before.seconds(),
        AmbiguousOffset::Fold { after, .. } => after.seconds(),
    }
}

/// The instant of a local time; infinities stay, 22008 out of range.
pub fn local_to_utc(zone: &TimeZone, local_micros: i64) -> Result<i64> {
    if is_infinite(local_micros) {
        return Ok(local_micros);
    }
    let offset = i64::from(offset_of_local(zone, local_micros)) * SECOND_MICROS;
    local_micros
        .checked_sub(offset)
        .filter(|micros| timestamp_in_range(*micros))
        .ok_or_else(|| Error::new(SqlState::DatetimeFieldOverflow, "timestamp out of range"))
}

/// The first and the last local time that [`local_to_utc`] may make an instant. They differ where
/// clocks are changed within two days: then each offset of these days counts.
pub fn local_range(zone: &TimeZone, utc_micros: i64) -> (i64, i64) {
    const HALF_DAY: i64 = DAY_MICROS / 2;
    if is_infinite(utc_micros) {
        return (utc_micros, utc_micros);
    }
    let local = |half_days: i64| {
        let near = utc_micros.saturating_add(half_days * HALF_DAY);
        utc_micros.saturating_add(i64::from(offset_at(zone, near)) * SECOND_MICROS)
    };
    let ends = (-4..=4)
        .map(local)
        .fold((i64::MAX, i64::MIN), |(first, last), local| (first.min(local), last.max(local)));
    // What is out of range is as good as infinite.
    let in_range = |local| match local {
        ..TIMESTAMP_MIN => i64::MIN,
        TIMESTAMP_END.. => i64::MAX,
        local => local,
    };
    (in_range(ends.0), in_range(ends.1))
}

/// A fixed zone; its offset is in seconds east of UTC.
pub fn fixed_zone(seconds: i32) -> Option<TimeZone> {
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// The zone of a name in the database, in any case, or of a POSIX rule.
pub fn named_zone(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("gmt") {
        return Some(TimeZone::UTC);
    }
    TimeZone::get(name).ok().or_else(|| posix_zone(name))
}

/// The zone of a POSIX rule: `EST5EDT`, `<+03>-3`, `UTC+3`, and as PostgreSQL has it also without
/// an abbreviation: `+05:30`. Offsets west of Greenwich are positive.
fn posix_zone(rule: &str) -> Option<TimeZone> {
    let (name, rest) = posix_name(rule)?;
    let (standard, rest) = posix_offset(rest)?;
    let plain = |name: &str| {
        (3..=30).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'-')
    };
    if rest.is_empty() {
        if !plain(name) {
            return fixed_zone(-standard);
        }
        // Beyond a day only a fixed offset is possible.
        let rule = format!("<{name}>{}", posix_text(standard));
        return TimeZone::posix(&rule).ok().or_else(|| fixed_zone(-standard));
    }
    let (summer, rest) = posix_name(rest)?;
    let (shifted, rest) = match rest.as_bytes().first() {
        None | Some(b',') => (standard - 3600, rest),
        Some(_) => posix_offset(rest)?,
    };
    // Without a rule, that of the United States holds.
    let rest = if rest.is_empty() { ",M3.2.0,M11.1.0" } else { rest };
    let shown = |name: &str| if plain(name) { name.to_owned() } else { "ZZZ".to_owned() };
    TimeZone::posix(&format!(
        "<{}>{}<{}>{}{rest}",
        shown(name),
        posix_text(standard),
        shown(summer),
        posix_text(shifted)
    ))
    .ok()
}

/// Splits the abbreviation off a POSIX rule: `<…>`, or all up to a digit, a sign or a comma.
fn posix_name(rule: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = rule.strip_prefix('<') {
        return quoted.split_once('>');
    }
    let ends = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ',');
    Some(rule.split_at(rule.find(ends).unwrap_or(rule.len())))
}

/// Splits an offset off a POSIX rule: seconds west of Greenwich of `[+-]h[h[h]][:mm[:ss]]`.
fn posix_offset(rule: &str) -> Option<(i32, &str)> {
    let (sign, mut rest) = match rule.as_bytes().first()? {
        b'-' => (-1, &rule[1..]),
        b'+' => (1, &rule[1..]),
        _ => (1, rule),
    };
    let mut total = 0;
    for (size, max) in [(3600, 167), (60, 59), (1, 60)] {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let value: i32 = rest[..end].parse().ok().filter(|value| *value <= max)?;
        total += value * size;
        rest = &rest[end..];
        match rest.strip_prefix(':') {
            Some(after) if size > 1 => rest = after,
            _ => break,
        }
    }
    Some((sign * total, rest))
}

fn posix_text(seconds_west: i32) -> String {
    let (sign, seconds) = (if seconds_west < 0 { "-" } else { "" }, seconds_west.abs());
    format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The zone of a number of hours east of Greenwich, and PostgreSQL's name for it: `<+05:30>-05:30`.
pub fn zone_of_hours(hours: f64) -> Option<(String, TimeZone)> {
    let seconds = (hours * 3600.0).trunc();
    if !seconds.is_finite() || seconds.abs() > 26.0 * 3600.0 {
        return None;
    }
    let seconds = seconds as i32;
    let zone = fixed_zone(seconds)?;
    let (ahead, west, size) = match seconds {
        0.. => ("+", "-", seconds),
        _ => ("-", "+", -seconds),
    };
    let mut shown = format!("{:02}", size / 3600);
    if size % 3600 != 0 {
        shown.push_str(&format!(":{:02}", size / 60 % 60));
    }
    if size % 60 != 0 {
        shown.push_str(&format!(":{:02}", size % 60));
    }
    Some((format!("<{ahead}{shown}>{west}{shown}"), zone))
}

/// Seconds of `[+-]hh[[:]mm[[:]ss]]`, unsigned counted as positive; up to 15:59:59.
pub fn parse_offset(text: &str) -> Option<i32> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let parts: Vec<&str> = digits.split(':').collect();
    let number = |part: &str| {
        let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if plain { part.parse::<i32>().ok() } else { None }
    };
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hours, minutes, seconds] => (number(hours)?, number(minutes)?, number(seconds)?),
        [hours, minutes] => (number(hours)?, number(minutes)?, 0),
        [all] if all.len() <= 2 => (number(all)?, 0, 0),
        [all] if all.len() <= 4 => (number(all)? / 100, number(all)? % 100, 0),
        [all] if all.len() <= 6 => {
            let value = number(all)?;
            (value / 10_000, value / 100 % 100, value % 100)
        }
        _ => return None,
    };
    if hours > 15 || minutes > 59 || seconds > 59 {
        return None;
    }
    let total = hours * 3600 + minutes * 60 + seconds;
    Some(if negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Local times around these days, half an hour apart, and instants around each of them.
    #[test]
    fn no_local_time_outside_of_its_range_is_an_instant() {
        let cases = [
            ("Europe/Berlin", "2026-03-29"),
            ("America/New_York", "2026-11-01"),
            ("Australia/Lord_Howe", "2026-04-05"),
            ("Pacific/Apia", "2011-12-30"),
            ("Asia/Kolkata", "2026-01-01"),
        ];
        let mut wide = 0;
        for (name, day) in cases {
            let zone = named_zone(name).expect("zone");
            let day: jiff::civil::Date = day.parse().expect("date");
            let days = day.since(jiff::civil::date(2000, 1, 1)).expect("span").get_days();
            let noon = i64::from(days) * DAY_MICROS + DAY_MICROS / 2;
            for step in -150..150 {
                let local = noon + step * 1800 * SECOND_MICROS;
                let instant = local_to_utc(&zone, local).expect("in range");
                for other in [-30, -1, 0, 1, 30].map(|hours| hours * 3600 * SECOND_MICROS) {
                    let (first, last) = local_range(&zone, instant + other);
                    assert!(instant < instant + other || local >= first, "{name} {local} {other}");
                    assert!(instant > instant + other || local <= last, "{name} {local} {other}");
                    wide += usize::from(first < last);
                }
            }
        }
        assert!(wide > 0, "clocks are changed in none of these days");
    }
}
