//! PD's clock: timestamps that only grow, whatever the time of day does.
//!
//! As in a real PD, the milliseconds go on in steps; between two steps only the counter grows, by
//! one for each timestamp. A commit timestamp that a store chooses can be above it then.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::tikv::engine::{LOGICAL_BITS, Ts};

/// How often the milliseconds of timestamps go on, as in a real PD.
const STEP_MS: i64 = 50;

/// The clock.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ahead_ms: i64,
    last: Ts,
}

impl Clock {
    /// Takes a number of timestamps; the last of them.
    pub(crate) fn next(&mut self, count: u32) -> Ts {
        let count = u64::from(count.max(1));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let now_ms = now_ms.saturating_add(self.ahead_ms).max(1);
        let now_ms = now_ms - now_ms % STEP_MS;
        let now = (now_ms as u64) << LOGICAL_BITS;
        // A full counter goes over into the next millisecond.
        self.last = now.max(self.last) + count;
        self.last
    }

    /// Sets the time of day. Timestamps do not go back; while it is behind, only the counter grows.
    pub(crate) fn jump(&mut self, by_ms: i64) {
        self.ahead_ms = self.ahead_ms.saturating_add(by_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tikv::engine::physical;

    #[test]
    fn timestamps_grow_over_jumps_and_full_counters() {
        let mut clock = Clock::default();
        let first = clock.next(1);
        clock.jump(60_000);
        let later = clock.next(10);
        assert!(physical(later) >= physical(first) + 60_000);
        clock.jump(-120_000);
        let behind = clock.next(1);
        assert_eq!(behind, later + 1);
        assert!(clock.next(1 << LOGICAL_BITS) >= behind + (1 << LOGICAL_BITS));
    }
}
