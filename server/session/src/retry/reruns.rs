//! How often, and for how long, something is run again in the server.
//!
//! Rule: what runs again stops early if it does not get through.

use std::time::Duration;

use tokio::time::Instant;

/// How often something is run again before its client has to do that.
pub(crate) const ATTEMPTS_MAX: u32 = 100;
/// A transaction is not run again this long after it has failed for the first time.
pub(crate) const RERUN_TIME: Duration = Duration::from_secs(10);
/// This many attempts are made however long they take.
pub(crate) const RERUNS_MIN: u32 = 2;

/// Counts the attempts of a transaction that is run again in the server.
pub(crate) struct Reruns {
    pub count: u32,
    /// Known once an attempt has failed.
    pub until: Option<Instant>,
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
