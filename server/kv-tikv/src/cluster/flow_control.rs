//! Flow control: how many keys of one operation may be in flight; fewer while the stores are slow.
//!
//! A store handles requests in order. A store with too many requests delays everybody, renewals of
//! leases and heartbeats included. So the limit grows with the keys that are answered quickly, and
//! is halved when an answer is slow (additive increase, multiplicative decrease: Chiu, Jain 1989).

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Most keys of one operation in flight.
const KEYS_MAX: usize = 4096;
/// Keys in flight that an operation may always have.
const KEYS_MIN: usize = 64;
/// Requests that share the keys in flight.
const PARTS: usize = 4;
/// Keys that a request needs for its time to count.
const COUNTED_KEYS_MIN: usize = 16;
/// An answer within this time raises the limit.
const QUICK: Duration = Duration::from_millis(200);
/// A slower answer halves the limit, at most once in this time.
const SLOW: Duration = Duration::from_millis(500);
/// The limit grows by one key for this many keys answered quickly.
const GROWTH: usize = 8;

/// See the module.
pub(crate) struct FlowControl(Mutex<State>);

struct State {
    keys: usize,
    halved: Option<Instant>,
}

impl Default for FlowControl {
    fn default() -> FlowControl {
        FlowControl(Mutex::new(State { keys: KEYS_MAX, halved: None }))
    }
}

impl FlowControl {
    /// Most keys in flight now.
    pub(crate) fn keys_max(&self) -> usize {
        self.0.lock().keys
    }

    /// Most keys of one request among several.
    pub(crate) fn request_keys_max(&self) -> usize {
        self.keys_max() / PARTS
    }

    /// Records how long a request for `keys` keys took.
    pub(crate) fn record_answer(&self, keys: usize, took: Duration) {
        if keys < COUNTED_KEYS_MIN {
            return;
        }
        let mut state = self.0.lock();
        if took <= QUICK {
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
        let flow_control = FlowControl::default();
        assert_eq!((flow_control.keys_max(), flow_control.request_keys_max()), (4096, 1024));
        flow_control.record_answer(1024, Duration::from_secs(1));
        flow_control.record_answer(1024, Duration::from_secs(1));
        assert_eq!(flow_control.keys_max(), 2048, "both were sent under the old limit");
        flow_control.record_answer(1, Duration::from_secs(9));
        flow_control.record_answer(512, Duration::from_millis(300));
        assert_eq!(flow_control.keys_max(), 2048);
        flow_control.record_answer(512, Duration::from_millis(10));
        assert_eq!(flow_control.keys_max(), 2112);
        (0..40).for_each(|_| flow_control.record_answer(512, Duration::from_millis(10)));
        assert_eq!(flow_control.keys_max(), 4096);
    }

    #[test]
    fn it_has_an_end() {
        let flow_control = FlowControl::default();
        for _ in 0..12 {
            flow_control.0.lock().halved = None;
            flow_control.record_answer(16, Duration::from_secs(5));
        }
        assert_eq!((flow_control.keys_max(), flow_control.request_keys_max()), (64, 16));
    }
}
