//! Counters of the kv layer.

use crate::RetryReason;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The live counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
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
    pub(crate) fn add_retry(&self, reason: RetryReason) {
        self.retries[reason as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> KvMetrics {
        KvMetrics {
            begun: self.begun.load(Relaxed),
            committed: self.committed.load(Relaxed),
            aborted: self.aborted.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            refresh_success: self.refresh_success.load(Relaxed),
            refresh_fail: self.refresh_fail.load(Relaxed),
            round_trips: self.round_trips.load(Relaxed),
            retries: RetryReason::ALL.map(|r| (r, self.retries[r as usize].load(Relaxed))),
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
