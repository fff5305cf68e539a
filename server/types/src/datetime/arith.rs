//! Adding, subtracting and scaling intervals; ages; building values from parts.

use jiff::tz::TimeZone;

use super::civil::*;
use super::zone::{local_to_utc, utc_to_local};
use crate::{Error, Interval, Result, SqlState};

pub(super) fn timestamp_overflow() -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, "timestamp out of range")
}

pub(super) fn interval_overflow() -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, "interval out of range")
}

fn checked(micros: Option<i64>) -> Result<i64> {
    micros.filter(|micros| timestamp_in_range(*micros)).ok_or_else(timestamp_overflow)
}

/// A local time some months and days later; a day that the month lacks becomes its last.
fn shift_days(local: i64, months: i32, days: i32) -> Result<i64> {
    let mut local = local;
    if months != 0 {
        let at = civil(local);
        let total = i64::from(at.year) * 12 + i64::from(at.month) - 1 + i64::from(months);
        let year = i32::try_from(total.div_euclid(12)).map_err(|_| timestamp_overflow())?;
        let month = total.rem_euclid(12) as u32 + 1;
        let day = at.day.min(days_in_month(year, month));
        local = checked(timestamp(days_from_civil(year, month, day), at.micros))?;
    }
    if days != 0 {
        // The shift alone may be longer than all of the time between two timestamps.
        let shifted = i128::from(local) + i128::from(days) * i128::from(DAY_MICROS);
        local = checked(i64::try_from(shifted).ok())?;
    }
    Ok(local)
}

/// `timestamp + interval`; infinities stay, 22008 out of range.
pub fn timestamp_plus(micros: i64, interval: &Interval) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let local = shift_days(micros, interval.months, interval.days)?;
    checked(local.checked_add(interval.micros))
}

/// `timestamptz + interval`: months and days move the local time in the session's zone.
pub fn timestamptz_plus(micros: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let mut at = micros;
    // Each step goes through local time, as PostgreSQL does it.
    if interval.months != 0 {
        at = local_to_utc(zone, shift_days(utc_to_local(zone, at), interval.months, 0)?)?;
    }
    if interval.days != 0 {
        at = local_to_utc(zone, shift_days(utc_to_local(zone, at), 0, interval.days)?)?;
    }
    checked(at.checked_add(interval.micros))
}

/// `date + integer`; infinities stay, 22008 out of range.
pub fn date_plus_days(date: i32, days: i64) -> Result<i32> {
    if date == i32::MAX || date == i32::MIN {
        return Ok(date);
    }
    i64::from(date)
        .checked_add(days)
        .filter(|days| (i64::from(DATE_MIN)..i64::from(DATE_END)).contains(days))
        .map(|days| days as i32)
        .ok_or_else(|| Error::new(SqlState::DatetimeFieldOverflow, "date out of range"))
}

/// `date - date` in days; 22008 if one is infinite.
pub fn date_minus(a: i32, b: i32) -> Result<i64> {
    if [a, b].iter().any(|date| matches!(*date, i32::MAX | i32::MIN)) {
        let message = "cannot subtract infinite dates";
        return Err(Error::new(SqlState::DatetimeFieldOverflow, message));
    }
    Ok(i64::from(a) - i64::from(b))
}

/// `timestamp - timestamp`: days and a clock.
pub fn timestamp_minus(a: i64, b: i64) -> Result<Interval> {
    if is_infinite(a) || is_infinite(b) {
        let message = "cannot subtract infinite timestamps";
        return Err(Error::new(SqlState::DatetimeFieldOverflow, message));
    }
    let micros = a.checked_sub(b).ok_or_else(interval_overflow)?;
    justify_hours(&Interval { months: 0, days: 0, micros })
}

/// `time + interval`, around midnight.
pub fn time_plus(time: i64, interval: &Interval) -> i64 {
    (time + interval.micros % DAY_MICROS).rem_euclid(DAY_MICROS)
}

