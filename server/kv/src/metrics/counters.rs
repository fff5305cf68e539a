//! Counters of the kv layer.

use crate::{RetryReason, Sharded};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The live counters.
#[derive(Debug, Default)]
pub(crate) struct Counters(Sharded<Counts>);

/// What the threads of one shard have counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub begun: AtomicU64,
    pub committed: AtomicU64,
    pub aborted: AtomicU64,
    pub unknown: AtomicU64,
    pub refresh_success: AtomicU64,
    pub refresh_fail: AtomicU64,
    pub round_trips: AtomicU64,
    retries: [AtomicU64; RetryReason::ALL.len()],
}

impl Counters {
    /// Those of the running thread.
    pub(crate) fn here(&self) -> &Counts {
        self.0.here()
    }

    pub(crate) fn add_retry(&self, reason: RetryReason) {
        self.here().retries[reason as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> KvMetrics {
        let sum = |count: fn(&Counts) -> &AtomicU64| {
            self.0.iter().map(|counts| count(counts).load(Relaxed)).sum()
        };
        let retries = |reason: RetryReason| {
            self.0.iter().map(|counts| counts.retries[reason as usize].load(Relaxed)).sum()
        };
        KvMetrics {
            begun: sum(|counts| &counts.begun),
            committed: sum(|counts| &counts.committed),
            aborted: sum(|counts| &counts.aborted),
            unknown: sum(|counts| &counts.unknown),
            refresh_success: sum(|counts| &counts.refresh_success),
            refresh_fail: sum(|counts| &counts.refresh_fail),
            round_trips: sum(|counts| &counts.round_trips),
            retries: RetryReason::ALL.map(|reason| (reason, retries(reason))),
        }
    }
}

/// Counters of the kv layer, as plain numbers since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvMetrics {
    /// Transactions begun.
    pub begun: u64,
    /// Transactions committed, read-only ones among them.
    pub committed: u64,
    /// Transactions that ended otherwise.
    pub aborted: u64,
    /// Commits whose outcome is unknown.
    pub unknown: u64,
    /// Refreshes that moved the snapshot forward.
    pub refresh_success: u64,
    /// Refreshes that found a changed read.
    pub refresh_fail: u64,
    /// Waits for the store.
    pub round_trips: u64,
    /// Retry errors by reason.
    pub retries: [(RetryReason, u64); RetryReason::ALL.len()],
}
