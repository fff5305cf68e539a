//! Dates and times read strictly by a template, as the standard has it for SQL/JSON.
//!
//! Other than for `to_timestamp`, separators must match, everything must be read, and the template
//! decides what the result is: a date, a time or a timestamp, with a zone or without.

use super::civil::*;
use super::from_char::{Found, invalid, is_name, take_name};
use super::pattern::{MONTHS, keyword_at, prefix};
use super::typmod::round;
use crate::timetz::TimeTz;
use crate::{Error, Result, SqlState};

/// Hours of a zone's offset, without this one.
const ZONE_HOURS_END: i64 = 16;

/// A date, a time or a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// A time of day in a zone.
    Timetz(TimeTz),
    /// Local microseconds since 2000-01-01.
    Timestamp(i64),
    /// An instant, and the zone in which it was written.
    Timestamptz {
        /// Microseconds since 2000-01-01 UTC.
        utc: i64,
        /// Seconds east of UTC.
        east: i32,
    },
}

/// A part of a template.
#[derive(Clone, Debug)]
enum Part {
    Field(Field),
    /// It must be there as it is.
    Separator(char),
    /// It must be there as it is, from between double quotes.
    Quoted(char),
    /// `FX`, which changes nothing here.
    Exact,
}

#[derive(Clone, Debug)]
struct Field {
    word: &'static str,
    /// As the template has it.
    written: String,
    /// `FM` before it: it takes all digits that are there.
    fills: bool,
    /// `TH` behind it.
    ordinal: bool,
}

/// A template of `.datetime()`.
#[derive(Clone, Debug)]
pub struct StandardTemplate(Vec<Part>);

fn malformed(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidDatetimeFormat, message)
}

/// How many digits a field takes when another number follows at once.
fn width(word: &str) -> usize {
    match word {
        "HH12" | "HH24" | "TZH" | "TZM" => 2,
        "IDDD" => 3,
        "ID" => 1,
        "US" => 6,
        "MS" => 3,
        "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => usize::from(word.as_bytes()[2] - b'0'),
        word => word.len(),
    }
}

impl StandardTemplate {
    /// Splits a template; 22007 for what is neither a field nor a separator.
    pub fn parse(template: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some(first) = rest.chars().next() {
            let mut fills = false;
            while let Some(after) = prefix(rest, "FM").or_else(|| prefix(rest, "TM")) {
                fills |= rest.starts_with(['F', 'f']);
                rest = after;
            }
            if let Some(word) = keyword_at(rest) {
                let written = rest[..word.len()].to_owned();
                rest = &rest[word.len()..];
                let ordinal = prefix(rest, "TH");
                rest = ordinal.unwrap_or(rest);
                let ordinal = ordinal.is_some();
                parts.push(Part::Field(Field { word, written, fills, ordinal }));
            } else if let Some(after) = rest.strip_prefix("FX").or_else(|| rest.strip_prefix("fx"))
            {
                parts.push(Part::Exact);
                rest = after;
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = Self::quoted(quoted, &mut parts);
            } else if let Some(separator) = rest.chars().next() {
                if !"-./,':; ".contains(separator) {
                    let message = format!("invalid datetime format separator: \"{separator}\"");
                    return Err(malformed(message));
                }
                parts.push(Part::Separator(separator));
                rest = &rest[separator.len_utf8()..];
            } else {
                // A prefix without a field.
                debug_assert!(fills || matches!(first, 'T' | 't'));
            }
        }
        Ok(StandardTemplate(parts))
    }

