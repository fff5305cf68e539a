//! Intervals: units, clock, SQL's year-month and ISO 8601 forms.

use std::borrow::Cow;

use super::clock::{Decoded, Fault, clock_parts};
use super::tokens::{Token, tokenize};
use super::words::{Unit, unit_of};
use crate::datetime::DAY_MICROS;
use crate::datetime::typmod::{DAY, HOUR, MINUTE, SECOND, YEAR, apply_typmod, interval_range};
use crate::text::{IntervalStyle, is_blank};
use crate::{Datum, Error, Interval, Result, SqlState};

#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
}

fn add(total: &mut i64, value: i64, factor: i64) -> Decoded {
    *total =
        value.checked_mul(factor).and_then(|value| total.checked_add(value)).ok_or(Fault::Field)?;
    Ok(())
}

impl Sum {
    fn add_micros(&mut self, whole: i64, fraction: f64, factor: i64) -> Decoded {
        add(&mut self.micros, whole, factor)?;
        // A half is rounded towards zero, as PostgreSQL does here.
        let exact = fraction * factor as f64;
        let cut = exact.trunc();
        let away = if (exact - cut).abs() > 0.5 { exact.signum() } else { 0.0 };
        add(&mut self.micros, (cut + away) as i64, 1)
    }

    /// Whole days; the rest goes into the clock.
    fn add_days(&mut self, whole: i64, fraction: f64, factor: i64) -> Decoded {
        add(&mut self.days, whole, factor)?;
        self.add_fraction_days(fraction * factor as f64)
    }

    fn add_fraction_days(&mut self, days: f64) -> Decoded {
        let whole = days.trunc();
        add(&mut self.days, whole as i64, 1)?;
        self.add_micros(0, days - whole, DAY_MICROS)
    }

    fn add_unit(&mut self, unit: Unit, whole: i64, fraction: f64) -> Decoded {
        match unit {
            Unit::Microsecond => self.add_micros(whole, fraction, 1),
            Unit::Millisecond => self.add_micros(whole, fraction, 1_000),
            Unit::Second => self.add_micros(whole, fraction, 1_000_000),
            Unit::Minute => self.add_micros(whole, fraction, 60_000_000),
            Unit::Hour => self.add_micros(whole, fraction, 3_600_000_000),
            Unit::Day => {
                add(&mut self.days, whole, 1)?;
                self.add_micros(0, fraction, DAY_MICROS)
            }
            Unit::Week => self.add_days(whole, fraction, 7),
            Unit::Month => {
                add(&mut self.months, whole, 1)?;
                self.add_fraction_days(fraction * 30.0)
            }
            Unit::Year => self.add_years(whole, fraction, 1),
            Unit::Decade => self.add_years(whole, fraction, 10),
            Unit::Century => self.add_years(whole, fraction, 100),
            Unit::Millennium => self.add_years(whole, fraction, 1000),
        }
    }

    fn add_years(&mut self, whole: i64, fraction: f64, factor: i64) -> Decoded {
        add(&mut self.months, whole, factor * 12)?;
        let months = (fraction * (factor * 12) as f64).round_ties_even();
        add(&mut self.months, months as i64, 1)
    }

    fn add_clock(&mut self, text: &str, negative: bool) -> Decoded {
        let (hours, minutes, seconds, micros) = clock_parts(text)?;
        if minutes > 59 || seconds > 60 {
            return Err(Fault::Field);
        }
        let mut clock = 0;
        add(&mut clock, hours, 3_600_000_000)?;
        add(&mut clock, (minutes * 60 + seconds) * 1_000_000 + micros, 1)?;
        add(&mut self.micros, clock, if negative { -1 } else { 1 })
    }

    fn negate(&mut self) -> Decoded {
        for part in [&mut self.months, &mut self.days, &mut self.micros] {
            *part = part.checked_neg().ok_or(Fault::Field)?;
        }
        Ok(())
    }
}

