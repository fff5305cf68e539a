//! `to_timestamp(text, template)` and `to_date(text, template)`.

use jiff::tz::TimeZone;

use super::abbreviation::Abbreviation;
use super::civil::*;
use super::pattern::{DAYS, MONTHS, Part, ROMAN, split};
use super::typmod::round;
use super::zone::local_to_utc;
use crate::{Error, Result, SqlState};

#[derive(Default)]
pub(super) struct Found {
    year: Option<i64>,
    century: Option<i64>,
    before_christ: bool,
    pub(super) month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<i64>,
    week: Option<i64>,
    week_of_month: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    julian: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    afternoon: Option<bool>,
    twelve_hours: bool,
    /// Seconds east of UTC.
    offset: Option<i64>,
    abbreviation: Option<Abbreviation>,
    /// The digits after the second that the template asks for.
    pub(super) precision: Option<i32>,
    fraction_too_long: bool,
    offset_negative: bool,
    /// Whether the date fields so far are those of ISO weeks.
    counts_iso_weeks: Option<bool>,
}

pub(super) fn invalid(value: &str, word: &str, detail: Option<&str>) -> Error {
    let error = Error::new(
        SqlState::InvalidDatetimeFormat,
        format!("invalid value \"{value}\" for \"{word}\""),
    );
    match detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

fn field_overflow(text: &str) -> Error {
    Error::new(
        SqlState::DatetimeFieldOverflow,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// How many digits a keyword takes when another number follows at once.
fn width(word: &str) -> usize {
    match word {
        "Y,YYY" => 5,
        "YYYY" | "IYYY" => 4,
        "YYY" | "IYY" | "DDD" | "IDDD" | "MS" => 3,
        "US" => 6,
        "SSSS" | "SSSSS" => 5,
        "J" => 7,
        "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => usize::from(word.as_bytes()[2] - b'0'),
        "D" | "ID" | "I" | "Q" | "W" | "Y" => 1,
        _ => 2,
    }
}

/// Whether the text of a keyword's field is a name instead of digits.
pub(super) fn is_name(word: &str) -> bool {
    matches!(
        word,
        "MONTH"
            | "MON"
            | "DAY"
            | "DY"
            | "RM"
            | "AM"
            | "PM"
            | "A.M."
            | "P.M."
            | "AD"
            | "BC"
            | "A.D."
            | "B.C."
            | "TZ"
            | "OF"
            | "TZH"
    )
}

fn is_numeric_keyword(part: Option<&Part>) -> bool {
    matches!(part, Some(Part::Keyword { word, .. }) if !is_name(word))
}

/// The digits at the front of the input, with the sign before them. Where another number follows at
/// once, the field has exactly its width.
fn take_number<'a>(input: &mut &'a str, word: &str, next_is_number: bool) -> Result<&'a str> {
    let trimmed = input.trim_start();
    let sign = usize::from(trimmed.starts_with(['-', '+']));
    let limit = if next_is_number { width(word) } else { 18 };
    let digits = trimmed[sign..].bytes().take(limit).take_while(u8::is_ascii_digit).count();
    let shown = || trimmed.chars().take(width(word)).collect::<String>();
    if digits == 0 {
        return Err(invalid(&shown(), word, Some("Value must be an integer.")));
    }
    if next_is_number && sign + digits < limit {
        let hint = "Put \"FM\" before a field whose width varies.";
        let left = trimmed.len();
        if left < limit {
            let message = format!("source string too short for \"{word}\" formatting field");
            let detail = format!("Field requires {limit} characters, but only {left} remain.");
            let error = Error::new(SqlState::InvalidDatetimeFormat, message);
            return Err(error.detail(detail).hint(hint));
        }
        let parsed = sign + digits;
        let detail =
            format!("Field requires {limit} characters, but only {parsed} could be parsed.");
        return Err(invalid(&shown(), word, Some(&detail)).hint(hint));
    }
    let (number, rest) = trimmed.split_at(sign + digits);
    *input = rest;
    Ok(number)
}

/// The index of the name at the front of the input; the longest match wins.
pub(super) fn take_name(
    input: &mut &str,
    names: &[&str],
    word: &str,
    short: bool,
) -> Result<usize> {
    let trimmed = input.trim_start();
    let mut best: Option<(usize, usize)> = None;
    for (at, name) in names.iter().enumerate() {
        let name = if short { &name[..3] } else { name };
        let matches = trimmed.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        if matches && best.is_none_or(|(_, length)| name.len() > length) {
            best = Some((at, name.len()));
        }
    }
    match best {
        Some((at, length)) => {
            *input = &trimmed[length..];
            Ok(at)
        }
        None => {
            let shown: String = trimmed.split_whitespace().next().unwrap_or("").to_owned();
            let detail = "The given value did not match any of the allowed values for this field.";
            Err(invalid(&shown, word, Some(detail)))
        }
    }
}

impl Found {
    fn read(&mut self, text: &str, template: &str) -> Result<()> {
        let parts = split(template);
        let mut input = text.trim_start();
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => {
                    for c in literal.chars() {
                        skip_literal(&mut input, c);
                    }
                }
                Part::Keyword { word, written, fill, ordinal } => {
                    if input.trim().is_empty() {
                        break;
                    }
                    if at > 0 && !matches!(*word, "TZH" | "OF") {
                        skip_separators(&mut input, word);
                    }
                    self.note_convention(word)?;
                    let before = self.field(word);
                    let next = *fill && is_numeric_keyword(parts.get(at + 1));
                    self.keyword(&mut input, word, written, next)?;
                    if before.is_some_and(|value| value != 0) && before != self.field(word) {
                        let message = format!(
                            "conflicting values for \"{written}\" field in formatting string"
                        );
                        return Err(Error::new(SqlState::InvalidDatetimeFormat, message)
                            .detail("Another field of the template has set another value."));
                    }
                    if ordinal.is_some() {
                        input = input.get(2..).unwrap_or("");
                    }
                }
            }
        }
        Ok(())
    }

    /// The value that a keyword sets, if another keyword may set it as well.
    fn field(&self, word: &str) -> Option<i64> {
        match word {
            "YYYY" | "YYY" | "YY" | "Y" | "Y,YYY" => self.year,
            "IYYY" | "IYY" | "IY" | "I" => self.iso_year,
            "MM" | "MON" | "MONTH" | "RM" => self.month.map(i64::from),
            "DD" => self.day.map(i64::from),
            "DDD" => self.day_of_year,
            "HH" | "HH12" | "HH24" => Some(self.hour),
            "MI" => Some(self.minute),
            "SS" => Some(self.second),
            _ => None,
        }
    }

    /// Fields of the Gregorian calendar and of ISO weeks exclude each other.
    fn note_convention(&mut self, word: &str) -> Result<()> {
        let counts_iso_weeks = match word {
            "IYYY" | "IYY" | "IY" | "I" | "IW" | "ID" | "IDDD" => true,
            "YYYY" | "YYY" | "YY" | "Y" | "Y,YYY" | "CC" | "MM" | "MON" | "MONTH" | "RM" | "DD"
            | "DDD" | "WW" | "W" => false,
            _ => return Ok(()),
        };
        if *self.counts_iso_weeks.get_or_insert(counts_iso_weeks) == counts_iso_weeks {
            return Ok(());
        }
        let message = "invalid combination of date conventions";
        Err(Error::new(SqlState::InvalidDatetimeFormat, message)
            .hint("Use either Gregorian fields or ISO week fields in one template."))
    }

    pub(super) fn keyword(
        &mut self,
        input: &mut &str,
        word: &'static str,
        written: &str,
        next: bool,
    ) -> Result<()> {
        match word {
            "MONTH" | "MON" => {
                let short = word == "MON";
                self.month = Some(take_name(input, &MONTHS, written, short)? as u32 + 1);
            }
            "RM" => self.month = Some(take_name(input, &ROMAN, written, false)? as u32 + 1),
            "DAY" | "DY" => {
                take_name(input, &DAYS, written, word == "DY")?;
            }
            "AM" | "PM" | "A.M." | "P.M." => {
                let names = ["AM", "PM", "A.M.", "P.M."];
                self.afternoon = Some(take_name(input, &names, written, false)? % 2 == 1);
                self.twelve_hours = true;
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let names = ["AD", "BC", "A.D.", "B.C."];
                self.before_christ = take_name(input, &names, written, false)? % 2 == 1;
            }
            "TZ" => {
                let trimmed = input.trim_start();
                let end = trimmed.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
                let found = Abbreviation::find(&trimmed[..end]).ok_or_else(|| {
                    Error::new(
                        SqlState::FeatureNotSupported,
                        "formatting field \"TZ\" is only supported in to_char",
                    )
                })?;
                self.abbreviation = Some(found);
                *input = &trimmed[end..];
            }
            "OF" => {
                return Err(Error::new(
                    SqlState::FeatureNotSupported,
                    "formatting field \"OF\" is only supported in to_char",
                ));
            }
            "Y,YYY" => {
                let thousands = take_number(input, "YYYY", false)?;
                let rest = input.strip_prefix(',').unwrap_or(input);
                let end = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
                let year = format!("{thousands}{}", &rest[..end]);
                *input = &rest[end..];
                self.year = year.parse().ok();
            }
            _ => {
                let digits = take_number(input, word, next)?;
                let value: i64 = digits.parse().map_err(|_| field_overflow(digits))?;
                self.number(word, digits, value);
            }
        }
        Ok(())
    }

    pub(super) fn number(&mut self, word: &str, digits: &str, value: i64) {
        let short_year = |value: i64, length: usize| match length {
            _ if digits.len() > 3 => value,
            1..=2 if value < 70 => value + 2000,
            1..=2 if value < 100 => value + 1900,
            3 if (100..520).contains(&value) => value + 2000,
            3 if (520..1000).contains(&value) => value + 1000,
            _ if value < 70 => value + 2000,
            _ if value < 100 => value + 1900,
            _ => value,
        };
        let fraction = |digits: &str| {
            let padded: String = digits.chars().chain("000000".chars()).take(6).collect();
            padded.parse::<i64>().unwrap_or(0)
        };
        match word {
            "HH" | "HH12" => {
                self.hour = value;
                self.twelve_hours = true;
            }
            "HH24" => self.hour = value,
            "MI" => self.minute = value,
            "SS" => self.second = value,
            "MS" if digits.len() > 3 => self.fraction_too_long = true,
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" if digits.len() > 6 => {
                self.fraction_too_long = true;
            }
            "MS" | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                self.micros = fraction(digits);
                if let Some(places) = word.strip_prefix("FF") {
                    self.precision = places.parse().ok();
                }
            }
            "SSSS" | "SSSSS" => {
                self.hour = value / 3600;
                self.minute = value / 60 % 60;
                self.second = value % 60;
            }
            "YYYY" => self.year = Some(value),
            "YYY" => self.year = Some(short_year(value, 3)),
            "YY" => self.year = Some(short_year(value, 2)),
            "Y" => self.year = Some(short_year(value, 1)),
            "IYYY" => self.iso_year = Some(value),
            "IYY" => self.iso_year = Some(short_year(value, 3)),
            "IY" | "I" => self.iso_year = Some(short_year(value, 2)),
            "CC" => self.century = Some(value),
            "MM" => self.month = Some(u32::try_from(value).unwrap_or(u32::MAX)),
            "DD" => self.day = Some(u32::try_from(value).unwrap_or(u32::MAX)),
            "DDD" => self.day_of_year = Some(value),
            "IDDD" => {
                self.iso_week = Some((value - 1).div_euclid(7) + 1);
                self.iso_day = Some((value - 1).rem_euclid(7) + 1);
            }
            "WW" => self.week = Some(value),
            "W" => self.week_of_month = Some(value),
            "IW" => self.iso_week = Some(value),
            "ID" => self.iso_day = Some(value),
            "J" => self.julian = Some(value),
            "TZH" => {
                self.offset_negative = digits.starts_with('-');
                self.offset = Some(value.saturating_mul(3600));
            }
            "TZM" => {
                let minutes = if self.offset_negative { -value } else { value };
                self.offset = Some(self.offset.unwrap_or(0).saturating_add(minutes * 60));
            }
            _ => {}
        }
    }

    pub(super) fn days(&self, text: &str) -> Result<i64> {
        if let Some(julian) = self.julian {
            return Ok(julian - i64::from(JULIAN_2000));
        }
        let narrow = |year: i64| {
            let year = i32::try_from(year).ok().filter(|y| (-5000..6_000_000).contains(y));
            year.ok_or_else(|| field_overflow(text))
        };
        if let Some(week) = self.iso_week {
            let year = narrow(self.iso_year.or(self.year).unwrap_or(1))?;
            if !(1..=53).contains(&week) {
                return Err(field_overflow(text));
            }
            return Ok(iso_week_start(year, week) + self.iso_day.unwrap_or(1) - 1);
        }
        let mut year = self.year.or(self.iso_year);
        if year.is_none() {
            let century = self.century.filter(|century| *century != 0);
            year = century.map(|century| first_year(century, self.before_christ));
        }
        let year = match year {
            // Without a year: 1 BC.
            None => 0,
            Some(year) if self.before_christ && year < 0 => -year,
            Some(year) if self.before_christ => 1 - year,
            Some(year) if year < 0 => year + 1,
            Some(0) => 0,
            Some(year) => year,
        };
        let year = narrow(year)?;
        if let Some(day) = self.day_of_year
            && self.month.is_none()
        {
            let length = if is_leap(year) { 366 } else { 365 };
            if !(1..=length).contains(&day) {
                return Err(field_overflow(text));
            }
            return Ok(days_from_civil(year, 1, 1) + day - 1);
        }
        if let Some(week) = self.week {
            return Ok(days_from_civil(year, 1, 1) + (week.clamp(1, 53) - 1) * 7);
        }
        let month = self.month.unwrap_or(1);
        let day = match (self.day, self.week_of_month) {
            (Some(day), _) => day,
            (None, Some(week)) => ((week.clamp(1, 5) - 1) * 7 + 1) as u32,
            (None, None) => 1,
        };
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return Err(field_overflow(text));
        }
        Ok(days_from_civil(year, month, day))
    }

    pub(super) fn time(&self, text: &str) -> Result<i64> {
        if self.fraction_too_long {
            return Err(field_overflow(text));
        }
        let mut hour = self.hour;
        if self.twelve_hours {
            if !(1..=12).contains(&hour) {
                return Err(Error::new(
                    SqlState::InvalidDatetimeFormat,
                    format!("hour \"{hour}\" is invalid for the 12-hour clock"),
                )
                .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            hour = match self.afternoon {
                Some(true) if hour < 12 => hour + 12,
                Some(false) if hour == 12 => 0,
                None if hour == 12 => 0,
                _ => hour,
            };
        }
        let valid = (0..24).contains(&hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second);
        if !valid {
            return Err(field_overflow(text));
        }
        Ok(hour * HOUR_MICROS
            + self.minute * MINUTE_MICROS
            + self.second * SECOND_MICROS
            + self.micros)
    }
}

/// Blanks and separators before a field; a minus is a sign only before a year or an offset.
fn skip_separators(input: &mut &str, word: &str) {
    let signed = word.starts_with(['Y', 'I', 'T', 'C']);
    let separator = |c: char| c.is_ascii_punctuation() && !(signed && matches!(c, '-' | '+'));
    *input = input.trim_start_matches(|c: char| c.is_whitespace() || separator(c));
}

/// A separator in the template takes blanks and one separator of the input; anything else takes
/// one character.
fn skip_literal(input: &mut &str, c: char) {
    if c.is_whitespace() || c.is_ascii_punctuation() {
        let trimmed = input.trim_start();
        let mut chars = trimmed.chars();
        *input = match chars.next() {
            // A minus after a blank belongs to the number that follows.
            Some('-') if c.is_whitespace() && trimmed.len() < input.len() => trimmed,
            Some(next) if next.is_ascii_punctuation() => chars.as_str(),
            _ => trimmed,
        };
    } else {
        let mut chars = input.chars();
        chars.next();
        *input = chars.as_str();
    }
}

/// `to_timestamp(text, template)`: local time in the zone unless an offset is read.
pub fn to_timestamp(text: &str, template: &str, zone: &TimeZone) -> Result<i64> {
    let mut found = Found::default();
    found.read(text, template)?;
    let out_of_range = || Error::new(SqlState::DatetimeFieldOverflow, "timestamp out of range");
    let local = timestamp(found.days(text)?, found.time(text)?).ok_or_else(out_of_range)?;
    let local = found.precision.map_or(local, |digits| round(local, digits));
    if let Some(abbreviation) = found.abbreviation {
        return local_to_utc(&abbreviation.at_local(local), local);
    }
    match found.offset {
        Some(offset) => offset
            .checked_mul(SECOND_MICROS)
            .and_then(|offset| local.checked_sub(offset))
            .filter(|micros| timestamp_in_range(*micros))
            .ok_or_else(out_of_range),
        None => local_to_utc(zone, local),
    }
}

/// `to_date(text, template)`.
pub fn to_date(text: &str, template: &str) -> Result<i32> {
    let mut found = Found::default();
    found.read(text, template)?;
    found.time(text)?;
    let days = found.days(text)?;
    if (i64::from(DATE_MIN)..i64::from(DATE_END)).contains(&days) {
        return Ok(days as i32);
    }
    let message = format!("date out of range: \"{text}\"");
    Err(Error::new(SqlState::DatetimeFieldOverflow, message))
}

/// The first year of a century, as a field for years would have it. Centuries before Christ are
/// negative or marked by BC.
fn first_year(century: i64, before_christ: bool) -> i64 {
    match (century > 0, before_christ) {
        (true, false) => (century - 1) * 100 + 1,
        (false, true) if century < 0 => (century + 1) * 100 - 1,
        _ => century * 100,
    }
}
