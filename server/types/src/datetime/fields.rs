//! `extract`, `date_trunc` and `date_bin`.

use jiff::tz::TimeZone;

use super::arith::{interval_overflow, timestamp_overflow};
use super::civil::*;
use super::zone::{local_to_utc, offset_at, utc_to_local};
use crate::{Datum, Error, Interval, Numeric, Result, SqlState, SqlType};

/// A field of a date, time or interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Dow,
    IsoDow,
    Doy,
    IsoYear,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl Field {
    /// The field of a name, in any case.
    pub fn from_name(name: &str) -> Option<Field> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" => {
                Field::Microseconds
            }
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => {
                Field::Milliseconds
            }
            "s" | "sec" | "secs" | "second" | "seconds" => Field::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Field::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Field::Hour,
            "d" | "day" | "days" => Field::Day,
            "w" | "week" | "weeks" => Field::Week,
            "mon" | "mons" | "month" | "months" => Field::Month,
            "qtr" | "quarter" => Field::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Field::Year,
            "dec" | "decs" | "decade" | "decades" => Field::Decade,
            "c" | "cent" | "century" | "centuries" => Field::Century,
            "mil" | "mils" | "millennium" | "millennia" => Field::Millennium,
            "dow" => Field::Dow,
            "isodow" => Field::IsoDow,
            "doy" => Field::Doy,
            "isoyear" => Field::IsoYear,
            "j" | "jd" | "julian" => Field::Julian,
            "epoch" => Field::Epoch,
            "timezone" => Field::Timezone,
            "timezone_h" | "timezone_hour" => Field::TimezoneHour,
            "timezone_m" | "timezone_minute" => Field::TimezoneMinute,
            _ => return None,
        })
    }

    fn is_monotonic(self) -> bool {
        matches!(
            self,
            Field::Year
                | Field::Decade
                | Field::Century
                | Field::Millennium
                | Field::IsoYear
                | Field::Julian
                | Field::Epoch
        )
    }
}

fn unrecognized(name: &str, ty: &SqlType) -> Error {
    Error::new(
        SqlState::InvalidParameterValue,
        format!("unit \"{}\" not recognized for type {}", name.to_lowercase(), ty.plain_name()),
    )
}

fn unsupported(name: &str, ty: &SqlType) -> Error {
    Error::new(
        SqlState::FeatureNotSupported,
        format!("unit \"{}\" not supported for type {}", name.to_lowercase(), ty.plain_name()),
    )
}

/// `extract(name from value)`; `None` is SQL NULL (a repeating field of an infinity).
/// `date_part` is the same as a float. 22023 for an unknown name, 0A000 for one that the type
/// does not have.
pub fn extract(name: &str, value: &Datum, zone: &TimeZone) -> Result<Option<Numeric>> {
    let ty = match value {
        Datum::Date(_) => SqlType::Date,
        Datum::Time(_) => SqlType::Time,
        Datum::Timestamp(_) => SqlType::Timestamp,
        Datum::Timestamptz(_) => SqlType::Timestamptz,
        Datum::Interval(_) => SqlType::Interval,
        _ => return Ok(None),
    };
    let field = Field::from_name(name).ok_or_else(|| unrecognized(name, &ty))?;
    let found = match value {
        Datum::Date(days) => match *days {
            i32::MAX => return infinite(field, true, name, &ty),
            i32::MIN => return infinite(field, false, name, &ty),
            days => date_field(field, i64::from(days)),
        },
        Datum::Time(micros) => clock_field(field, *micros),
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) if is_infinite(*micros) => {
            return infinite(field, *micros > 0, name, &ty);
        }
        Datum::Timestamp(micros) => timestamp_field(field, *micros, *micros),
        Datum::Timestamptz(micros) => {
            let offset = i64::from(offset_at(zone, *micros));
            match field {
                Field::Timezone => Some(Numeric::from_i64(offset)),
                Field::TimezoneHour => Some(Numeric::from_i64(offset / 3600)),
                Field::TimezoneMinute => Some(Numeric::from_i64(offset / 60 % 60)),
                _ => timestamp_field(field, utc_to_local(zone, *micros), *micros),
            }
        }
        Datum::Interval(interval) => interval_field(field, interval),
        _ => None,
    };
    found.map(Some).ok_or_else(|| unsupported(name, &ty))
}

/// A field of the clock of a `timetz` whose time of day is given; the zone's own fields are not
/// known here. Errors as of [`extract`].
pub fn extract_clock(name: &str, micros: i64) -> Result<Numeric> {
    let ty = SqlType::Timetz;
    let field = Field::from_name(name).ok_or_else(|| unrecognized(name, &ty))?;
    clock_field(field, micros).ok_or_else(|| unsupported(name, &ty))
}

