//! Waiting between tries: longer each time, never longer than the patience lasts.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(500);

/// The patience of one operation.
#[derive(Clone)]
pub(crate) struct Backoff {
    since: Instant,
    until: Instant,
    next: Duration,
}

impl Backoff {
    pub fn new(patience: Duration) -> Backoff {
        let since = Instant::now();
        Backoff { since, until: since + patience, next: FIRST }
    }

    /// How long the operation has lasted.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Waits, or says false because the patience is over.
    pub async fn sleep(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(self.next.min(left)).await;
        self.next = (self.next * 2).min(LONGEST);
        true
    }

    /// Waits a moment only: what was wrong is known to be over soon.
    pub async fn blink(&mut self) -> bool {
        self.next = self.next.min(FIRST * 4);
        self.sleep().await
    }
}
