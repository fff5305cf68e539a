//! Text forms of dates, times and intervals.
//!
//! ```text
//!   literal ──tokens──► fields ──date_parse, interval_parse──► value
//!                         words, clock: what both readers share
//!                         interval_iso: the forms of ISO 8601, interval_sum: their sum
//! ```

mod clock;
pub(super) mod date_format;
mod date_parse;
pub(super) mod interval_format;
mod interval_iso;
mod interval_parse;
mod interval_sum;
mod timetz_parse;
mod tokens;
mod words;

pub use date_parse::{parse_date, parse_time, parse_timestamp};
pub use interval_parse::{parse_interval, parse_interval_typmod};
pub use timetz_parse::parse_timetz;
