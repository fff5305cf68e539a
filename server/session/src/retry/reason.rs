//! Which errors running again may cure, and their counts by reason.

use std::sync::atomic::{AtomicU64, Ordering};

use braid_kv::{Error as Kv, RetryReason};
use braid_types::Error;

/// The cause of an error: the server has reached its limit of attempts.
#[derive(Debug, thiserror::Error)]
#[error("too many attempts")]
pub(crate) struct TooManyAttempts;

/// Whether running the statement or the transaction again may help.
pub(crate) fn is_retryable(error: &Error) -> bool {
    is_restart(error) || is_deadlock(error)
}

/// Whether it helps to run again with the same locks.
pub(crate) fn is_restart(error: &Error) -> bool {
    reason(error).is_some() || error.cause::<TooManyAttempts>().is_some()
}

/// Whether the transaction was the victim of a deadlock.
pub(crate) fn is_deadlock(error: &Error) -> bool {
    matches!(error.cause(), Some(Kv::Deadlock { .. }))
}

/// Whether a definition has closed a table to writers, which the statement has to wait for.
pub(crate) fn is_closed(error: &Error) -> bool {
    reason(error) == Some(RetryReason::TableClosed)
}

/// Whether something that the transaction relied on was defined differently meanwhile.
pub(crate) fn is_schema_changed(error: &Error) -> bool {
    reason(error) == Some(RetryReason::SchemaChanged)
}

/// Whether it was asked for by `inject_retry_errors_enabled`, for the client to see.
pub(crate) fn is_injected(error: &Error) -> bool {
    reason(error) == Some(RetryReason::Injected)
}

/// Whether a lock was not granted.
pub(crate) fn is_lock_refused(error: &Error) -> bool {
    matches!(error.cause(), Some(Kv::LockTimeout { .. } | Kv::LockNotAvailable { .. }))
}

/// The reason why the transaction has to run again, as `kv` gave it.
fn reason(error: &Error) -> Option<RetryReason> {
    match error.cause() {
        Some(Kv::Retry(conflict)) => Some(conflict.reason),
        _ => None,
    }
}

/// The reason of a deadlock, beside those of [`RetryReason`].
const DEADLOCK: &str = "deadlock";
const REASONS: usize = RetryReason::ALL.len() + 1;

/// Counts retry errors by their reason.
#[derive(Default)]
pub struct RetryCounters([AtomicU64; REASONS]);

impl RetryCounters {
    /// Counts an error that is retryable.
    pub(crate) fn add(&self, error: &Error) {
        let place = match reason(error) {
            Some(reason) => RetryReason::ALL.iter().position(|other| *other == reason),
            None => is_deadlock(error).then_some(RetryReason::ALL.len()),
        };
        if let Some(place) = place {
            self.0[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every reason with its count.
    pub fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let words = RetryReason::ALL.iter().map(|reason| reason.as_str()).chain([DEADLOCK]);
        words.zip(self.0.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}