fn infinite(field: Field, positive: bool, name: &str, ty: &SqlType) -> Result<Option<Numeric>> {
    if field.is_monotonic() {
        return Ok(Some(if positive { Numeric::Infinity } else { Numeric::NegInfinity }));
    }
    let foreign_to_dates = matches!(
        field,
        Field::Microseconds
            | Field::Milliseconds
            | Field::Second
            | Field::Minute
            | Field::Hour
            | Field::Timezone
            | Field::TimezoneHour
            | Field::TimezoneMinute
    );
    if foreign_to_dates && *ty == SqlType::Date {
        return Err(unsupported(name, ty));
    }
    Ok(None)
}

fn scaled(value: i64, scale: u16) -> Option<Numeric> {
    Some(Numeric::from_parts(i128::from(value), scale))
}

/// Fields of a time of day.
fn clock_field(field: Field, micros: i64) -> Option<Numeric> {
    let within_minute = micros % MINUTE_MICROS;
    match field {
        Field::Microseconds => scaled(within_minute, 0),
        Field::Milliseconds => scaled(within_minute, 3),
        Field::Second => scaled(within_minute, 6),
        Field::Minute => scaled(micros / MINUTE_MICROS % 60, 0),
        Field::Hour => scaled(micros / HOUR_MICROS, 0),
        Field::Epoch => scaled(micros, 6),
        _ => None,
    }
}

fn calendar_field(field: Field, days: i64) -> Option<Numeric> {
    let (year, month, day) = civil_from_days(days);
    let year = i64::from(year);
    // Years before Christ count -1, -2…
    let shown = if year > 0 { year } else { year - 1 };
    let value = match field {
        Field::Day => day.into(),
        Field::Week => iso_week(days).1.into(),
        Field::Month => month.into(),
        Field::Quarter => i64::from((month - 1) / 3 + 1),
        Field::Year => shown,
        Field::Decade => year.div_euclid(10),
        Field::Century if year > 0 => (year + 99) / 100,
        Field::Century => -((99 - (year - 1)) / 100),
        Field::Millennium if year > 0 => (year + 999) / 1000,
        Field::Millennium => -((999 - (year - 1)) / 1000),
        Field::Dow => weekday(days).into(),
        Field::IsoDow => i64::from((weekday(days) + 6) % 7 + 1),
        Field::Doy => day_of_year(days).into(),
        Field::IsoYear => {
            let year = i64::from(iso_week(days).0);
            if year > 0 { year } else { year - 1 }
        }
        _ => return None,
    };
    scaled(value, 0)
}

fn date_field(field: Field, days: i64) -> Option<Numeric> {
    match field {
        Field::Julian => scaled(days + i64::from(JULIAN_2000), 0),
        Field::Epoch => scaled((days + i64::from(DAYS_1970_TO_2000)) * 86_400, 0),
        _ => calendar_field(field, days),
    }
}

fn timestamp_field(field: Field, local: i64, utc: i64) -> Option<Numeric> {
    let days = local.div_euclid(DAY_MICROS);
    let clock = local.rem_euclid(DAY_MICROS);
    match field {
        Field::Epoch => {
            let epoch = i128::from(utc) + i128::from(DAYS_1970_TO_2000) * i128::from(DAY_MICROS);
            Some(Numeric::from_parts(epoch, 6))
        }
        Field::Julian => {
            let day = Numeric::from_i64(days + i64::from(JULIAN_2000));
            let part = Numeric::from_i64(clock).div(&Numeric::from_i64(DAY_MICROS)).ok()?;
            day.add(&part).ok()
        }
        _ => clock_field(field, clock).or_else(|| calendar_field(field, days)),
    }
}

fn interval_field(field: Field, value: &Interval) -> Option<Numeric> {
    let years = i64::from(value.months / 12);
    let months = i64::from(value.months % 12);
    match field {
        Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour => {
            clock_field(field, value.micros)
        }
        Field::Day => scaled(value.days.into(), 0),
        Field::Month => scaled(months, 0),
        Field::Quarter => scaled(months / 3 + 1, 0),
        Field::Year => scaled(years, 0),
        Field::Decade => scaled(years / 10, 0),
        Field::Century => scaled(years / 100, 0),
        Field::Millennium => scaled(years / 1000, 0),
        Field::Epoch => {
            // A year is 365.25 days here, a month 30.
            let quarter_days =
                i128::from(years) * 1461 + (i128::from(months) * 30 + i128::from(value.days)) * 4;
            let micros = quarter_days * i128::from(DAY_MICROS / 4) + i128::from(value.micros);
            Some(Numeric::from_parts(micros, 6))
        }
        _ => None,
    }
}

