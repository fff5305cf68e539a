//! Intervals in the forms of ISO 8601.
//!
//! | form | example |
//! |---|---|
//! | with designators | `P1Y2M3DT4H5M6S`, `P1W` |
//! | alternative, extended | `P0001-02-03T04:05:06` |
//! | the same, shorter | `P0001`, `P0001-02`, `PT04`, `PT04:05` |
//! | alternative, basic | `P00010203T040506` |

use super::clock::{Decoded, Fault};
use super::interval_sum::{Sum, number};
use super::words::Unit;

/// Digits of a date and of a time in the basic form.
const BASIC_DATE_DIGITS: usize = 8;
const BASIC_TIME_DIGITS: usize = 6;

/// What is left of the text.
struct Reader<'a> {
    rest: &'a str,
    sum: Sum,
}

/// A number and the digits of its whole part.
struct Counted {
    whole: i64,
    fraction: f64,
    digits: usize,
}

/// Reads an interval that begins with `P`.
pub(super) fn decode_iso(text: &str) -> Decoded<Sum> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Fault::Format)?;
    let mut reader = Reader { rest, sum: Sum::default() };
    if !reader.take('T') {
        reader.date()?;
    }
    // The reader stands after `T`, or at the end.
    reader.time()?;
    Ok(reader.sum)
}

impl Reader<'_> {
    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn letter(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    /// The end, or the `T` before the time.
    fn ends_date(&mut self) -> bool {
        self.rest.is_empty() || self.take('T')
    }

    fn number(&mut self) -> Decoded<Counted> {
        let text = self.rest;
        let signed = usize::from(text.starts_with(['-', '+']));
        let plain = |from: usize| {
            text[from..]
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .map_or(text.len(), |at| from + at)
        };
        let mut end = plain(signed);
        let (mut whole, mut fraction) = number(&text[..end])?;
        let digits = text[signed..end].find('.').unwrap_or(end - signed);
        // 10.5e4 is a number, too.
        if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['-', '+']));
            end = plain(end + 1 + sign);
            let value: f64 = text[..end].parse().map_err(|_| Fault::Format)?;
            if value.abs() >= i64::MAX as f64 {
                return Err(Fault::Field);
            }
            (whole, fraction) = (value.trunc() as i64, value.fract());
        }
        self.rest = &text[end..];
        Ok(Counted { whole, fraction, digits })
    }

    fn add(&mut self, unit: Unit, counted: &Counted) -> Decoded {
        self.sum.add_unit(unit, counted.whole, counted.fraction)
    }

    fn date(&mut self) -> Decoded {
        let first = self.number()?;
        if self.ends_date() {
            return if first.digits == BASIC_DATE_DIGITS {
                self.sum.add_unit(Unit::Year, first.whole / 10_000, 0.0)?;
                self.sum.add_unit(Unit::Month, first.whole / 100 % 100, 0.0)?;
                self.sum.add_unit(Unit::Day, first.whole % 100, first.fraction)
            } else {
                self.add(Unit::Year, &first)
            };
        }
        if self.take('-') {
            self.add(Unit::Year, &first)?;
            let months = self.number()?;
            self.add(Unit::Month, &months)?;
            if self.ends_date() {
                return Ok(());
            }
            let days = if self.take('-') { self.number()? } else { return Err(Fault::Format) };
            self.add(Unit::Day, &days)?;
            return if self.ends_date() { Ok(()) } else { Err(Fault::Format) };
        }
        let mut counted = first;
        loop {
            let unit = match self.letter() {
                Some('Y') => Unit::Year,
                Some('M') => Unit::Month,
                Some('W') => Unit::Week,
                Some('D') => Unit::Day,
                _ => return Err(Fault::Format),
            };
            self.add(unit, &counted)?;
            if self.ends_date() {
                return Ok(());
            }
            counted = self.number()?;
        }
    }

    fn time(&mut self) -> Decoded {
        if self.rest.is_empty() {
            return Ok(());
        }
        let first = self.number()?;
        if self.rest.is_empty() && first.digits == BASIC_TIME_DIGITS {
            self.sum.add_unit(Unit::Hour, first.whole / 10_000, 0.0)?;
            self.sum.add_unit(Unit::Minute, first.whole / 100 % 100, 0.0)?;
            return self.sum.add_unit(Unit::Second, first.whole % 100, first.fraction);
        }
        if self.rest.is_empty() || self.rest.starts_with(':') {
            self.add(Unit::Hour, &first)?;
            for unit in [Unit::Minute, Unit::Second] {
                if !self.take(':') {
                    break;
                }
                let part = self.number()?;
                self.add(unit, &part)?;
            }
            return if self.rest.is_empty() { Ok(()) } else { Err(Fault::Format) };
        }
        let mut counted = first;
        loop {
            let unit = match self.letter() {
                Some('H') => Unit::Hour,
                Some('M') => Unit::Minute,
                Some('S') => Unit::Second,
                _ => return Err(Fault::Format),
            };
            self.add(unit, &counted)?;
            if self.rest.is_empty() {
                return Ok(());
            }
            counted = self.number()?;
        }
    }
}
