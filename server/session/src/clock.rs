//! The time as SQL counts it.

use std::time::{SystemTime, UNIX_EPOCH};

/// 2000-01-01 in microseconds since 1970.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Microseconds since 2000-01-01 UTC.
pub fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX).saturating_sub(EPOCH_MICROS)
}
