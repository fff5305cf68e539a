//! The session settings that change how values read and print.

/// The session's settings that change how values read and print.
#[derive(Clone, Debug)]
pub struct FormatSettings {
    /// `TimeZone`
    pub time_zone: jiff::tz::TimeZone,
    /// The name as set, for SHOW.
    pub time_zone_name: String,
    /// `DateStyle`'s output half: ISO, SQL, Postgres or German.
    pub date_style: DateStyle,
    /// `DateStyle`'s order for ambiguous input.
    pub date_order: DateOrder,
    /// `IntervalStyle`
    pub interval_style: IntervalStyle,
    /// `extra_float_digits`
    pub extra_float_digits: i32,
    /// `bytea_output = escape` instead of hex.
    pub bytea_escape: bool,
}

/// `DateStyle`'s output half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DateStyle {
    Iso,
    Sql,
    Postgres,
    German,
}

/// The order of day, month and year in ambiguous input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DateOrder {
    Mdy,
    Dmy,
    Ymd,
}

/// `IntervalStyle`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IntervalStyle {
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

impl Default for FormatSettings {
    fn default() -> Self {
        Self {
            time_zone: jiff::tz::TimeZone::UTC,
            time_zone_name: "UTC".to_owned(),
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            extra_float_digits: 1,
            bytea_escape: false,
        }
    }
}
