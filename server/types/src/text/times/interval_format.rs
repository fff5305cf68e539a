//! Intervals in the four interval styles.

use std::fmt::Write as _;

use crate::Interval;
use crate::text::IntervalStyle;

struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Whole seconds; their fraction has the same sign.
    seconds: i64,
    micros: i64,
}

fn parts(value: &Interval) -> Parts {
    let seconds = value.micros / 1_000_000;
    Parts {
        years: i64::from(value.months / 12),
        months: i64::from(value.months % 12),
        days: i64::from(value.days),
        hours: seconds / 3600,
        minutes: seconds / 60 % 60,
        seconds: seconds % 60,
        micros: value.micros % 1_000_000,
    }
}

pub(in crate::text) fn format_interval(value: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    let parts = parts(value);
    let text = match style {
        IntervalStyle::Postgres => postgres(&parts),
        IntervalStyle::PostgresVerbose => verbose(&parts),
        IntervalStyle::SqlStandard => sql_standard(&parts),
        IntervalStyle::Iso8601 => iso8601(&parts),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Seconds without sign, with the fraction that is there.
fn seconds_text(parts: &Parts, width: usize) -> String {
    let mut text = format!("{:0width$}", parts.seconds.abs());
    if parts.micros != 0 {
        let digits = format!("{:06}", parts.micros.abs());
        text.push('.');
        text.push_str(digits.trim_end_matches('0'));
    }
    text
}

fn clock_negative(parts: &Parts) -> bool {
    parts.hours < 0 || parts.minutes < 0 || parts.seconds < 0 || parts.micros < 0
}

fn clock_zero(parts: &Parts) -> bool {
    parts.hours == 0 && parts.minutes == 0 && parts.seconds == 0 && parts.micros == 0
}

fn postgres(parts: &Parts) -> String {
    let mut text = String::new();
    let mut before_negative = false;
    for (value, unit) in [(parts.years, "year"), (parts.months, "mon"), (parts.days, "day")] {
        if value == 0 {
            continue;
        }
        let space = if text.is_empty() { "" } else { " " };
        let plus = if before_negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(text, "{space}{plus}{value} {unit}{plural}");
        before_negative = value < 0;
    }
    if text.is_empty() || !clock_zero(parts) {
        let space = if text.is_empty() { "" } else { " " };
        let sign = match (clock_negative(parts), before_negative) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let (hours, minutes) = (parts.hours.abs(), parts.minutes.abs());
        let _ = write!(text, "{space}{sign}{hours:02}:{minutes:02}:{}", seconds_text(parts, 2));
    }
    text
}

fn verbose(parts: &Parts) -> String {
    let mut text = String::from("@");
    let mut first = true;
    // Set once by the first part that is not zero: the whole then reads "ago".
    let mut ago = false;
    let units = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    for (value, unit) in units {
        if value == 0 {
            continue;
        }
        let mut shown = value;
        if first {
            ago = value < 0;
            shown = value.abs();
            first = false;
        } else if ago {
            shown = -value;
        }
        let plural = if shown == 1 { "" } else { "s" };
        let _ = write!(text, " {shown} {unit}{plural}");
    }
    if parts.seconds != 0 || parts.micros != 0 {
        let negative = parts.seconds < 0 || parts.micros < 0;
        let sign = if first {
            ago = negative;
            false
        } else {
            negative != ago
        };
        let plural = if parts.seconds.abs() == 1 && parts.micros == 0 { "" } else { "s" };
        let sign = if sign { "-" } else { "" };
        let _ = write!(text, " {sign}{} sec{plural}", seconds_text(parts, 1));
        first = false;
    }
    if first {
        text.push_str(" 0");
    }
    if ago {
        text.push_str(" ago");
    }
    text
}

fn sql_standard(parts: &Parts) -> String {
    let negative = parts.years < 0 || parts.months < 0 || parts.days < 0 || clock_negative(parts);
    let positive = parts.years > 0
        || parts.months > 0
        || parts.days > 0
        || parts.hours > 0
        || parts.minutes > 0
        || parts.seconds > 0
        || parts.micros > 0;
    let has_months = parts.years != 0 || parts.months != 0;
    let has_days = parts.days != 0;
    let has_clock = !clock_zero(parts);
    let standard = !(negative && positive) && !(has_months && (has_days || has_clock));
    let (years, months) = (parts.years.abs(), parts.months.abs());
    let (hours, minutes) = (parts.hours.abs(), parts.minutes.abs());
    let seconds = seconds_text(parts, 2);
    if !negative && !positive {
        return "0".to_owned();
    }
    if !standard {
        let month_sign = if parts.years < 0 || parts.months < 0 { '-' } else { '+' };
        let day_sign = if parts.days < 0 { '-' } else { '+' };
        let clock_sign = if clock_negative(parts) { '-' } else { '+' };
        let days = parts.days.abs();
        return format!(
            "{month_sign}{years}-{months} {day_sign}{days} \
             {clock_sign}{hours}:{minutes:02}:{seconds}"
        );
    }
    let sign = if negative { "-" } else { "" };
    if has_months {
        format!("{sign}{years}-{months}")
    } else if has_days {
        format!("{sign}{} {hours}:{minutes:02}:{seconds}", parts.days.abs())
    } else {
        format!("{sign}{hours}:{minutes:02}:{seconds}")
    }
}

fn iso8601(parts: &Parts) -> String {
    let mut text = String::from("P");
    for (value, unit) in [(parts.years, 'Y'), (parts.months, 'M'), (parts.days, 'D')] {
        if value != 0 {
            let _ = write!(text, "{value}{unit}");
        }
    }
    if !clock_zero(parts) {
        text.push('T');
        for (value, unit) in [(parts.hours, 'H'), (parts.minutes, 'M')] {
            if value != 0 {
                let _ = write!(text, "{value}{unit}");
            }
        }
        if parts.seconds != 0 || parts.micros != 0 {
            let sign = if parts.seconds < 0 || parts.micros < 0 { "-" } else { "" };
            let _ = write!(text, "{sign}{}S", seconds_text(parts, 1));
        }
    }
    if text.len() == 1 {
        text.push_str("T0S");
    }
    text
}