impl Interval {
    /// From wide parts; 22008 if one does not fit.
    pub fn from_parts(months: i64, days: i64, micros: i64) -> Result<Self> {
        Ok(Interval {
            months: i32::try_from(months).map_err(|_| interval_overflow())?,
            days: i32::try_from(days).map_err(|_| interval_overflow())?,
            micros,
        })
    }

    /// The sum, part by part.
    pub fn checked_add(&self, other: &Interval) -> Result<Self> {
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                micros: self.micros.checked_add(other.micros)?,
            })
        };
        sum().ok_or_else(interval_overflow)
    }

    /// The difference, part by part.
    pub fn checked_sub(&self, other: &Interval) -> Result<Self> {
        self.checked_add(&other.checked_neg()?)
    }

    /// Every part negated.
    pub fn checked_neg(&self) -> Result<Self> {
        let negated = || {
            Some(Interval {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                micros: self.micros.checked_neg()?,
            })
        };
        negated().ok_or_else(interval_overflow)
    }

    /// Scaled; fractions of months go to days, fractions of days to the clock.
    pub fn checked_mul(&self, factor: f64) -> Result<Self> {
        let months = f64::from(self.months) * factor;
        let days = f64::from(self.days) * factor;
        self.scaled(months, days, self.micros as f64 * factor)
    }

    /// Divided; 22012 by zero.
    pub fn checked_div(&self, divisor: f64) -> Result<Self> {
        if divisor == 0.0 {
            return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
        }
        let months = f64::from(self.months) / divisor;
        let days = f64::from(self.days) / divisor;
        self.scaled(months, days, self.micros as f64 / divisor)
    }

    fn scaled(&self, months: f64, days: f64, micros: f64) -> Result<Self> {
        let fits = |value: f64| value.is_finite() && value.abs() <= f64::from(i32::MAX);
        if !fits(months) || !fits(days) {
            return Err(interval_overflow());
        }
        let round6 = |value: f64| (value * 1e6).round_ties_even() / 1e6;
        let month_days = round6((months - months.trunc()) * 30.0);
        let mut whole_days = days.trunc() as i64 + month_days.trunc() as i64;
        let mut seconds =
            round6((days - days.trunc() + month_days - month_days.trunc()) * 86_400.0);
        if seconds.abs() >= 86_400.0 {
            whole_days += (seconds / 86_400.0) as i64;
            seconds -= (seconds / 86_400.0).trunc() * 86_400.0;
        }
        let micros = (micros + seconds * 1e6).round_ties_even();
        if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&micros) {
            return Err(interval_overflow());
        }
        Interval::from_parts(months.trunc() as i64, whole_days, micros as i64)
    }
}

/// Whole days out of the clock, with its sign.
pub fn justify_hours(value: &Interval) -> Result<Interval> {
    let mut days = i64::from(value.days) + value.micros / DAY_MICROS;
    let mut micros = value.micros % DAY_MICROS;
    if days > 0 && micros < 0 {
        micros += DAY_MICROS;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= DAY_MICROS;
        days += 1;
    }
    Interval::from_parts(value.months.into(), days, micros)
}

/// Months of 30 days out of the days.
pub fn justify_days(value: &Interval) -> Result<Interval> {
    let mut months = i64::from(value.months) + i64::from(value.days / 30);
    let mut days = i64::from(value.days % 30);
    if months > 0 && days < 0 {
        days += 30;
        months -= 1;
    } else if months < 0 && days > 0 {
        days -= 30;
        months += 1;
    }
    Interval::from_parts(months, days, value.micros)
}

/// Both, with one sign for all parts.
pub fn justify_interval(value: &Interval) -> Result<Interval> {
    let mut days = i64::from(value.days) + value.micros / DAY_MICROS;
    let mut micros = value.micros % DAY_MICROS;
    let mut months = i64::from(value.months) + days / 30;
    days %= 30;
    if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
        days += 30;
        months -= 1;
    } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
        days -= 30;
        months += 1;
    }
    if days > 0 && micros < 0 {
        micros += DAY_MICROS;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= DAY_MICROS;
        days += 1;
    }
    Interval::from_parts(months, days, micros)
}

