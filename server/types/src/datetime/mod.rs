//! Calendar arithmetic: civil dates, time zones, intervals.
//!
//! Here: what dates, times, timestamps and intervals do. Not here: how they read and print as
//! literals (`text`).
//!
//! Rules: every instant is microseconds since 2000-01-01 00:00 UTC, every date days since then;
//! infinities are the ends of the integer range; what leaves PostgreSQL's range is 22008.

mod abbreviation;
mod arith;
mod civil;
mod fields;
mod from_char;
mod pattern;
mod standard;
mod to_char;
pub mod typmod;
mod zone;
mod zone_name;

pub use abbreviation::Abbreviation;
pub use arith::{
    IntervalParts, age, date_minus, date_plus_days, justify_days, justify_hours, justify_interval,
    make_date, make_interval, make_time, time_plus, timestamp_minus, timestamp_plus,
    timestamptz_plus,
};
pub use civil::*;
pub use fields::{
    Field, date_bin, extract, extract_clock, trunc_interval, trunc_timestamp, trunc_timestamptz,
};
pub use from_char::{to_date, to_timestamp};
pub(crate) use pattern::prefix;
pub use standard::{Moment, StandardTemplate, parse_standard};
pub use to_char::{interval_to_char, timestamp_to_char, timestamptz_to_char};
pub use zone::{
    abbreviation_at, fixed_zone, local_range, local_to_utc, named_zone, offset_at, offset_of_local,
    parse_offset, utc_to_local, zone_of_hours,
};
pub use zone_name::{ZoneName, zone_by_name};
