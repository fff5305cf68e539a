//! Where and when a cast happens.

use crate::FormatSettings;

/// Where a cast may happen without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere (int4 to int8).
    Implicit,
    /// When storing into a column (int8 to int4).
    Assignment,
    /// Only when written (text to int4).
    Explicit,
}

/// What a cast needs to know of the session.
pub struct CastEnv<'a> {
    /// Formats and time zone.
    pub settings: &'a FormatSettings,
    /// The transaction's timestamp: microseconds since 2000-01-01 UTC.
    pub now_micros: i64,
}
