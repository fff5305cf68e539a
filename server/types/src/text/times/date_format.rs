//! Dates, times and timestamps in the four date styles.

use crate::datetime::{
    DAY_MICROS, abbreviation_at, civil, civil_from_days, is_infinite, offset_at, utc_to_local,
    weekday,
};
use crate::text::{DateOrder, DateStyle, FormatSettings};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// A number, and its minimum of digits.
fn padded(value: u32, width: usize, out: &mut Vec<u8>) {
    let mut digits = [0u8; 10];
    let mut at = digits.len();
    let mut rest = value;
    while rest > 0 || digits.len() - at < width {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

fn infinity(positive: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if positive { b"infinity" } else { b"-infinity" });
}

/// The date part in the numeric styles, without the era.
fn date_digits(year: u32, month: u32, day: u32, settings: &FormatSettings, out: &mut Vec<u8>) {
    let day_first = settings.date_order == DateOrder::Dmy;
    let (first, second) = if day_first { (day, month) } else { (month, day) };
    match settings.date_style {
        DateStyle::Iso => {
            padded(year, 4, out);
            out.push(b'-');
            padded(month, 2, out);
            out.push(b'-');
            padded(day, 2, out);
        }
        DateStyle::German => {
            padded(day, 2, out);
            out.push(b'.');
            padded(month, 2, out);
            out.push(b'.');
            padded(year, 4, out);
        }
        DateStyle::Sql | DateStyle::Postgres => {
            let between = if settings.date_style == DateStyle::Sql { b'/' } else { b'-' };
            padded(first, 2, out);
            out.push(between);
            padded(second, 2, out);
            out.push(between);
            padded(year, 4, out);
        }
    }
}

/// The year as printed, and whether it is before Christ.
fn shown_year(year: i32) -> (u32, bool) {
    if year > 0 { (year as u32, false) } else { ((1 - i64::from(year)) as u32, true) }
}

pub(in crate::text) fn format_date(days: i32, settings: &FormatSettings, out: &mut Vec<u8>) {
    if days == i32::MAX || days == i32::MIN {
        return infinity(days > 0, out);
    }
    let (year, month, day) = civil_from_days(i64::from(days));
    let (year, before_christ) = shown_year(year);
    date_digits(year, month, day, settings, out);
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// `hh:mm:ss` with the fraction that is there.
pub(in crate::text) fn format_time(micros: i64, out: &mut Vec<u8>) {
    let seconds = (micros / 1_000_000) as u32;
    padded(seconds / 3600, 2, out);
    out.push(b':');
    padded(seconds / 60 % 60, 2, out);
    out.push(b':');
    padded(seconds % 60, 2, out);
    fraction((micros % 1_000_000) as u32, out);
}

/// `.ffffff` without trailing zeros.
pub(super) fn fraction(micros: u32, out: &mut Vec<u8>) {
    if micros > 0 {
        out.push(b'.');
        padded(micros, 6, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

pub(in crate::text) fn format_timestamp(micros: i64, settings: &FormatSettings, out: &mut Vec<u8>) {
    if is_infinite(micros) {
        return infinity(micros > 0, out);
    }
    format_local(micros, None, settings, out);
}

pub(in crate::text) fn format_timestamptz(
    micros: i64,
    settings: &FormatSettings,
    out: &mut Vec<u8>,
) {
    if is_infinite(micros) {
        return infinity(micros > 0, out);
    }
    let local = utc_to_local(&settings.time_zone, micros);
    format_local(local, Some(micros), settings, out);
}

fn format_local(local: i64, utc: Option<i64>, settings: &FormatSettings, out: &mut Vec<u8>) {
    let at = civil(local);
    let (year, before_christ) = shown_year(at.year);
    if settings.date_style == DateStyle::Postgres {
        let name = DAYS[weekday(local.div_euclid(DAY_MICROS)) as usize];
        out.extend_from_slice(name.as_bytes());
        out.push(b' ');
        let month = MONTHS[at.month as usize - 1].as_bytes();
        if settings.date_order == DateOrder::Dmy {
            padded(at.day, 2, out);
            out.push(b' ');
            out.extend_from_slice(month);
        } else {
            out.extend_from_slice(month);
            out.push(b' ');
            padded(at.day, 2, out);
        }
        out.push(b' ');
        format_time(at.micros, out);
        out.push(b' ');
        padded(year, 4, out);
    } else {
        date_digits(year, at.month, at.day, settings, out);
        out.push(b' ');
        format_time(at.micros, out);
    }
    if let Some(utc) = utc {
        zone_suffix(utc, settings, out);
    }
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// ISO prints the offset; the other styles the abbreviation where there is one.
fn zone_suffix(utc: i64, settings: &FormatSettings, out: &mut Vec<u8>) {
    if settings.date_style != DateStyle::Iso {
        let (name, _) = abbreviation_at(&settings.time_zone, utc);
        if name.bytes().all(|b| b.is_ascii_alphabetic()) {
            out.push(b' ');
            out.extend_from_slice(name.as_bytes());
            return;
        }
        if settings.date_style == DateStyle::Postgres {
            out.push(b' ');
        }
    }
    format_offset(offset_at(&settings.time_zone, utc), out);
}

/// `+hh[:mm[:ss]]`.
pub(in crate::text) fn format_offset(seconds: i32, out: &mut Vec<u8>) {
    out.push(if seconds < 0 { b'-' } else { b'+' });
    let seconds = seconds.unsigned_abs();
    padded(seconds / 3600, 2, out);
    if !seconds.is_multiple_of(3600) {
        out.push(b':');
        padded(seconds / 60 % 60, 2, out);
        if !seconds.is_multiple_of(60) {
            out.push(b':');
            padded(seconds % 60, 2, out);
        }
    }
}
