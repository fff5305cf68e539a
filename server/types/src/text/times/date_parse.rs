//! Dates, times and timestamps in the forms that PostgreSQL reads.

use jiff::tz::TimeZone;

use super::clock::{Decoded, Fault, clock_parts, fraction_micros};
use super::tokens::{Token, tokenize};
use super::words::{is_weekday, month_of};
use crate::datetime::{
    Abbreviation, DATE_END, DATE_MIN, DAY_MICROS, DAYS_1970_TO_2000, JULIAN_2000, ZoneName,
    days_from_civil, days_in_month, fixed_zone, local_to_utc, named_zone, parse_offset, timestamp,
    utc_to_local,
};
use crate::text::{DateOrder, FormatSettings, is_blank};
use crate::{Error, Result, SqlState};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Now,
    Day(i64),
    Epoch,
    Infinity,
    NegInfinity,
}

#[derive(Default)]
pub(super) struct Decoder {
    year: Option<i64>,
    month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<u32>,
    julian: Option<i64>,
    text_month: bool,
    two_digits: bool,
    era: Option<bool>,
    time: Option<i64>,
    afternoon: Option<bool>,
    pub(super) zone: Option<ZoneName>,
    pub(super) special: Option<Special>,
    pub(super) time_only: bool,
}

impl Decoder {
    fn date_done(&self) -> bool {
        self.time_only
            || self.julian.is_some()
            || (self.year.is_some()
                && (self.day_of_year.is_some() || (self.month.is_some() && self.day.is_some())))
            || matches!(self.special, Some(Special::Day(_) | Special::Epoch))
    }

    fn decode(&mut self, tokens: &[Token], order: DateOrder) -> Decoded {
        let mut pending = None;
        for token in tokens {
            match (token, pending.take()) {
                (Token::Number(text), Some("j")) => {
                    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
                    self.julian = Some(whole.parse().map_err(|_| Fault::Field)?);
                    if !fraction.is_empty() {
                        let part: f64 = format!("0.{fraction}").parse().unwrap_or(0.0);
                        self.time = Some((part * DAY_MICROS as f64).round() as i64);
                    }
                }
                (Token::Number(text), Some(_)) => self.number_field(text, true)?,
                (Token::Time(text), _) => self.set_time(decode_clock(text)?)?,
                (Token::Date(text), Some("t")) => self.time_and_offset(text)?,
                (_, Some(_)) => return Err(Fault::Format),
                (Token::Number(text), None) => self.number(text, order)?,
                (Token::Date(text), None) => self.date_or_zone(text, order)?,
                (Token::Signed(text), None) => self.signed(text)?,
                (Token::Word(word), None) => {
                    pending = self.word(word)?;
                }
            }
        }
        if pending.is_some() { Err(Fault::Format) } else { Ok(()) }
    }

    fn set_time(&mut self, micros: i64) -> Decoded {
        if self.time.replace(micros).is_some() { Err(Fault::Format) } else { Ok(()) }
    }

    fn set_zone(&mut self, zone: Option<TimeZone>) -> Decoded {
        self.name_zone(ZoneName::Rules(zone.ok_or(Fault::Displacement)?))
    }

    fn name_zone(&mut self, zone: ZoneName) -> Decoded {
        if self.zone.replace(zone).is_some() { Err(Fault::Format) } else { Ok(()) }
    }

    fn signed(&mut self, text: &str) -> Decoded {
        let digits = &text[1..];
        if digits.contains(['.', '-']) {
            return Err(Fault::Format);
        }
        match parse_offset(text) {
            Some(seconds) => self.set_zone(fixed_zone(seconds)),
            None => Err(Fault::Displacement),
        }
    }