    fn quoted<'t>(text: &'t str, parts: &mut Vec<Part>) -> &'t str {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => parts.push(Part::Quoted(chars.next().unwrap_or('\\'))),
                c => parts.push(Part::Quoted(c)),
            }
        }
        chars.as_str()
    }

    fn has(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Field(field) if wanted(field.word)))
    }

    /// Whether the text of the field at a place ends by itself, or where its digits end.
    fn is_delimited(&self, at: usize) -> bool {
        match self.0.get(at + 1) {
            None => true,
            Some(Part::Field(next)) => is_name(next.word),
            Some(Part::Exact) => true,
            Some(Part::Separator(c) | Part::Quoted(c)) => !c.is_ascii_digit(),
        }
    }

    /// Reads a text; 22007 if it does not match, 22008 or 22009 if a part is out of range.
    pub fn read(&self, text: &str) -> Result<Moment> {
        let mut found = Found::default();
        let mut input = text;
        let mut zone = Zone::default();
        let mut uses_weeks = None;
        let mut parts = self.0.iter().enumerate();
        loop {
            if input.is_empty() {
                break;
            }
            let Some((at, part)) = parts.next() else { break };
            match part {
                Part::Exact => {}
                Part::Separator(c) => {
                    input = input
                        .strip_prefix(*c)
                        .ok_or_else(|| malformed(format!("unmatched format separator \"{c}\"")))?;
                }
                Part::Quoted(c) => {
                    input = input
                        .strip_prefix(*c)
                        .ok_or_else(|| malformed(format!("unmatched format character \"{c}\"")))?;
                }
                Part::Field(field) => {
                    check_convention(field.word, &mut uses_weeks)?;
                    let is_open = field.fills || field.ordinal || self.is_delimited(at);
                    read_field(&mut found, &mut zone, &mut input, field, is_open)?;
                    if field.ordinal {
                        input = input.get(2..).unwrap_or("");
                    }
                }
            }
        }
        if parts.next().is_some() {
            return Err(malformed("input string is too short for datetime format"));
        }
        if !input.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']).is_empty() {
            let message = "trailing characters remain in input string after datetime format";
            return Err(malformed(message));
        }
        self.assemble(&found, &zone, text)
    }

    fn assemble(&self, found: &Found, zone: &Zone, text: &str) -> Result<Moment> {
        let is_zone = |word: &str| matches!(word, "TZ" | "OF" | "TZH" | "TZM");
        let is_time = |word: &str| {
            matches!(
                word,
                "AM" | "PM"
                    | "A.M."
                    | "P.M."
                    | "HH"
                    | "HH12"
                    | "HH24"
                    | "MI"
                    | "SS"
                    | "MS"
                    | "US"
                    | "SSSS"
                    | "SSSSS"
            ) || word.starts_with("FF")
        };
        let is_timed = self.has(is_time);
        let is_zoned = self.has(is_zone);
        let is_dated = self.has(|word| !is_zone(word) && !is_time(word));
        let out_of_range = |what: &str| {
            Error::new(SqlState::DatetimeFieldOverflow, format!("{what} out of range"))
        };
        let time = found.time(text)?;
        let days = found.days(text)?;
        let east = zone.seconds_east(text)?;
        let rounded = |micros: i64| found.precision.map_or(micros, |digits| round(micros, digits));
        Ok(match (is_dated, is_timed, is_zoned) {
            (true, true, true) => {
                let local = timestamp(days, time).ok_or_else(|| out_of_range("timestamptz"))?;
                let utc = local - i64::from(east) * SECOND_MICROS;
                if !timestamp_in_range(utc) {
                    return Err(out_of_range("timestamptz"));
                }
                Moment::Timestamptz { utc: rounded(utc), east }
            }
            (true, true, false) => {
                let local = timestamp(days, time).ok_or_else(|| out_of_range("timestamp"))?;
                Moment::Timestamp(rounded(local))
            }
            (true, false, true) => {
                return Err(malformed("datetime format is zoned but not timed"));
            }
            (true, false, false) => {
                if !(i64::from(DATE_MIN)..i64::from(DATE_END)).contains(&days) {
                    let message = format!("date out of range: \"{text}\"");
                    return Err(Error::new(SqlState::DatetimeFieldOverflow, message));
                }
                Moment::Date(days as i32)
            }
            (false, true, true) => Moment::Timetz(TimeTz { micros: rounded(time), west: -east }),
            (false, true, false) => Moment::Time(rounded(time)),
            (false, false, _) => {
                return Err(malformed("datetime format is not dated and not timed"));
            }
        })
    }
}

/// The parts of a zone's offset.
#[derive(Default)]
struct Zone {
    is_negative: bool,
    hours: i64,
    minutes: i64,
}

