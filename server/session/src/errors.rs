//! Which errors running again may cure, and how often they come, by reason.

use std::sync::atomic::{AtomicU64, Ordering};

use braid_kv::RetryReason;
use braid_types::{Error, SqlState};

/// Whether running the statement or the transaction again may help.
pub(crate) fn is_retryable(error: &Error) -> bool {
    is_restart(error) || error.state() == SqlState::DeadlockDetected
}

/// Whether it helps to run again with the same locks.
pub(crate) fn is_restart(error: &Error) -> bool {
    error.state() == SqlState::SerializationFailure
}

/// Whether it was asked for by `inject_retry_errors_enabled`, for the client to see.
pub(crate) fn is_injected(error: &Error) -> bool {
    error.fields().detail.as_deref() == Some(RetryReason::Injected.as_str())
}

/// The reason of a deadlock, beside those of [`RetryReason`].
const DEADLOCK: &str = "deadlock";
const REASONS: usize = RetryReason::ALL.len() + 1;

/// Counts retry errors by their reason.
#[derive(Default)]
pub(crate) struct RetryCounters([AtomicU64; REASONS]);

impl RetryCounters {
    /// Counts an error that is retryable.
    pub(crate) fn add(&self, error: &Error) {
        let word = error.fields().detail.as_deref().unwrap_or_default();
        let place = match error.state() {
            SqlState::DeadlockDetected => Some(RetryReason::ALL.len()),
            _ => RetryReason::ALL.iter().position(|reason| reason.as_str() == word),
        };
        if let Some(place) = place {
            self.0[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every reason with its count.
    pub(crate) fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let words = RetryReason::ALL.iter().map(|reason| reason.as_str()).chain([DEADLOCK]);
        words.zip(self.0.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}
