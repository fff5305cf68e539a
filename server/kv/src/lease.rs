//! What lets several gateways share a store: timestamps that tell the time, commits that have to
//! take place before a point of it, and the promise that no schema change comes between.
//!
//! ```text
//!   lease of this gateway   ├──────── renewed ──── renewed ────┤ ends
//!   commit                        ├─ prewrite ─ C ─┤              C is before the end, or
//!                                                                 the commit does not take place
//! ```
//!
//! A gateway that was paused for longer than its lease comes back with a commit whose C, which the
//! store's clock gives, is after the end: it fails, whatever the gateway believes.

use crate::Timestamp;
use std::{sync::Arc, time::Duration};

/// How the timestamps of a store tell the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreClock {
    /// How many low bits count within one millisecond since 1970.
    pub logical_bits: u32,
}

impl StoreClock {
    /// The timestamp that is this duration after `from`.
    pub fn after(&self, from: Timestamp, by: Duration) -> Timestamp {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX >> self.logical_bits);
        Timestamp(from.0.saturating_add(millis << self.logical_bits))
    }

    /// The time since 1970, to the millisecond.
    pub fn since_1970(&self, at: Timestamp) -> Duration {
        Duration::from_millis(at.0 >> self.logical_bits)
    }
}

/// A commit under it takes place before a point of time or not at all. The store keeps it until
/// the outcome is decided, no matter who learns of it.
pub trait CommitFence: Send + Sync + 'static {
    /// The commit's timestamp has to be below this one. It may move on while the commit is under
    /// way.
    fn before(&self) -> Timestamp;
}

/// A commit that is bound to two points of time takes place before both.
struct Both(Arc<dyn CommitFence>, Arc<dyn CommitFence>);

impl CommitFence for Both {
    fn before(&self) -> Timestamp {
        self.0.before().min(self.1.before())
    }
}

/// What binds a commit that each of these binds.
pub(crate) fn both(
    one: Option<Arc<dyn CommitFence>>,
    other: Option<Arc<dyn CommitFence>>,
) -> Option<Arc<dyn CommitFence>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Arc::new(Both(one, other))),
        (one, other) => one.or(other),
    }
}

/// Says when a commit need not prove that the schema is unchanged.
pub trait SchemaLease: Send + Sync + 'static {
    /// No schema change takes effect between `since` and the commit, if that is below the fence.
    /// `None` if that cannot be promised.
    fn enter(&self, since: Timestamp) -> Option<Arc<dyn CommitFence>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_counts_in_milliseconds() {
        let clock = StoreClock { logical_bits: 18 };
        let at = Timestamp((5_000 << 18) + 7);
        assert_eq!(clock.since_1970(at), Duration::from_secs(5));
        let later = clock.after(at, Duration::from_millis(1_500));
        assert_eq!(later, Timestamp((6_500 << 18) + 7));
        assert!(clock.after(at, Duration::MAX) > later);
    }
}
