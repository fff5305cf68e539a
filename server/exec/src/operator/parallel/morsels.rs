//! The spans of a scan whose rows workers share, in parts.
//!
//! ```text
//!   span of the scan   |---- part ----|---- part ----|---- part ----| …
//!                        worker 1       worker 2       who is first
//! ```
//!
//! Parts end where a value of the first key column begins, so no row is in two of them.

use std::sync::Arc;

use braid_kv::{Key, Span};
use braid_types::Datum;
use parking_lot::Mutex;

use crate::operator::parallel::stop_signal::StopSignal;
use crate::operator::scan::reader::KeyBounds;

/// Parts have at least about this many rows: a part costs a scan of its own.
const ROWS_MIN: f64 = 8_192.0;
/// Parts for each worker, at least, if there are enough bounds: the last one to end is short then.
const PARTS_OF_WORKER: usize = 8;

/// The parts that no worker has taken.
pub(crate) struct Morsels {
    /// Values of the first key column at which parts may end.
    bounds: Arc<[Datum]>,
    /// How many parts there are to be, about.
    wanted: usize,
    /// The parts, the next one last. `None` before the first worker begins.
    open: Mutex<Option<Vec<Span>>>,
    stop: Arc<StopSignal>,
}

impl Morsels {
    /// The parts of a scan that reads about `rows` rows, for this number of workers.
    pub(crate) fn new(
        bounds: Arc<[Datum]>,
        rows: f64,
        workers: usize,
        stop: Arc<StopSignal>,
    ) -> Self {
        let wanted = ((rows / ROWS_MIN) as usize).max(workers * PARTS_OF_WORKER);
        Self { bounds, wanted, open: Mutex::new(None), stop }
    }

    /// Divides the spans of the scan, if no other worker has done it.
    pub(crate) fn begin(&self, spans: Vec<Span>, bounds: &KeyBounds) {
        self.open.lock().get_or_insert_with(|| {
            let mut parts = divide(spans, self.ends(bounds));
            parts.reverse();
            parts
        });
    }

    /// The next part; `None` if there are no more, or nobody is to take any.
    pub(crate) fn take(&self) -> Option<Span> {
        if self.stop.is_given() { None } else { self.open.lock().as_mut()?.pop() }
    }

    /// The keys at which parts end, in key order.
    fn ends(&self, bounds: &KeyBounds) -> Vec<Key> {
        let Some(column) = bounds.columns.first() else { return Vec::new() };
        let key = |value| {
            let mut key = bounds.prefix.clone();
            column.encode(&mut key, value);
            key
        };
        let mut keys: Vec<Key> = self.bounds.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let step = keys.len().div_ceil(self.wanted).max(1);
        keys.into_iter().step_by(step).collect()
    }
}

/// Divides spans at these keys, which are in key order.
fn divide(spans: Vec<Span>, ends: Vec<Key>) -> Vec<Span> {
    let mut parts = Vec::with_capacity(spans.len() + ends.len());
    for mut rest in spans {
        let first = ends.partition_point(|end| *end <= rest.start);
        for end in ends[first..].iter().take_while(|end| **end < rest.end) {
            let start = std::mem::replace(&mut rest.start, end.clone());
            parts.push(Span::new(start, end.clone()));
        }
        parts.push(rest);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: &[(&str, &str)]) -> Vec<Span> {
        of.iter().map(|(start, end)| Span::new(*start, *end)).collect()
    }

    fn divided(of: &[(&str, &str)], ends: &[&str]) -> Vec<Span> {
        divide(spans(of), ends.iter().map(|end| end.as_bytes().to_vec()).collect())
    }

    #[test]
    fn parts_have_the_same_keys_as_the_spans() {
        let parts = divided(&[("a", "f"), ("h", "k")], &["a", "c", "d", "g", "k", "z"]);
        assert_eq!(parts, spans(&[("a", "c"), ("c", "d"), ("d", "f"), ("h", "k")]));
    }

    #[test]
    fn without_bounds_the_spans_stay() {
        assert_eq!(divided(&[("a", "f")], &[]), spans(&[("a", "f")]));
        assert_eq!(divided(&[("b", "c")], &["a", "b", "c", "d"]), spans(&[("b", "c")]));
    }
}