/// A number with its sign: whole part and fraction.
fn number(text: &str) -> Decoded<(i64, f64)> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || digits.is_empty() || digits == "." {
        return Err(Fault::Format);
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Fault::Field)? };
    let fraction: f64 = if fraction.is_empty() {
        0.0
    } else {
        format!("0.{fraction}").parse().map_err(|_| Fault::Format)?
    };
    Ok((sign * whole, sign as f64 * fraction))
}

/// The fields from last to first: a unit stands behind its number.
///
/// No unit may come twice, and a clock has hours, minutes and seconds. `fields` are those of the
/// type's modifier: they say what a number without a unit is.
fn decode_fields(tokens: &[Token], style: IntervalStyle, fields: i32) -> Decoded<Sum> {
    let mut sum = Sum::default();
    let mut unit: Option<Unit> = None;
    let mut seen = 0u32;
    let mut once = |bits: u32| -> Decoded {
        let twice = seen & bits != 0;
        seen |= bits;
        if twice { Err(Fault::Format) } else { Ok(()) }
    };
    let mut ago = false;
    let mut found = false;
    // In the SQL standard style one leading minus holds for every field.
    let leading_minus = style == IntervalStyle::SqlStandard
        && matches!(tokens.first(), Some(Token::Signed(text)) if text.starts_with('-'))
        && !tokens[1..].iter().any(|token| matches!(token, Token::Signed(_)));
    for (at, token) in tokens.iter().enumerate().rev() {
        match token {
            Token::Time(text) => {
                once(CLOCK)?;
                sum.add_clock(&clock_of(text, fields), leading_minus)?;
                unit = Some(Unit::Day);
                found = true;
            }
            Token::Signed(text) if text.contains(':') => {
                once(CLOCK)?;
                sum.add_clock(&clock_of(&text[1..], fields), text.starts_with('-'))?;
                unit = Some(Unit::Day);
                found = true;
            }
            Token::Signed(text) | Token::Number(text) | Token::Date(text) => {
                let (whole, fraction, of) =
                    counted(text, unit.unwrap_or(unit_without_name(fields)))?;
                let flip = leading_minus && at > 0;
                let (whole, fraction) = if flip { (-whole, -fraction) } else { (whole, fraction) };
                once(match of {
                    Unit::Second if fraction != 0.0 => SECONDS,
                    of => 1 << of as u32,
                })?;
                sum.add_unit(of, whole, fraction)?;
                // Before hours, as before a clock, come days.
                unit = Some(if of == Unit::Hour { Unit::Day } else { of });
                found = true;
            }
            Token::Word(word) if word == "ago" && at + 1 == tokens.len() => {
                // A unit has to follow.
                if !matches!(tokens.get(at.wrapping_sub(1)), Some(Token::Word(_) | Token::Time(_)))
                {
                    return Err(Fault::Format);
                }
                ago = true;
            }
            Token::Word(word) => unit = Some(unit_of(word).ok_or(Fault::Format)?),
        }
    }
    if !found {
        return Err(Fault::Format);
    }
    if ago {
        sum.negate()?;
    }
    Ok(sum)
}

/// A number, its fraction and its unit: `years-months`, else of the unit given.
fn counted(text: &str, unit: Unit) -> Decoded<(i64, f64, Unit)> {
    let Some(dash) = text[1..].find('-') else {
        let (whole, fraction) = number(text)?;
        return Ok((whole, fraction, unit));
    };
    let (years, months) = (&text[..=dash], &text[dash + 2..]);
    let (years, _) = number(years)?;
    let (months, _) = number(months)?;
    if !(0..12).contains(&months) {
        return Err(Fault::Field);
    }
    let months = if text.starts_with('-') { -months } else { months };
    let total = years.checked_mul(12).ok_or(Fault::Field)? + months;
    Ok((total, 0.0, Unit::Month))
}

/// Sets of units that exclude each other, a bit for each unit.
const SECONDS: u32 =
    1 << Unit::Microsecond as u32 | 1 << Unit::Millisecond as u32 | 1 << Unit::Second as u32;
const CLOCK: u32 = SECONDS | 1 << Unit::Minute as u32 | 1 << Unit::Hour as u32;

