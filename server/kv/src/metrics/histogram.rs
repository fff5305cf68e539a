//! Histograms: counts of observations by size, cheap enough for every commit and lock wait.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most bounds that a histogram has.
pub const BOUNDS_MAX: usize = 14;

/// Bounds for times, in nanoseconds: 50 µs to 10 s.
pub const TIME_BOUNDS: [u64; BOUNDS_MAX] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Bounds for counts: 1 to 1,000.
pub const COUNT_BOUNDS: [u64; BOUNDS_MAX] = [1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1000];

/// A live histogram.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64; BOUNDS_MAX],
    counts: [AtomicU64; BOUNDS_MAX + 1],
    sum: AtomicU64,
}

impl Histogram {
    /// An empty histogram with these bounds, each the largest value of its bucket.
    pub fn new(bounds: &'static [u64; BOUNDS_MAX]) -> Histogram {
        Histogram { bounds, counts: Default::default(), sum: AtomicU64::new(0) }
    }

    /// Counts one value.
    pub fn observe(&self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// What was counted so far.
    pub fn read(&self) -> HistogramValues {
        let mut counts = [0; BOUNDS_MAX + 1];
        for (count, live) in counts.iter_mut().zip(&self.counts) {
            *count = live.load(Relaxed);
        }
        HistogramValues { bounds: *self.bounds, counts, sum: self.sum.load(Relaxed) }
    }
}

impl Default for Histogram {
    /// One of times.
    fn default() -> Histogram {
        Histogram::new(&TIME_BOUNDS)
    }
}

/// A histogram as plain numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistogramValues {
    /// The largest value of each bucket but the last, which has none.
    pub bounds: [u64; BOUNDS_MAX],
    /// How many values each bucket has, those of the others not included.
    pub counts: [u64; BOUNDS_MAX + 1],
    /// All values together.
    pub sum: u64,
}

impl HistogramValues {
    /// Adds those of another histogram with the same bounds.
    pub fn add(&mut self, other: &HistogramValues) {
        debug_assert_eq!(self.bounds, other.bounds, "histograms of different kinds");
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.sum += other.sum;
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_the_first_bucket_that_is_large_enough() {
        let histogram = Histogram::new(&COUNT_BOUNDS);
        [1, 1, 2, 5, 1000, 1001].into_iter().for_each(|value| histogram.observe(value));
        let values = histogram.read();
        assert_eq!(values.counts[..5], [2, 1, 0, 0, 1]);
        assert_eq!(values.counts[BOUNDS_MAX - 1..], [1, 1]);
        assert_eq!((values.count(), values.sum), (6, 2010));
    }
}
