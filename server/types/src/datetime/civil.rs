//! The proleptic Gregorian calendar over PostgreSQL's whole range.
//!
//! Years are astronomical here: 0 is 1 BC, -1 is 2 BC.

/// Microseconds in a day.
pub const DAY_MICROS: i64 = 86_400_000_000;
/// Microseconds in an hour.
pub const HOUR_MICROS: i64 = 3_600_000_000;
/// Microseconds in a minute.
pub const MINUTE_MICROS: i64 = 60_000_000;
/// Microseconds in a second.
pub const SECOND_MICROS: i64 = 1_000_000;

/// Julian day number of 2000-01-01.
pub const JULIAN_2000: i32 = 2_451_545;
/// Days from 1970-01-01 to 2000-01-01.
pub const DAYS_1970_TO_2000: i32 = 10_957;
/// The first date: 4714-11-24 BC.
pub const DATE_MIN: i32 = -JULIAN_2000;
/// The first day after the last date, 5874897-12-31.
pub const DATE_END: i32 = 2_145_031_949;
/// The first timestamp.
pub const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
/// The first microsecond after the last timestamp, 294276-12-31 23:59:59.999999.
pub const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

/// Year, month, day and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The astronomical year.
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// Microseconds since midnight.
    pub micros: i64,
}

/// Days since 2000-01-01 of a date that need not be valid (month 1 to 12; any day).
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = i64::from(month);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 - i64::from(DAYS_1970_TO_2000)
}

/// Year, month and day of a number of days since 2000-01-01.
pub fn civil_from_days(days: i64) -> (i32, u32, u32) {
    let z = days + 719_468 + i64::from(DAYS_1970_TO_2000);
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year as i32, month, day)
}

/// Whether the astronomical year has 366 days.
pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days in a month.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date, if it exists and is in range.
pub fn date_from_ymd(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    (i64::from(DATE_MIN)..i64::from(DATE_END)).contains(&days).then_some(days as i32)
}

/// Whether a timestamp is ±infinity.
pub fn is_infinite(micros: i64) -> bool {
    micros == i64::MAX || micros == i64::MIN
}

/// Whether a finite timestamp is in range.
pub fn timestamp_in_range(micros: i64) -> bool {
    (TIMESTAMP_MIN..TIMESTAMP_END).contains(&micros)
}

/// The civil form of microseconds since 2000-01-01.
pub fn civil(micros: i64) -> Civil {
    let (year, month, day) = civil_from_days(micros.div_euclid(DAY_MICROS));
    Civil { year, month, day, micros: micros.rem_euclid(DAY_MICROS) }
}

/// Microseconds since 2000-01-01 of a date and a time of day; `None` out of range.
pub fn timestamp(days: i64, micros: i64) -> Option<i64> {
    let total = days.checked_mul(DAY_MICROS)?.checked_add(micros)?;
    timestamp_in_range(total).then_some(total)
}

/// Day of the week of a date, Sunday 0.
pub fn weekday(days: i64) -> u32 {
    (days + 6).rem_euclid(7) as u32
}

/// Day of the year, from 1.
pub fn day_of_year(days: i64) -> u32 {
    let (year, _, _) = civil_from_days(days);
    (days - days_from_civil(year, 1, 1) + 1) as u32
}

/// ISO year and week of a date.
pub fn iso_week(days: i64) -> (i32, u32) {
    // The Thursday of the week decides the year.
    let thursday = days - (days + 5).rem_euclid(7) + 3;
    let (year, _, _) = civil_from_days(thursday);
    let week = (thursday - days_from_civil(year, 1, 1)) / 7 + 1;
    (year, week as u32)
}

/// The Monday that starts an ISO week.
pub fn iso_week_start(year: i32, week: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (fourth + 5).rem_euclid(7) + (week - 1) * 7
}
