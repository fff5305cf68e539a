//! `to_char` for timestamps and intervals.

use jiff::tz::TimeZone;

use super::civil::*;
use super::pattern::{DAYS, MONTHS, Part, ROMAN, split};
use super::zone::{abbreviation_at, offset_at, utc_to_local};
use crate::{Error, Interval, Result, SqlState};

/// Keywords that mean nothing for an interval.
const NEED_DATE: &[&str] = &[
    "A.D.", "B.C.", "AD", "BC", "MONTH", "MON", "DAY", "DY", "D", "ID", "IDDD", "IYYY", "IYY",
    "IY", "I", "IW", "OF", "TZ", "TZH", "TZM",
];

/// What the keywords print.
struct Fields {
    year: i64,
    month: i64,
    /// Day of the month; all days of an interval.
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Days since 2000-01-01; `None` for intervals.
    date: Option<i64>,
    zone: Option<(String, i32)>,
}

/// `to_char(timestamp, template)`; the empty text for an infinity.
pub fn timestamp_to_char(micros: i64, template: &str) -> String {
    if is_infinite(micros) { String::new() } else { fields_of(micros, None).print(template) }
}

/// `to_char(timestamptz, template)` in a zone's local time.
pub fn timestamptz_to_char(micros: i64, template: &str, zone: &TimeZone) -> String {
    if is_infinite(micros) {
        return String::new();
    }
    let (name, _) = abbreviation_at(zone, micros);
    let offset = offset_at(zone, micros);
    fields_of(utc_to_local(zone, micros), Some((name, offset))).print(template)
}

/// `to_char(interval, template)`; 22007 for a keyword that needs a calendar date.
pub fn interval_to_char(value: &Interval, template: &str) -> Result<String> {
    let needs_date = |part: &Part| match part {
        Part::Keyword { word, .. } => NEED_DATE.contains(word),
        Part::Literal(_) => false,
    };
    if split(template).iter().any(needs_date) {
        return Err(Error::new(
            SqlState::InvalidDatetimeFormat,
            "invalid format specification for an interval value",
        )
        .hint("Intervals are not tied to specific calendar dates."));
    }
    let seconds = value.micros / SECOND_MICROS;
    let fields = Fields {
        year: i64::from(value.months / 12),
        month: i64::from(value.months % 12),
        day: value.days.into(),
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        micros: value.micros % SECOND_MICROS,
        date: None,
        zone: None,
    };
    Ok(fields.print(template))
}

fn fields_of(local: i64, zone: Option<(String, i32)>) -> Fields {
    let at = civil(local);
    let seconds = at.micros / SECOND_MICROS;
    Fields {
        year: at.year.into(),
        month: at.month.into(),
        day: at.day.into(),
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        micros: at.micros % SECOND_MICROS,
        date: Some(local.div_euclid(DAY_MICROS)),
        zone,
    }
}

/// A name in the case of its keyword: `MONTH`, `Month` or `month`.
fn in_case(name: &str, written: &str) -> String {
    let mut letters = written.chars();
    let first = letters.next().is_some_and(char::is_uppercase);
    let second = letters.next().is_some_and(char::is_uppercase);
    match (first, second) {
        (true, true) => name.to_uppercase(),
        (true, false) => name.to_owned(),
        _ => name.to_lowercase(),
    }
}

fn ordinal_suffix(text: &str, upper: bool) -> &'static str {
    let number: i64 = text.trim().replace(',', "").parse().unwrap_or(0);
    let number = number.abs();
    let suffixes = if upper { ["TH", "ST", "ND", "RD"] } else { ["th", "st", "nd", "rd"] };
    match (number % 100, number % 10) {
        (11..=13, _) => suffixes[0],
        (_, last @ 1..=3) => suffixes[last as usize],
        _ => suffixes[0],
    }
}

impl Fields {
    fn print(&self, template: &str) -> String {
        let mut out = String::new();
        for part in split(template) {
            match part {
                Part::Literal(text) => out.push_str(&text),
                Part::Keyword { word, written, fill, ordinal } => {
                    let text = self.keyword(word, &written, fill);
                    out.push_str(&text);
                    if let Some(upper) = ordinal
                        && text.ends_with(|c: char| c.is_ascii_digit())
                    {
                        out.push_str(ordinal_suffix(&text, upper));
                    }
                }
            }
        }
        out
    }

    /// The first digits after the second.
    fn fraction(&self, word: &str) -> String {
        let digits = usize::from(word.as_bytes()[2] - b'0');
        let sign = if self.micros < 0 { "-" } else { "" };
        format!("{sign}{}", &format!("{:06}", self.micros.abs())[..digits])
    }

    /// The month from 0; intervals count months back from the year's end.
    fn month_index(&self) -> usize {
        if self.month == 0 {
            return if self.year < 0 { 0 } else { 11 };
        }
        if self.month > 0 { self.month as usize - 1 } else { (self.month + 12) as usize % 12 }
    }

    /// The year as the calendar counts it: 1 BC is 1.
    fn shown_year(&self) -> i64 {
        if self.date.is_some() && self.year <= 0 { 1 - self.year } else { self.year }
    }

