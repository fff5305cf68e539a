//! The timer of a session: it stops the statement whose time is over.
//!
//! ```text
//!   idle ──arm──► sleeping to the deadline ──► the same one still holds: stop the statement
//!     ▲                     │                 ──► a later one: sleep on
//!     └─────────────────────┴──────────────────── none: idle
//! ```
//!
//! One task for the life of the session, from its first statement with a timeout. A statement that
//! ends only takes its deadline away, so the task wakes at most once in a timeout.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Rule: a statement is stopped only while its own deadline is the one that is armed.
pub(crate) struct StatementTimer {
    deadlines: Arc<Deadlines>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Deadlines {
    state: Mutex<DeadlineState>,
    /// The task has to look again: a deadline is earlier than what it sleeps for.
    changed: Notify,
    /// Stops the running statement.
    stop: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct DeadlineState {
    /// When the running statement has to be done; none without a timeout or a statement.
    armed: Option<Instant>,
    /// When the task wakes; none if it is idle.
    wakes: Option<Instant>,
}

impl StatementTimer {
    /// A timer that stops statements so.
    pub(crate) fn new(stop: impl Fn() + Send + Sync + 'static) -> StatementTimer {
        let (state, changed, stop) = (Mutex::default(), Notify::new(), Box::new(stop));
        let deadlines = Arc::new(Deadlines { state, changed, stop });
        StatementTimer { deadlines, task: Mutex::default() }
    }

    /// From now on the statement that runs has to be done by `deadline`.
    pub(crate) fn arm(&self, deadline: Instant) {
        self.task.lock().get_or_insert_with(|| {
            let deadlines = self.deadlines.clone();
            tokio::spawn(async move { deadlines.watch().await })
        });
        let mut state = self.deadlines.state.lock();
        state.armed = Some(deadline);
        if state.wakes.is_none_or(|wakes| wakes > deadline) {
            self.deadlines.changed.notify_one();
        }
    }

    /// The statement has ended. Afterwards the timer does not stop it any more.
    pub(crate) fn disarm(&self) {
        self.deadlines.state.lock().armed = None;
    }
}

impl Drop for StatementTimer {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

impl Deadlines {
    async fn watch(&self) {
        loop {
            match self.next_wake() {
                None => self.changed.notified().await,
                Some(wake) => {
                    // Whichever comes first, the deadline is looked at again.
                    let _ = tokio::time::timeout_at(wake, self.changed.notified()).await;
                }
            }
        }
    }

    /// Stops a statement whose time is over; when to look next.
    fn next_wake(&self) -> Option<Instant> {
        let mut state = self.state.lock();
        if state.armed.is_some_and(|deadline| deadline <= Instant::now()) {
            state.armed = None;
            // Under the lock: this statement cannot end, and another one begin, in between.
            (self.stop)();
        }
        state.wakes = state.armed;
        state.wakes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    fn counting() -> (StatementTimer, Arc<AtomicU32>) {
        let stopped = Arc::new(AtomicU32::new(0));
        let count = stopped.clone();
        let timer = StatementTimer::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        (timer, stopped)
    }

    fn after(millis: u64) -> Instant {
        Instant::now() + Duration::from_millis(millis)
    }

    async fn wait_until_stopped(stopped: &AtomicU32, times: u32) {
        let all = async {
            while stopped.load(Ordering::Relaxed) != times {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), all).await.expect("it is stopped");
    }

    #[tokio::test]
    async fn a_statement_is_stopped_once_and_so_is_the_next_one() {
        let (timer, stopped) = counting();
        timer.arm(after(10));
        wait_until_stopped(&stopped, 1).await;
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
        timer.arm(after(10));
        wait_until_stopped(&stopped, 2).await;
    }

    #[tokio::test]
    async fn a_statement_that_has_ended_is_not_stopped_and_neither_is_the_next_one() {
        let (timer, stopped) = counting();
        timer.arm(after(10));
        // The task has not run yet: this runtime has one thread.
        timer.disarm();
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(stopped.load(Ordering::Relaxed), 0);
        timer.arm(after(3_600_000));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(stopped.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn an_earlier_deadline_is_kept_while_the_task_sleeps_for_a_later_one() {
        let (timer, stopped) = counting();
        timer.arm(after(3_600_000));
        tokio::time::sleep(Duration::from_millis(10)).await;
        timer.disarm();
        timer.arm(after(10));
        wait_until_stopped(&stopped, 1).await;
    }
}
