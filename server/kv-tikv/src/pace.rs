//! How many keys one operation may have on their way: fewer while the stores are slow.
//!
//! A store works off what it is given in order. Given more than it can do in a moment it makes
//! everybody wait, renewals of leases and signs of life among them, until those have ended. So the
//! pace grows with the keys that are answered soon, and is halved when an answer takes long
//! (additive increase, multiplicative decrease: Chiu, Jain 1989).

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// An operation has no more keys than about this on their way.
const KEYS_MAX: usize = 4096;
/// And may have so many, however slow the stores are.
const KEYS_MIN: usize = 64;
/// So many requests share them.
const PARTS: usize = 4;
/// Requests for fewer keys say nothing about a store.
const TELLING: usize = 16;
/// An answer that takes no longer makes the pace quicker.
const SOON: Duration = Duration::from_millis(200);
/// One that takes longer halves it, once in this time.
const SLOW: Duration = Duration::from_millis(500);
/// How much of the keys that were answered soon is added.
const GROWTH: usize = 8;

/// See the module.
pub(crate) struct Pace(Mutex<State>);

struct State {
    keys: usize,
    halved: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace(Mutex::new(State { keys: KEYS_MAX, halved: None }))
    }
}

impl Pace {
    /// How many keys may be on their way.
    pub fn keys(&self) -> usize {
        self.0.lock().keys
    }

    /// How many of them a request may have, if it is one of several.
    pub fn part_keys(&self) -> usize {
        self.keys() / PARTS
    }

    /// A request for so many keys has taken so long.
    pub fn answered(&self, keys: usize, took: Duration) {
        if keys < TELLING {
            return;
        }
        let mut state = self.0.lock();
        if took <= SOON {
            state.keys = (state.keys + keys / GROWTH).min(KEYS_MAX);
        } else if took > SLOW && state.halved.is_none_or(|at| at.elapsed() > SLOW) {
            state.keys = (state.keys / 2).max(KEYS_MIN);
            state.halved = Some(Instant::now());
            tracing::debug!(keys = state.keys, ?took, "the stores are slow");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_answers_halve_it_once_in_a_while_and_quick_ones_bring_it_back() {
        let pace = Pace::default();
        assert_eq!((pace.keys(), pace.part_keys()), (4096, 1024));
        pace.answered(1024, Duration::from_secs(1));
        pace.answered(1024, Duration::from_secs(1));
        assert_eq!(pace.keys(), 2048, "both were on their way at the old pace");
        pace.answered(1, Duration::from_secs(9));
        pace.answered(512, Duration::from_millis(300));
        assert_eq!(pace.keys(), 2048);
        pace.answered(512, Duration::from_millis(10));
        assert_eq!(pace.keys(), 2112);
        (0..40).for_each(|_| pace.answered(512, Duration::from_millis(10)));
        assert_eq!(pace.keys(), 4096);
    }

    #[test]
    fn it_has_an_end() {
        let pace = Pace::default();
        for _ in 0..12 {
            pace.0.lock().halved = None;
            pace.answered(16, Duration::from_secs(5));
        }
        assert_eq!((pace.keys(), pace.part_keys()), (64, 16));
    }
}