/// The unit of a name; the fields that only `extract` knows are no units.
fn truncatable(name: &str, ty: &SqlType) -> Result<Field> {
    let only_extract = |field: &Field| {
        matches!(
            field,
            Field::Dow | Field::IsoDow | Field::Doy | Field::IsoYear | Field::Julian | Field::Epoch
        )
    };
    let field = Field::from_name(name).filter(|field| !only_extract(field));
    field.ok_or_else(|| unrecognized(name, ty))
}

fn first_of(year: i32, month: u32) -> i64 {
    days_from_civil(year, month, 1)
}

/// The start of a span of years that counts from 1.
fn period_start(year: i32, length: i32) -> i32 {
    (year - 1).div_euclid(length) * length + 1
}

fn truncate_local(field: Field, local: i64) -> Option<i64> {
    let step = match field {
        Field::Microseconds => 1,
        Field::Milliseconds => 1000,
        Field::Second => SECOND_MICROS,
        Field::Minute => MINUTE_MICROS,
        Field::Hour => HOUR_MICROS,
        Field::Day => DAY_MICROS,
        _ => 0,
    };
    if step > 0 {
        return Some(local.div_euclid(step) * step);
    }
    let day = local.div_euclid(DAY_MICROS);
    let (year, month, _) = civil_from_days(day);
    let days = match field {
        Field::Week => day - (day + 5).rem_euclid(7),
        Field::Month => first_of(year, month),
        Field::Quarter => first_of(year, (month - 1) / 3 * 3 + 1),
        Field::Year => first_of(year, 1),
        Field::Decade => first_of(year.div_euclid(10) * 10, 1),
        Field::Century => first_of(period_start(year, 100), 1),
        Field::Millennium => first_of(period_start(year, 1000), 1),
        _ => return None,
    };
    Some(days * DAY_MICROS)
}

/// `date_trunc(name, timestamp)`; infinities stay.
pub fn trunc_timestamp(name: &str, micros: i64) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let ty = SqlType::Timestamp;
    let field = truncatable(name, &ty)?;
    let start = truncate_local(field, micros).ok_or_else(|| unsupported(name, &ty))?;
    if timestamp_in_range(start) { Ok(start) } else { Err(timestamp_overflow()) }
}

/// `date_trunc(name, timestamptz)` in a zone's local time.
pub fn trunc_timestamptz(name: &str, micros: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let ty = SqlType::Timestamptz;
    let field = truncatable(name, &ty)?;
    let local = utc_to_local(zone, micros);
    let start = truncate_local(field, local).ok_or_else(|| unsupported(name, &ty))?;
    let small = matches!(
        field,
        Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour
    );
    // Within the hour the offset stays, so that repeated hours are told apart.
    if small { Ok(start - (local - micros)) } else { local_to_utc(zone, start) }
}

/// `date_trunc(name, interval)`.
pub fn trunc_interval(name: &str, value: &Interval) -> Result<Interval> {
    let ty = SqlType::Interval;
    let field = truncatable(name, &ty)?;
    let cut_months =
        |unit: i32| Interval { months: value.months / unit * unit, days: 0, micros: 0 };
    let cut_micros = |unit: i64| Interval { micros: value.micros / unit * unit, ..*value };
    Ok(match field {
        Field::Microseconds => *value,
        Field::Milliseconds => cut_micros(1000),
        Field::Second => cut_micros(SECOND_MICROS),
        Field::Minute => cut_micros(MINUTE_MICROS),
        Field::Hour => cut_micros(HOUR_MICROS),
        Field::Day => Interval { micros: 0, ..*value },
        Field::Month => cut_months(1),
        Field::Quarter => cut_months(3),
        Field::Year => cut_months(12),
        Field::Decade => cut_months(120),
        Field::Century => cut_months(1200),
        Field::Millennium => cut_months(12_000),
        Field::Week => {
            return Err(unsupported(name, &ty).detail("Months usually have fractional weeks."));
        }
        _ => return Err(unsupported(name, &ty)),
    })
}

/// `date_bin(stride, at, origin)`: the start of the stride that contains `at`.
pub fn date_bin(stride: &Interval, at: i64, origin: i64) -> Result<i64> {
    if is_infinite(at) {
        return Ok(at);
    }
    if is_infinite(origin) {
        return Err(Error::new(SqlState::DatetimeFieldOverflow, "origin out of range"));
    }
    if stride.months != 0 {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let length = i64::try_from(stride.span_micros()).map_err(|_| interval_overflow())?;
    if length <= 0 {
        return Err(Error::new(
            SqlState::DatetimeFieldOverflow,
            "stride must be greater than zero",
        ));
    }
    let distance = at.checked_sub(origin).ok_or_else(interval_overflow)?;
    origin
        .checked_add(distance.div_euclid(length) * length)
        .filter(|micros| timestamp_in_range(*micros))
        .ok_or_else(timestamp_overflow)
}