    fn word(&mut self, word: &str) -> Decoded<Option<&'static str>> {
        if let Some(month) = month_of(word) {
            if self.text_month {
                return Err(Fault::Format);
            }
            // A month number read before was the day.
            if let Some(number) = self.month
                && self.day.is_none()
            {
                self.day = Some(number);
            }
            self.text_month = true;
            self.month = Some(month);
            return Ok(None);
        }
        if is_weekday(word) || matches!(word, "at" | "on") {
            return Ok(None);
        }
        let special = match word {
            "now" => Special::Now,
            "today" => Special::Day(0),
            "tomorrow" => Special::Day(1),
            "yesterday" => Special::Day(-1),
            "epoch" => Special::Epoch,
            "infinity" | "+infinity" => Special::Infinity,
            "-infinity" => Special::NegInfinity,
            "allballs" => {
                self.set_time(0)?;
                self.set_zone(Some(TimeZone::UTC))?;
                return Ok(None);
            }
            "t" if self.date_done() => return Ok(Some("t")),
            "t" => return Ok(Some("t")),
            "j" | "jd" | "julian" => return Ok(Some("j")),
            "am" => return self.half(false),
            "pm" => return self.half(true),
            "ad" | "bc" => {
                if self.era.replace(word == "bc").is_some() {
                    return Err(Fault::Format);
                }
                return Ok(None);
            }
            "dst" => return Ok(None),
            _ => {
                if let Some(abbreviation) = Abbreviation::find(word) {
                    self.name_zone(ZoneName::Abbreviation(abbreviation))?;
                    return Ok(None);
                }
                let zone = named_zone(word).ok_or(Fault::Format)?;
                self.set_zone(Some(zone))?;
                return Ok(None);
            }
        };
        if self.special.replace(special).is_some() {
            return Err(Fault::Format);
        }
        Ok(None)
    }

    fn half(&mut self, afternoon: bool) -> Decoded<Option<&'static str>> {
        self.afternoon = Some(afternoon);
        Ok(None)
    }

    fn date_or_zone(&mut self, text: &str, order: DateOrder) -> Decoded {
        // With a month and a day, only the year can still be missing, and no year has this form.
        if self.date_done() || (self.month.is_some() && self.day.is_some()) {
            if text.starts_with(|c: char| c.is_ascii_digit()) {
                return self.time_and_offset(text);
            }
            let zone = named_zone(text).ok_or_else(|| Fault::UnknownZone(text.to_owned()))?;
            return self.set_zone(Some(zone));
        }
        let parts: Vec<&str> = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|part| !part.is_empty())
            .collect();
        if parts.len() > 3 || parts.is_empty() {
            return Err(Fault::Format);
        }
        for part in &parts {
            if part.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let Some(month) = month_of(part) else {
                    return Err(match named_zone(text) {
                        Some(_) => Fault::Format,
                        None if text.contains('/') => Fault::UnknownZone(text.to_owned()),
                        None => Fault::Format,
                    });
                };
                if self.text_month {
                    return Err(Fault::Format);
                }
                self.text_month = true;
                self.month = Some(month);
            }
        }
        for part in &parts {
            if part.starts_with(|c: char| c.is_ascii_digit()) {
                if !part.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(Fault::Format);
                }
                self.date_number(part, order)?;
            }
        }
        if self.year.is_some() && (self.day_of_year.is_some() || self.day.is_some()) {
            Ok(())
        } else {
            Err(Fault::Format)
        }
    }

    /// A time run together with an offset: `040506-08`.
    fn time_and_offset(&mut self, text: &str) -> Decoded {
        let at = text.find('-').ok_or(Fault::Format)?;
        self.number_field(&text[..at], true)?;
        self.signed(&text[at..])
    }

    fn number(&mut self, text: &str, order: DateOrder) -> Decoded {
        let whole = text.split('.').next().unwrap_or("");
        if text.contains('.') {
            if !self.date_done() && self.year.is_none() && whole.len() <= 4 {
                return self.date_or_zone(text, order);
            }
            return self.number_field(text, false);
        }
        // Five digits are a year. More are a date or a time, unless only the year is missing.
        let has_date = self.year.is_some() || self.month.is_some() || self.day.is_some();
        let runs_together = whole.len() >= 6 && (!has_date || self.time.is_none());
        if runs_together || self.date_done() {
            return self.number_field(text, false);
        }
        self.date_number(text, order)
    }

    /// A number of several fields: yyyymmdd, yymmdd, hhmmss or hhmm.
    fn number_field(&mut self, text: &str, time: bool) -> Decoded {
        let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
        let two = |at: usize| digits[at..at + 2].parse::<i64>().map_err(|_| Fault::Format);
        if !time && fraction.is_empty() && !self.date_done() && digits.len() >= 6 {
            let length = digits.len();
            self.day = Some(two(length - 2)? as u32);
            self.month = Some(two(length - 4)? as u32);
            self.year = Some(digits[..length - 4].parse().map_err(|_| Fault::Field)?);
            self.two_digits = length == 6;
            return Ok(());
        }
        if self.time.is_some() {
            return Err(Fault::Format);
        }
        let micros = fraction_micros(fraction)?;
        let (hours, minutes, seconds) = match digits.len() {
            6 => (two(0)?, two(2)?, two(4)?),
            4 => (two(0)?, two(2)?, 0),
            2 if time => (two(0)?, 0, 0),
            _ => return Err(Fault::Format),
        };
        self.set_time(clock(hours, minutes, seconds, micros)?)
    }

    /// One number of a date; which part it is depends on what is known and on the order.
    fn date_number(&mut self, text: &str, order: DateOrder) -> Decoded {
        let value: i64 = text.parse().map_err(|_| Fault::Field)?;
        let small = u32::try_from(value).unwrap_or(u32::MAX);
        let long = text.len() >= 3;
        if text.len() == 3
            && self.year.is_some()
            && self.month.is_none()
            && self.day.is_none()
            && (1..=366).contains(&value)
        {
            self.day_of_year = Some(small);
            return Ok(());
        }
        let mut set_year = false;
        match (self.year.is_some(), self.month.is_some(), self.day.is_some()) {
            (false, false, false) if long || order == DateOrder::Ymd => set_year = true,
            (false, false, false) if order == DateOrder::Dmy => self.day = Some(small),
            (false, false, false) => self.month = Some(small),
            (true, false, _) => self.month = Some(small),
            (false, true, false) if self.text_month && (long || order == DateOrder::Ymd) => {
                set_year = true;
            }
            (false, true, false) => self.day = Some(small),
            (true, true, false) if self.text_month && long && self.two_digits => {
                // 24-Feb-1999 read year first: the number before was the day.
                self.day = self.year.and_then(|year| u32::try_from(year).ok());
                set_year = true;
            }
            (true, true, false) => self.day = Some(small),
            (false, false, true) => self.month = Some(small),
            (false, true, true) => set_year = true,
            (true, true, true) => return self.number_field(text, false),
        }
        if set_year {
            self.year = Some(value);
            self.two_digits = text.len() <= 2;
        }
        Ok(())
    }

    /// Days since 2000-01-01; `None` without a date.
    pub(super) fn days(&self) -> Decoded<Option<i64>> {
        if let Some(julian) = self.julian {
            return Ok(Some(julian - i64::from(JULIAN_2000)));
        }
        if self.year.is_none() && self.month.is_none() && self.day.is_none() {
            return Ok(None);
        }
        let Some(mut year) = self.year else { return Err(Fault::Format) };
        if self.era == Some(true) {
            if year <= 0 {
                return Err(Fault::Field);
            }
            year = 1 - year;
        } else if self.two_digits {
            year += if year < 70 { 2000 } else { 1900 };
        } else if year <= 0 {
            return Err(Fault::Field);
        }
        let year = i32::try_from(year)
            .ok()
            .filter(|year| (-5000..6_000_000).contains(year))
            .ok_or(Fault::Field)?;
        if let Some(day) = self.day_of_year {
            return Ok(Some(days_from_civil(year, 1, 1) + i64::from(day) - 1));
        }
        let (Some(month), Some(day)) = (self.month, self.day) else { return Err(Fault::Format) };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Fault::DateOrder);
        }
        if day > days_in_month(year, month) {
            return Err(Fault::Field);
        }
        Ok(Some(days_from_civil(year, month, day)))
    }

    pub(super) fn time(&self) -> Decoded<Option<i64>> {
        const HOUR: i64 = 3_600_000_000;
        let Some(time) = self.time else { return Ok(None) };
        Ok(Some(match self.afternoon {
            None => time,
            Some(_) if time / HOUR > 12 => return Err(Fault::Field),
            Some(true) if time / HOUR < 12 => time + 12 * HOUR,
            Some(false) if time / HOUR == 12 => time - 12 * HOUR,
            Some(_) => time,
        }))
    }
}

