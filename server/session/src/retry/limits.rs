//! How often, and for how long, something is run again in the server.
//!
//! Rule: what runs again stops early if it does not get through.

use std::time::Duration;

use tokio::time::Instant;

/// How often something is run again before its client has to do that.
const RERUNS_MAX: u32 = 100;
/// A transaction is not run again this long after it has failed for the first time.
const RERUN_TIME: Duration = Duration::from_secs(10);
/// This many reruns are made however long they take.
const RERUNS_MIN: u32 = 2;

/// The limits of work that runs again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How often it runs again, at most.
    reruns_max: u32,
    /// How long after its first failure it may begin again.
    time: Option<Duration>,
}

impl Limits {
    /// Of a statement of a client, whose timeout bounds the time.
    pub(crate) const STATEMENT: Limits = Limits { reruns_max: RERUNS_MAX, time: None };
    /// Of a step inside other work: a hundred attempts, the first one included.
    pub(crate) const STEP: Limits = Limits { reruns_max: RERUNS_MAX - 1, time: None };
    /// Of a transaction, or a part of it with more than one statement.
    pub(crate) const TRANSACTION: Limits =
        Limits { reruns_max: RERUNS_MAX, time: Some(RERUN_TIME) };
}

/// Counts the reruns of work.
pub(crate) struct Reruns {
    count: u32,
    reruns_max: u32,
    until: Option<Instant>,
}

impl Reruns {
    /// Begins to count when the first attempt has failed.
    pub(crate) fn new(limits: Limits) -> Reruns {
        let until = limits.time.map(|time| Instant::now() + time);
        Reruns { count: 0, reruns_max: limits.reruns_max, until }
    }

    /// The number of the next rerun, from 1; `None` if there were enough.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.count += 1;
        let has_time =
            self.count <= RERUNS_MIN || self.until.is_none_or(|until| Instant::now() < until);
        (has_time && self.count <= self.reruns_max).then_some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_runs_again_twice_and_what_is_short_a_hundred_times() {
        let limits = |time| Limits { reruns_max: RERUNS_MAX, time };
        let hour = Duration::from_secs(3_600);
        for (limits, reruns) in [
            (limits(Some(Duration::ZERO)), 2),
            (limits(Some(hour)), 100),
            (Limits::STATEMENT, 100),
            (Limits::STEP, 99),
        ] {
            let mut counter = Reruns::new(limits);
            let count = (0..1_000).take_while(|_| counter.next().is_some()).count();
            assert_eq!(count, reruns, "{limits:?}");
        }
    }
}
