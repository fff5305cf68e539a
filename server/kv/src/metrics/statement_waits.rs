//! What one statement waits for, counted apart from its transaction's other statements.
//!
//! Statements of a group run side by side on one transaction, so its own counter cannot tell
//! them apart. A future that runs inside [`StatementWaits::watch`] counts for that statement,
//! wherever it calls the transaction; nothing is counted, and nothing is paid, without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

tokio::task_local! {
    static WAITS: Arc<StatementWaits>;
}

/// The waits of one statement.
#[derive(Debug, Default)]
pub struct StatementWaits {
    round_trips: AtomicU64,
    in_flight: AtomicU32,
    lock_micros: AtomicU64,
}

impl StatementWaits {
    /// How often it has waited for the store; requests under way at the same time are one wait.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Relaxed)
    }

    /// How long its lock requests have taken, in microseconds.
    pub fn lock_micros(&self) -> u64 {
        self.lock_micros.load(Relaxed)
    }

    /// Runs `work`, counting its waits here.
    pub async fn watch<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> T {
        WAITS.scope(self.clone(), work).await
    }

    /// Those of the statement that runs in this task, if somebody wants to know.
    pub(crate) fn current() -> Option<Arc<StatementWaits>> {
        WAITS.try_with(Clone::clone).ok()
    }

    pub(crate) fn begin(&self) {
        if self.in_flight.fetch_add(1, Relaxed) == 0 {
            self.round_trips.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }
}

/// Waits for a lock, and counts how long.
pub(crate) async fn lock_wait<T>(answer: impl Future<Output = T>) -> T {
    let Some(waits) = StatementWaits::current() else { return answer.await };
    let since = Instant::now();
    let result = answer.await;
    let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
    waits.lock_micros.fetch_add(micros, Relaxed);
    result
}