/// `age(a, b)` of local times: years, months, days and a clock.
pub fn age(a: i64, b: i64) -> Result<Interval> {
    if is_infinite(a) || is_infinite(b) {
        return Err(timestamp_overflow());
    }
    if a < b {
        return age(b, a)?.checked_neg();
    }
    let (late, early) = (civil(a), civil(b));
    let mut months = (i64::from(late.year) - i64::from(early.year)) * 12 + i64::from(late.month)
        - i64::from(early.month);
    let mut days = i64::from(late.day) - i64::from(early.day);
    let mut micros = late.micros - early.micros;
    if micros < 0 {
        micros += DAY_MICROS;
        days -= 1;
    }
    let (mut year, mut month) = (early.year, early.month);
    while days < 0 {
        days += i64::from(days_in_month(year, month));
        months -= 1;
        month = month % 12 + 1;
        year += i32::from(month == 1);
    }
    Interval::from_parts(months, days, micros)
}

/// `make_date`: a negative year is before Christ.
pub fn make_date(year: i64, month: i64, day: i64) -> Result<i32> {
    let fault = || {
        Error::new(
            SqlState::DatetimeFieldOverflow,
            format!("date field value out of range: {year}-{month:02}-{day:02}"),
        )
    };
    let astronomical = match year {
        0 => return Err(fault()),
        1.. => year,
        _ => year + 1,
    };
    let small = |value: i64| u32::try_from(value).map_err(|_| fault());
    let astronomical = i32::try_from(astronomical)
        .ok()
        .filter(|year| (-5000..6_000_000).contains(year))
        .ok_or_else(fault)?;
    date_from_ymd(astronomical, small(month)?, small(day)?).ok_or_else(fault)
}

/// `make_time`.
pub fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let micros = (second * 1e6).round_ties_even();
    let valid = (0..=24).contains(&hour)
        && (0..=59).contains(&minute)
        && (0.0..=60_000_000.0).contains(&micros);
    if valid {
        let total = hour * HOUR_MICROS + minute * MINUTE_MICROS + micros as i64;
        if total <= DAY_MICROS {
            return Ok(total);
        }
    }
    Err(Error::new(
        SqlState::DatetimeFieldOverflow,
        format!("time field value out of range: {hour}:{minute:02}:{second:02}"),
    ))
}

/// The arguments of `make_interval`.
#[derive(Clone, Copy, Debug)]
pub struct IntervalParts {
    /// Years of 12 months.
    pub years: i64,
    /// Months.
    pub months: i64,
    /// Weeks of 7 days.
    pub weeks: i64,
    /// Days.
    pub days: i64,
    /// Hours.
    pub hours: i64,
    /// Minutes.
    pub minutes: i64,
    /// Seconds with their fraction.
    pub seconds: f64,
}

/// `make_interval`; 22008 if it does not fit.
pub fn make_interval(parts: IntervalParts) -> Result<Interval> {
    let IntervalParts { years, months, weeks, days, hours, minutes, seconds } = parts;
    let micros = (seconds * 1e6).round_ties_even();
    if !micros.is_finite() || micros.abs() >= 9.2e18 {
        return Err(interval_overflow());
    }
    let clock = hours
        .checked_mul(HOUR_MICROS)
        .and_then(|hours| hours.checked_add(minutes.checked_mul(MINUTE_MICROS)?))
        .and_then(|clock| clock.checked_add(micros as i64))
        .ok_or_else(interval_overflow)?;
    let months = years.checked_mul(12).and_then(|years| years.checked_add(months));
    let days = weeks.checked_mul(7).and_then(|weeks| weeks.checked_add(days));
    match (months, days) {
        (Some(months), Some(days)) => Interval::from_parts(months, days, clock),
        _ => Err(interval_overflow()),
    }
}
