//! Intervals: units, clock and SQL's year-month form.

use std::borrow::Cow;

use super::clock::{Decoded, Fault};
use super::interval_iso::decode_iso;
use super::interval_sum::{Sum, number};
use super::tokens::{Token, tokenize};
use super::words::{Unit, unit_of};
use crate::datetime::typmod::{DAY, HOUR, MINUTE, SECOND, YEAR, apply_typmod, interval_range};
use crate::text::{IntervalStyle, is_blank};
use crate::{Datum, Error, Interval, Result, SqlState};

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
    let field_out_of_range = || {
        Error::new(
            SqlState::IntervalFieldOverflow,
            format!("interval field value out of range: \"{text}\""),
        )
    };
    let field = |value: i64| i32::try_from(value).map_err(|_| field_out_of_range());
    let sum = decoded.map_err(|fault| match fault {
        Fault::Field => field_out_of_range(),
        other => other.error("interval", text),
    })?;
    let months = i64::from(field(sum.years)?) * 12 + i64::from(field(sum.months)?);
    let out_of_range = |_| Error::new(SqlState::DatetimeFieldOverflow, "interval out of range");
    Ok(Interval {
        months: i32::try_from(months).map_err(out_of_range)?,
        days: field(sum.days)?,
        micros: sum.micros,
    })
}