/// What a number without a unit is, by the type's fields.
fn unit_without_name(fields: i32) -> Unit {
    match fields {
        YEAR => Unit::Year,
        fields if fields & SECOND != 0 || fields == 0 => Unit::Second,
        fields if fields & MINUTE != 0 => Unit::Minute,
        fields if fields & HOUR != 0 => Unit::Hour,
        DAY => Unit::Day,
        _ => Unit::Month,
    }
}

/// A clock; of `minute to second` two numbers are minutes and seconds.
fn clock_of(text: &str, fields: i32) -> Cow<'_, str> {
    if fields == MINUTE | SECOND && text.matches(':').count() == 1 && !text.contains('.') {
        return Cow::Owned(format!("0:{text}"));
    }
    Cow::Borrowed(text)
}

/// `P1Y2M3DT4H5M6S`, `P1W`, `P0001-02-03T04:05:06`.
fn decode_iso(text: &str) -> Decoded<Sum> {
    let mut rest = text.strip_prefix('P').ok_or(Fault::Format)?;
    let mut sum = Sum::default();
    let mut clock = false;
    if rest.is_empty() {
        return Err(Fault::Format);
    }
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            if clock {
                return Err(Fault::Format);
            }
            clock = true;
            rest = after;
            continue;
        }
        let signed = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[signed..]
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .map_or(rest.len(), |at| at + signed);
        let (whole, fraction) = number(&rest[..digits])?;
        let letter = rest[digits..].chars().next();
        let unit = match (letter, clock) {
            (Some('Y'), false) => Unit::Year,
            (Some('M'), false) => Unit::Month,
            (Some('W'), false) => Unit::Week,
            (Some('D'), false) => Unit::Day,
            (Some('H'), true) => Unit::Hour,
            (Some('M'), true) => Unit::Minute,
            (Some('S'), true) => Unit::Second,
            (Some('-'), false) => return decode_iso_alternative(rest),
            (Some(':'), true) => {
                sum.add_clock(rest, false)?;
                return Ok(sum);
            }
            _ => return Err(Fault::Format),
        };
        sum.add_unit(unit, whole, fraction)?;
        rest = &rest[digits + 1..];
    }
    Ok(sum)
}

/// `0001-02-03T04:05:06`.
fn decode_iso_alternative(text: &str) -> Decoded<Sum> {
    let (date, clock) = text.split_once('T').unwrap_or((text, ""));
    let mut sum = Sum::default();
    for (part, unit) in date.splitn(3, '-').zip([Unit::Year, Unit::Month, Unit::Day]) {
        let (whole, fraction) = number(part)?;
        sum.add_unit(unit, whole, fraction)?;
    }
    if !clock.is_empty() {
        sum.add_clock(clock, false)?;
    }
    Ok(sum)
}

/// An `interval` literal of a type with a modifier.
pub fn parse_interval_typmod(text: &str, style: IntervalStyle, typmod: i32) -> Result<Datum> {
    let value = parse_fields(text, style, interval_range(typmod))?;
    Ok(apply_typmod(&Datum::Interval(value), typmod))
}

/// An `interval` literal.
pub fn parse_interval(text: &str, style: IntervalStyle) -> Result<Interval> {
    parse_fields(text, style, 0)
}

fn parse_fields(text: &str, style: IntervalStyle, fields: i32) -> Result<Interval> {
    let body = text.trim_matches(is_blank);
    let decoded = match tokenize(body) {
        Some(tokens) if !body.starts_with('P') => decode_fields(&tokens, style, fields),
        _ => decode_iso(body),
    };
    let sum = decoded.map_err(|fault| match fault {
        Fault::Field => Error::new(
            SqlState::IntervalFieldOverflow,
            format!("interval field value out of range: \"{text}\""),
        ),
        other => other.error("interval", text),
    })?;
    let out_of_range = |_| Error::new(SqlState::DatetimeFieldOverflow, "interval out of range");
    Ok(Interval {
        months: i32::try_from(sum.months).map_err(out_of_range)?,
        days: i32::try_from(sum.days).map_err(|_| {
            Error::new(
                SqlState::IntervalFieldOverflow,
                format!("interval field value out of range: \"{text}\""),
            )
        })?,
        micros: sum.micros,
    })
}