fn clock(hours: i64, minutes: i64, seconds: i64, micros: i64) -> Decoded<i64> {
    if minutes > 59 || seconds > 60 || hours > 24 {
        return Err(Fault::Field);
    }
    let total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
    if total > DAY_MICROS { Err(Fault::Field) } else { Ok(total) }
}

/// `hh:mm[:ss[.ffffff]]`, or `mm:ss.ffffff`.
fn decode_clock(text: &str) -> Decoded<i64> {
    let (hours, minutes, seconds, micros) = clock_parts(text)?;
    clock(hours, minutes, seconds, micros)
}

pub(super) fn decode(text: &str, order: DateOrder, time_only: bool) -> Decoded<Decoder> {
    let tokens = tokenize(text.trim_matches(is_blank)).ok_or(Fault::Format)?;
    if tokens.is_empty() {
        return Err(Fault::Format);
    }
    let mut decoder = Decoder { time_only, ..Decoder::default() };
    if time_only {
        // A date before the time is read as one.
        decoder.time_only = !tokens.iter().any(|token| match token {
            Token::Date(text) => {
                text.starts_with(|c: char| c.is_ascii_digit())
                    && (text.matches(['-', '/', '.']).count() == 2)
            }
            Token::Word(word) => month_of(word).is_some(),
            _ => false,
        });
    }
    decoder.decode(&tokens, order)?;
    Ok(decoder)
}