    fn keyword(&self, word: &str, written: &str, fill: bool) -> String {
        let number = |value: i64, width: usize| {
            let width = match (fill, value < 0) {
                (false, _) => 0,
                (true, true) => width + 1,
                (true, false) => width,
            };
            format!("{value:0width$}")
        };
        let name = |name: &str, width: usize| {
            let name = in_case(name, written);
            if fill { format!("{name:width$}") } else { name }
        };
        match word {
            "HH" | "HH12" => match self.hour % 12 {
                0 => number(12, 2),
                hour => number(hour, 2),
            },
            "HH24" => number(self.hour, 2),
            "MI" => number(self.minute, 2),
            "SS" => number(self.second, 2),
            "MS" => format!("{:03}", self.micros / 1000),
            "US" => format!("{:06}", self.micros),
            "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => self.fraction(word),
            "SSSS" | "SSSSS" => number(self.hour * 3600 + self.minute * 60 + self.second, 0),
            "AM" | "PM" | "A.M." | "P.M." => {
                let afternoon = self.hour % 24 >= 12;
                let text = match (word.contains('.'), afternoon) {
                    (false, false) => "AM",
                    (false, true) => "PM",
                    (true, false) => "A.M.",
                    (true, true) => "P.M.",
                };
                let lower = written.starts_with(char::is_lowercase);
                if lower { text.to_lowercase() } else { text.to_owned() }
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let text = match (word.contains('.'), self.year <= 0) {
                    (false, false) => "AD",
                    (false, true) => "BC",
                    (true, false) => "A.D.",
                    (true, true) => "B.C.",
                };
                let lower = written.starts_with(char::is_lowercase);
                if lower { text.to_lowercase() } else { text.to_owned() }
            }
            "RM" if self.month == 0 && self.year == 0 => String::new(),
            "MONTH" | "MON" if self.month == 0 => String::new(),
            "MONTH" => name(MONTHS[self.month_index()], 9),
            "MON" => in_case(&MONTHS[self.month_index()][..3], written),
            "MM" => number(self.month, 2),
            "RM" => {
                let roman = ROMAN[self.month_index()];
                let lower = written.starts_with(char::is_lowercase);
                let roman = if lower { roman.to_lowercase() } else { roman.to_owned() };
                if fill { format!("{roman:4}") } else { roman }
            }
            "DD" if fill => format!("{:02}", self.day),
            "DD" => self.day.to_string(),
            "Q" if self.month == 0 => String::new(),
            "Q" => ((self.month - 1) / 3 + 1).to_string(),
            "Y,YYY" => {
                let year = self.shown_year();
                let (thousands, rest) = (year / 1000, (year % 1000).abs());
                format!("{thousands},{rest:03}")
            }
            "YYYY" => number(self.shown_year(), 4),
            "YYY" => number(self.shown_year() % 1000, 3),
            "YY" => number(self.shown_year() % 100, 2),
            "Y" => (self.shown_year() % 10).to_string(),
            "CC" => {
                let century = match self.year {
                    year if self.date.is_none() => year / 100,
                    year if year > 0 => (year - 1) / 100 + 1,
                    year => year / 100 - 1,
                };
                number(century, if (-99..=99).contains(&century) { 2 } else { 0 })
            }
            "TZ" | "TZH" | "TZM" | "OF" => self.zone(word, written, fill),
            _ => self.date_keyword(word, &number, &name, written),
        }
    }

    fn zone(&self, word: &str, written: &str, fill: bool) -> String {
        let Some((name, offset)) = &self.zone else {
            return match word {
                "TZH" => "+00".to_owned(),
                "TZM" => "00".to_owned(),
                "OF" => "+00".to_owned(),
                _ => String::new(),
            };
        };
        let sign = if *offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 3600, offset.abs() / 60 % 60);
        match word {
            "TZ" if written.starts_with(char::is_lowercase) => name.to_lowercase(),
            "TZ" => name.clone(),
            "TZH" => format!("{sign}{hours:02}"),
            "TZM" => format!("{minutes:02}"),
            _ => {
                let hours = if fill { format!("{hours:02}") } else { hours.to_string() };
                let rest = if minutes > 0 { format!(":{minutes:02}") } else { String::new() };
                format!("{sign}{hours}{rest}")
            }
        }
    }

    /// Keywords that need a date; empty for intervals.
    fn date_keyword(
        &self,
        word: &str,
        number: &dyn Fn(i64, usize) -> String,
        name: &dyn Fn(&str, usize) -> String,
        written: &str,
    ) -> String {
        let Some(date) = self.date else { return String::new() };
        let day = weekday(date);
        let (iso_year, iso_week_number) = iso_week(date);
        let iso_year = if iso_year > 0 { i64::from(iso_year) } else { 1 - i64::from(iso_year) };
        match word {
            "DAY" => name(DAYS[day as usize], 9),
            "DY" => in_case(&DAYS[day as usize][..3], written),
            "D" => (day + 1).to_string(),
            "ID" => ((day + 6) % 7 + 1).to_string(),
            "DDD" => number(day_of_year(date).into(), 3),
            "IDDD" => {
                let start = iso_week_start(iso_week(date).0, 1);
                number(date - start + 1, 3)
            }
            "W" => ((self.day - 1) / 7 + 1).to_string(),
            "WW" => number((i64::from(day_of_year(date)) - 1) / 7 + 1, 2),
            "IW" => number(iso_week_number.into(), 2),
            "IYYY" => number(iso_year, 4),
            "IYY" => number(iso_year % 1000, 3),
            "IY" => number(iso_year % 100, 2),
            "I" => (iso_year % 10).to_string(),
            "J" => (date + i64::from(JULIAN_2000)).to_string(),
            _ => String::new(),
        }
    }
}
