//! The sum of an interval's fields.

use super::clock::{Decoded, Fault, clock_parts};
use super::words::Unit;
use crate::datetime::DAY_MICROS;

/// What the fields read so far add up to.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) years: i64,
    pub(super) months: i64,
    pub(super) days: i64,
    pub(super) micros: i64,
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

    pub(super) fn add_unit(&mut self, unit: Unit, whole: i64, fraction: f64) -> Decoded {
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
        add(&mut self.years, whole, factor)?;
        let months = (fraction * (factor * 12) as f64).round_ties_even();
        add(&mut self.months, months as i64, 1)
    }

    pub(super) fn add_clock(&mut self, text: &str, negative: bool) -> Decoded {
        let (hours, minutes, seconds, micros) = clock_parts(text)?;
        if minutes > 59 || seconds > 60 {
            return Err(Fault::Field);
        }
        let mut clock = 0;
        add(&mut clock, hours, 3_600_000_000)?;
        add(&mut clock, (minutes * 60 + seconds) * 1_000_000 + micros, 1)?;
        add(&mut self.micros, clock, if negative { -1 } else { 1 })
    }

    pub(super) fn negate(&mut self) -> Decoded {
        for part in [&mut self.years, &mut self.months, &mut self.days, &mut self.micros] {
            *part = part.checked_neg().ok_or(Fault::Field)?;
        }
        Ok(())
    }
}

/// A number with its sign: whole part and fraction.
pub(super) fn number(text: &str) -> Decoded<(i64, f64)> {
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
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Fault::Field)? };
    let whole = i64::try_from(sign * whole).map_err(|_| Fault::Field)?;
    let fraction: f64 = if fraction.is_empty() {
        0.0
    } else {
        format!("0.{fraction}").parse().map_err(|_| Fault::Format)?
    };
    Ok((whole, sign as f64 * fraction))
}
