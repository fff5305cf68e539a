//! The retry driver: one loop for everything that the server runs again after a conflict.
//!
//! ```text
//! run_until_done ── attempt ──► done
//!                     │ error
//!        rerun ───────┴─► 40001 or 40P01? ─ may_repeat? ─ within the limits? ──no──► the error
//!                     ▲                                          │ yes
//!                     └───────────────────── begin_again ◄───────┘
//! ```
//!
//! | what runs again | where | from where on |
//! |---|---|---|
//! | a statement | `statement/execute.rs` | the statement |
//! | a definition, LOCK TABLE | `statement/commands` | the transaction, which it begins |
//! | DO, CALL | `routines/run.rs` | the same, until the body has ended a transaction |
//! | a list of statements | `protocol/simple.rs` | the implicit transaction, or the block |
//! | an Execute, a batch | `retry/replay.rs`, `protocol/sync.rs` | what was executed since Sync |
//! | a commit | `transaction/commit.rs` | the acknowledged statements |
//! | a group | `groups/again.rs`, `groups/task.rs` | its transaction; one statement |
//!
//! Rules: only an error that carries a reason of `kv` is repeated; the driver asks the limits last,
//! and gives the last error back unchanged.

use braid_types::{Error, Result};

use crate::retry::limits::{Limits, Reruns};
use crate::retry::reason::is_retryable;

/// Work that may run again after a conflict.
pub(crate) trait Repeat {
    /// What an attempt gives.
    type Output;

    /// How often it runs again, and for how long.
    const LIMITS: Limits;

    /// Runs it once.
    fn attempt(&mut self) -> impl Future<Output = Result<Self::Output>> + Send;

    /// Whether this work may run again after this error, which is retryable.
    fn may_repeat(&mut self, error: &Error) -> bool;

    /// Takes back what the failed attempt has left, and waits before attempt number `attempt`,
    /// counted from 1. Its error ends the work.
    fn begin_again(
        &mut self,
        error: Error,
        attempt: u32,
    ) -> impl Future<Output = Result<()>> + Send;

    /// The error of work that has reached its limits.
    fn give_up(&self, error: Error) -> Error {
        error
    }
}

/// Runs work until an attempt succeeds or fails for good.
pub(crate) async fn run_until_done<R: Repeat>(work: &mut R) -> Result<R::Output> {
    match work.attempt().await {
        Err(error) => rerun(work, error).await,
        done => done,
    }
}

/// Runs work again whose first attempt has failed with this error.
pub(crate) async fn rerun<R: Repeat>(work: &mut R, mut error: Error) -> Result<R::Output> {
    let mut reruns = Reruns::new(R::LIMITS);
    while is_retryable(&error) && work.may_repeat(&error) {
        let Some(attempt) = reruns.next() else { return Err(work.give_up(error)) };
        work.begin_again(error, attempt).await?;
        match work.attempt().await {
            Err(again) => error = again,
            done => return done,
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::RetryReason;
    use braid_types::SqlState;

    /// Fails a number of times before it succeeds.
    struct Failing {
        failures: u32,
        error: Error,
        is_repeatable: bool,
        attempts: u32,
    }

    impl Repeat for Failing {
        type Output = u32;
        const LIMITS: Limits = Limits::STEP;

        async fn attempt(&mut self) -> Result<u32> {
            self.attempts += 1;
            if self.attempts > self.failures { Ok(self.attempts) } else { Err(self.error.clone()) }
        }

        fn may_repeat(&mut self, _: &Error) -> bool {
            self.is_repeatable
        }

        async fn begin_again(&mut self, _: Error, attempt: u32) -> Result<()> {
            assert_eq!(attempt, self.attempts);
            Ok(())
        }
    }

    fn failing(failures: u32) -> Failing {
        let conflict = braid_kv::Error::retry(RetryReason::ReadChanged, None);
        let error = braid_exec::from_kv(conflict);
        Failing { failures, error, is_repeatable: true, attempts: 0 }
    }

    #[tokio::test]
    async fn a_conflict_runs_again_until_it_succeeds_or_reaches_the_limit() {
        assert_eq!(run_until_done(&mut failing(3)).await.expect("it succeeds"), 4);
        let mut work = failing(u32::MAX);
        let error = run_until_done(&mut work).await.expect_err("it never succeeds");
        assert_eq!((error.state(), work.attempts), (SqlState::SerializationFailure, 100));
    }

    #[tokio::test]
    async fn other_errors_and_work_that_may_not_repeat_end_at_once() {
        let mut refused = Failing { is_repeatable: false, ..failing(3) };
        let message = "restart transaction";
        let text = Error::new(SqlState::SerializationFailure, message);
        let mut without_reason = Failing { error: text, ..failing(3) };
        for work in [&mut refused, &mut without_reason] {
            assert!(run_until_done(work).await.is_err());
            assert_eq!(work.attempts, 1);
        }
    }
}