impl Zone {
    fn seconds_east(&self, text: &str) -> Result<i32> {
        if self.hours >= ZONE_HOURS_END || !(0..60).contains(&self.minutes) || self.hours < 0 {
            let message = format!("time zone displacement out of range: \"{text}\"");
            return Err(Error::new(SqlState::InvalidTimeZoneDisplacement, message));
        }
        let seconds = (self.hours * 3600 + self.minutes * 60) as i32;
        Ok(if self.is_negative { -seconds } else { seconds })
    }
}

/// 22007 for fields of ISO weeks beside fields of the calendar.
fn check_convention(word: &str, uses_weeks: &mut Option<bool>) -> Result<()> {
    let is_week = word.starts_with('I');
    let is_calendar = word.starts_with('Y')
        || matches!(word, "MONTH" | "MON" | "MM" | "RM" | "DDD" | "DD" | "D" | "WW" | "W");
    if !is_week && !is_calendar {
        return Ok(());
    }
    if *uses_weeks.get_or_insert(is_week) == is_week {
        return Ok(());
    }
    Err(malformed("invalid combination of date conventions")
        .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."))
}

fn read_field(
    found: &mut Found,
    zone: &mut Zone,
    input: &mut &str,
    field: &Field,
    is_open: bool,
) -> Result<()> {
    match field.word {
        "TZ" | "OF" => {
            let message =
                format!("formatting field \"{}\" is only supported in to_char", field.written);
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        "TZH" => {
            if let Some(sign) = input.chars().next().filter(|c| matches!(c, '+' | '-' | ' ')) {
                zone.is_negative = sign == '-';
                *input = &input[1..];
            }
            zone.hours = read_number(input, field, is_open)?.1;
            Ok(())
        }
        "TZM" => {
            zone.minutes = read_number(input, field, is_open)?.1;
            Ok(())
        }
        "MONTH" | "MON" => {
            let short = field.word == "MON";
            found.month = Some(take_name(input, &MONTHS, &field.written, short)? as u32 + 1);
            Ok(())
        }
        "Y,YYY" => found.keyword(input, field.word, &field.written, false),
        word if is_name(word) => found.keyword(input, word, &field.written, false),
        word => {
            let (digits, value) = read_number(input, field, is_open)?;
            found.number(word, digits, value);
            Ok(())
        }
    }
}

/// The digits of a field and their value. An open field takes all that are there, any other one
/// exactly its width.
fn read_number<'a>(input: &mut &'a str, field: &Field, is_open: bool) -> Result<(&'a str, i64)> {
    const HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";
    let length = width(field.word);
    let trimmed = input.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    let limited = trimmed.char_indices().nth(length).map_or(trimmed, |(end, _)| &trimmed[..end]);
    let source = if is_open { trimmed } else { limited };
    if !is_open && trimmed.len() < length {
        let message = format!("source string too short for \"{}\" formatting field", field.written);
        let detail =
            format!("Field requires {length} characters, but only {} remain.", trimmed.len());
        return Err(malformed(message).detail(detail).hint(HINT));
    }
    let sign = usize::from(source.starts_with(['+', '-']));
    let count = source[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return Err(invalid(limited, &field.written, Some("Value must be an integer.")));
    }
    let used = sign + count;
    if !is_open && used < length {
        let detail =
            format!("Field requires {length} characters, but only {used} could be parsed.");
        return Err(invalid(limited, &field.written, Some(&detail)).hint(HINT));
    }
    let digits = &source[..used];
    *input = &trimmed[used..];
    let value = digits.parse::<i32>().map_err(|_| {
        let message = format!("value for \"{}\" in source string is out of range", field.written);
        Error::new(SqlState::DatetimeFieldOverflow, message).detail(format!(
            "Value must be in the range {} to {}.",
            i32::MIN,
            i32::MAX
        ))
    })?;
    Ok((digits, value.into()))
}

/// Reads a text strictly by a template.
pub fn parse_standard(text: &str, template: &str) -> Result<Moment> {
    StandardTemplate::parse(template)?.read(text)
}
