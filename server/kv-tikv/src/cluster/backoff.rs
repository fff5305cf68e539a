//! Pauses between tries: longer each time, until the time limit of the operation.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(500);

/// The pauses and the time limit of one operation.
#[derive(Clone)]
pub(crate) struct Backoff {
    since: Instant,
    until: Instant,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(patience: Duration) -> Backoff {
        let since = Instant::now();
        Backoff { since, until: since + patience, next: FIRST }
    }

    /// How long the operation has lasted.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Waits for the next pause; false if the time limit has passed.
    pub(crate) async fn sleep(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(self.next.min(left)).await;
        self.next = (self.next * 2).min(LONGEST);
        true
    }

    /// Waits for a short pause: the cause is known to be over soon.
    pub(crate) async fn blink(&mut self) -> bool {
        self.next = self.next.min(FIRST * 4);
        self.sleep().await
    }
}
