//! Time zones: names, abbreviations, offsets and conversions both ways.
//!
//! The rules come from jiff's bundled database, which ends at the years ±9999. Later instants
//! repeat its last 400 years; earlier ones have the zone's first offset.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::civil::{DAYS_1970_TO_2000, SECOND_MICROS, is_infinite, timestamp_in_range};
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

fn jiff_timestamp(micros: i64) -> Timestamp {
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

/// Abbreviations that input accepts, with their seconds east of UTC and whether it is daylight
/// saving time.
const ABBREVIATIONS: &[(&str, i32, bool)] = &[
    ("acdt", 37_800, true),
    ("acst", 34_200, false),
    ("adt", -10_800, true),
    ("aedt", 39_600, true),
    ("aest", 36_000, false),
    ("akdt", -28_800, true),
    ("akst", -32_400, false),
    ("art", -10_800, false),
    ("ast", -14_400, false),
    ("awst", 28_800, false),
    ("brt", -10_800, false),
    ("bst", 3_600, true),
    ("cadt", 37_800, true),
    ("cast", 34_200, false),
    ("cdt", -18_000, true),
    ("cest", 7_200, true),
    ("cet", 3_600, false),
    ("clt", -14_400, false),
    ("cst", -21_600, false),
    ("eat", 10_800, false),
    ("edt", -14_400, true),
    ("eest", 10_800, true),
    ("eet", 7_200, false),
    ("est", -18_000, false),
    ("gmt", 0, false),
    ("hkt", 28_800, false),
    ("hst", -36_000, false),
    ("ist", 7_200, false),
    ("jst", 32_400, false),
    ("kst", 32_400, false),
    ("mdt", -21_600, true),
    ("mest", 7_200, true),
    ("met", 3_600, false),
    ("msd", 14_400, true),
    ("msk", 10_800, false),
    ("mst", -25_200, false),
    ("ndt", -9_000, true),
    ("nst", -12_600, false),
    ("nzdt", 46_800, true),
    ("nzst", 43_200, false),
    ("pdt", -25_200, true),
    ("pkt", 18_000, false),
    ("pst", -28_800, false),
    ("sast", 7_200, false),
    ("sgt", 28_800, false),
    ("uct", 0, false),
    ("ut", 0, false),
    ("utc", 0, false),
    ("wat", 3_600, false),
    ("west", 3_600, true),
    ("wet", 0, false),
    ("wib", 25_200, false),
    ("z", 0, false),
    ("zulu", 0, false),
];

/// Seconds east of UTC of an abbreviation in any case.
pub fn abbreviation_offset(name: &str) -> Option<i32> {
    let lower = name.to_ascii_lowercase();
    let at = ABBREVIATIONS.binary_search_by(|entry| entry.0.cmp(&lower)).ok()?;
    Some(ABBREVIATIONS[at].1)
}

/// A fixed zone so many seconds east of UTC.
pub fn fixed_zone(seconds: i32) -> Option<TimeZone> {
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// The zone of a name in the database, in any case; of a POSIX rule (`EST5EDT`, `<+03>-3`).
pub fn named_zone(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("gmt") {
        return Some(TimeZone::UTC);
    }
    if let Ok(zone) = TimeZone::get(name) {
        return Some(zone);
    }
    // PostgreSQL reads 'UTC+3' and 'foo-5:30' as POSIX rules: west is positive.
    let digits = name.find(|c: char| c.is_ascii_digit() || c == '+' || c == '-')?;
    let (word, rest) = name.split_at(digits);
    if word.chars().all(|c| c.is_ascii_alphabetic()) && (word.len() >= 3 || word.is_empty()) {
        if word.is_empty() {
            return None;
        }
        if rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | ':')) {
            return fixed_zone(-parse_offset(rest)?);
        }
    }
    TimeZone::posix(name).ok()
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

/// The zone that `AT TIME ZONE` and `SET TimeZone` mean: a name, an abbreviation, an offset in
/// hours (`-8`, `+05:30`, east positive as ISO has it) or a POSIX rule; 22023 for anything else.
pub fn zone_by_name(name: &str) -> Result<TimeZone> {
    let trimmed = name.trim();
    if let Some(offset) = abbreviation_offset(trimmed)
        && let Some(zone) = fixed_zone(offset)
        && TimeZone::get(trimmed).is_err()
    {
        return Ok(zone);
    }
    let numeric = trimmed.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let found =
        if numeric { parse_offset(trimmed).and_then(fixed_zone) } else { named_zone(trimmed) };
    found.ok_or_else(|| {
        let message = format!("time zone \"{name}\" not recognized");
        Error::new(SqlState::InvalidParameterValue, message)
    })
}
