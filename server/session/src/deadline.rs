//! How long a request of the client may take, and how often it is run again in the server.
//!
//! ```text
//!   message ──► attempt ──► 40001 ──► attempt ──► wait for a lock ──► answer
//!   └──────────────────────── statement_timeout ────────────────────────┘
//! ```
//!
//! Rules: `statement_timeout` counts from the client's message, over all attempts and all waits;
//! as in PostgreSQL, each statement of a list has its own time, and in the extended protocol the
//! time ends with Execute, Sync and Flush. What runs again stops early if it does not get through.

use std::time::Duration;

use braid_types::{Error, Result, SqlState};
use tokio::time::Instant;

use crate::session::Session;

/// How often something is run again before its client has to do that.
pub(crate) const ATTEMPTS_MAX: u32 = 100;
/// A transaction is not run again this long after it has failed for the first time.
const RERUN_TIME: Duration = Duration::from_secs(10);
/// This many attempts are made however long they take.
const RERUNS_MIN: u32 = 2;

/// Counts the attempts of a transaction that is run again in the server.
pub(crate) struct Reruns {
    count: u32,
    /// Known once an attempt has failed.
    until: Option<Instant>,
}

impl Reruns {
    pub(crate) fn new() -> Reruns {
        Reruns { count: 0, until: None }
    }

    /// The number of the next attempt, from 1; `None` if there were enough.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.count += 1;
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + RERUN_TIME);
        let has_time = self.count <= RERUNS_MIN || now < until;
        (has_time && self.count <= ATTEMPTS_MAX).then_some(self.count)
    }
}

impl Session {
    /// A message that is part of a request is here: its time runs, unless it runs already.
    pub(crate) fn begin_request(&mut self) {
        self.requested.get_or_insert_with(Instant::now);
    }

    /// What the client has asked for has been answered.
    pub fn end_request(&mut self) {
        self.requested = None;
    }

    /// When what the client has asked for has to be done.
    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        let after = self.active().statement_timeout?;
        self.requested.unwrap_or_else(Instant::now).checked_add(after)
    }

    /// How long the commit may wait for a lock: `lock_timeout`, or what is left of the time.
    pub(crate) fn commit_lock_timeout(&mut self) -> Option<Duration> {
        let left = self.deadline().map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = self.active().lock_timeout;
        timeout.into_iter().chain(left).min()
    }

    /// The error of a commit that has waited for a lock until there was no time left.
    pub(crate) fn late_commit(&mut self, error: Error) -> Error {
        let is_late = self.deadline().is_some_and(|at| at <= Instant::now());
        match error.state() {
            SqlState::LockNotAvailable if is_late => self.server.statement_timeout(),
            _ => error,
        }
    }

    /// Before something runs again, the others get a chance to finish; the first times, they need
    /// none. Fails if the client, or its timeout, has stopped the request.
    pub(crate) async fn pause(&self, attempt: u32) -> Result<()> {
        let cancel = &self.shared.entry.cancel;
        if attempt > 3 {
            let spread = u64::from(self.shared.entry.pid.unsigned_abs() % 7) + 1;
            let millis = (u64::from(attempt) * spread).min(50);
            tokio::select! {
                biased;
                error = cancel.stopped() => return Err(error),
                () = tokio::time::sleep(Duration::from_millis(millis)) => {}
            }
        }
        cancel.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_runs_again_twice_and_what_is_short_a_hundred_times() {
        let now = Instant::now();
        for (until, attempts) in [(now, 2), (now + Duration::from_secs(3_600), 100)] {
            let mut reruns = Reruns { count: 0, until: Some(until) };
            let count = (0..1_000).take_while(|_| reruns.next().is_some()).count();
            assert_eq!(count, attempts);
        }
    }
}