/// The plain form `yyyy-mm-dd`, which bulk loads use.
fn quick_date(bytes: &[u8]) -> Option<i64> {
    let [a, b, c, d, b'-', e, f, b'-', g, h] = bytes else { return None };
    let digits = [a, b, c, d, e, f, g, h];
    if !digits.iter().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let value = |digit: &u8| u32::from(*digit - b'0');
    let year = value(a) * 1000 + value(b) * 100 + value(c) * 10 + value(d);
    let (month, day) = (value(e) * 10 + value(f), value(g) * 10 + value(h));
    let year = year as i32;
    let valid = year > 0 && (1..=12).contains(&month) && day >= 1;
    (valid && day <= days_in_month(year, month)).then(|| days_from_civil(year, month, day))
}

/// A `date` literal.
pub fn parse_date(text: &str, settings: &FormatSettings, now_micros: i64) -> Result<i32> {
    if let Some(days) = quick_date(text.as_bytes()) {
        return Ok(days as i32);
    }
    let fault = |fault: Fault| fault.error("date", text);
    let decoder = decode(text, settings.date_order, false).map_err(fault)?;
    decoder.time().map_err(fault)?;
    let today = utc_to_local(&settings.time_zone, now_micros).div_euclid(DAY_MICROS);
    let days = match decoder.special {
        Some(Special::Infinity) => return Ok(i32::MAX),
        Some(Special::NegInfinity) => return Ok(i32::MIN),
        Some(Special::Now) => today,
        Some(Special::Day(shift)) => today + shift,
        Some(Special::Epoch) => -i64::from(DAYS_1970_TO_2000),
        None => decoder.days().map_err(fault)?.ok_or_else(|| fault(Fault::Format))?,
    };
    if (i64::from(DATE_MIN)..i64::from(DATE_END)).contains(&days) {
        return Ok(days as i32);
    }
    let message = format!("date out of range: \"{text}\"");
    Err(Error::new(SqlState::DatetimeFieldOverflow, message))
}

/// A `time` literal: microseconds since midnight.
pub fn parse_time(text: &str, settings: &FormatSettings, now_micros: i64) -> Result<i64> {
    let fault = |fault: Fault| fault.error("time", text);
    let decoder = decode(text, settings.date_order, true).map_err(fault)?;
    match decoder.special {
        Some(Special::Now) => {
            return Ok(utc_to_local(&settings.time_zone, now_micros).rem_euclid(DAY_MICROS));
        }
        Some(_) => return Err(fault(Fault::Format)),
        None => {}
    }
    if !decoder.time_only {
        decoder.days().map_err(fault)?;
    } else if let Some(named) = &decoder.zone
        && named.at_local(0).to_fixed_offset().is_err()
    {
        // The offset of such a zone is that of a date.
        return Err(fault(Fault::Format));
    }
    decoder.time().map_err(fault)?.ok_or_else(|| fault(Fault::Format))
}

/// A `timestamp` literal (an offset in it is ignored), or with `zoned` a `timestamptz`: without
/// an offset it is local time in the session's zone.
pub fn parse_timestamp(
    text: &str,
    settings: &FormatSettings,
    now_micros: i64,
    zoned: bool,
) -> Result<i64> {
    let type_name = if zoned { "timestamp with time zone" } else { "timestamp" };
    let fault = |fault: Fault| fault.error(type_name, text);
    let out_of_range = || {
        Error::new(SqlState::DatetimeFieldOverflow, format!("timestamp out of range: \"{text}\""))
    };
    let decoder = decode(text, settings.date_order, false).map_err(fault)?;
    let local_now = utc_to_local(&settings.time_zone, now_micros);
    let time = decoder.time().map_err(fault)?;
    let days = match decoder.special {
        Some(Special::Infinity) => return Ok(i64::MAX),
        Some(Special::NegInfinity) => return Ok(i64::MIN),
        Some(Special::Now) => return Ok(if zoned { now_micros } else { local_now }),
        Some(Special::Epoch) => {
            let epoch = -i64::from(DAYS_1970_TO_2000) * DAY_MICROS;
            return Ok(epoch);
        }
        Some(Special::Day(shift)) => local_now.div_euclid(DAY_MICROS) + shift,
        None => decoder.days().map_err(fault)?.ok_or_else(|| fault(Fault::Format))?,
    };
    if !zoned {
        return timestamp(days, time.unwrap_or(0)).ok_or_else(out_of_range);
    }
    let local = days
        .checked_mul(DAY_MICROS)
        .and_then(|day| day.checked_add(time.unwrap_or(0)))
        .ok_or_else(out_of_range)?;
    let named = decoder.zone.as_ref().map(|zone| zone.at_local(local));
    local_to_utc(named.as_ref().unwrap_or(&settings.time_zone), local).map_err(|_| out_of_range())
}
