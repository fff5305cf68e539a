//! A random part of a table's rows, of bounded size.
//!
//! Algorithm R (Vitter): row number n replaces a random row of the sample with the probability
//! size / n. So each row of the table has the same chance. A sample that takes too much memory
//! drops a random half of its rows and goes on with half the size.

use std::hash::{BuildHasher, RandomState};

use braid_types::{Datum, Row};

/// Rows of a sample, as PostgreSQL's for a statistics target of 100.
const ROWS_MAX: usize = 30_000;
/// Bytes of a sample.
const BYTES_MAX: usize = 64 << 20;
/// A larger value is not kept, as in PostgreSQL. Bytes.
const VALUE_BYTES_MAX: usize = 1024;

/// A sampled row: `None` stands for values that are too large or cannot be sorted.
pub(super) struct SampledRow {
    /// The row's place in the order of the primary key.
    place: u64,
    /// Its values.
    pub values: Vec<Option<Datum>>,
    /// Bytes in memory.
    bytes: usize,
}

/// A sample of the rows given so far.
pub(super) struct Sample {
    rows: Vec<SampledRow>,
    rows_max: usize,
    bytes_max: usize,
    seen: u64,
    bytes: usize,
    random: RandomState,
    drawn: u64,
}

impl Sample {
    pub(super) fn new() -> Self {
        Self::bounded(ROWS_MAX, BYTES_MAX)
    }

    fn bounded(rows_max: usize, bytes_max: usize) -> Self {
        let (rows, random) = (Vec::new(), RandomState::new());
        Sample { rows, rows_max, bytes_max, seen: 0, bytes: 0, random, drawn: 0 }
    }

    /// Gives the next row a chance; `row` makes it if it is kept.
    pub(super) fn add(&mut self, row: impl FnOnce() -> Row) {
        let place = self.seen;
        self.seen += 1;
        if self.rows.len() < self.rows_max {
            let row = sampled(place, row());
            self.bytes += row.bytes;
            self.rows.push(row);
        } else {
            let at = self.draw(self.seen) as usize;
            let Some(old) = self.rows.get_mut(at) else { return };
            let row = sampled(place, row());
            self.bytes = self.bytes + row.bytes - old.bytes;
            *old = row;
        }
        while self.bytes > self.bytes_max && self.rows.len() > 1 {
            self.halve();
        }
    }

    /// A random number below `end`.
    fn draw(&mut self, end: u64) -> u64 {
        self.drawn += 1;
        self.random.hash_one(self.drawn) % end
    }

    fn halve(&mut self) {
        let keep = self.rows.len() / 2;
        while self.rows.len() > keep {
            let at = self.draw(self.rows.len() as u64) as usize;
            self.bytes -= self.rows.swap_remove(at).bytes;
        }
        self.rows_max = keep;
    }

    /// The sampled rows in the order of the primary key, and whether they are all rows.
    pub(super) fn finish(mut self) -> (Vec<SampledRow>, bool) {
        self.rows.sort_unstable_by_key(|row| row.place);
        let is_whole = self.rows.len() as u64 == self.seen;
        (self.rows, is_whole)
    }
}

fn sampled(place: u64, row: Row) -> SampledRow {
    let keep = |datum: Datum| {
        let is_nested = matches!(datum, Datum::Json(_) | Datum::Array(_) | Datum::Record(_));
        (!is_nested && datum.size_bytes() <= VALUE_BYTES_MAX).then_some(datum)
    };
    let values: Vec<Option<Datum>> = row.into_iter().map(keep).collect();
    let bytes = values.iter().flatten().map(Datum::size_bytes).sum::<usize>();
    let bytes = bytes + values.len() * size_of::<Option<Datum>>() + size_of::<SampledRow>();
    SampledRow { place, values, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sample: Sample) -> Vec<i64> {
        let (rows, _) = sample.finish();
        let value = |row: &SampledRow| row.values[0].as_ref().and_then(Datum::as_int);
        rows.iter().map(|row| value(row).unwrap()).collect()
    }

    #[test]
    fn a_small_table_is_kept_whole() {
        let mut sample = Sample::bounded(10, 1 << 20);
        (0..10).for_each(|value| sample.add(|| vec![Datum::Int(value)]));
        assert_eq!(of(sample), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn rows_of_all_parts_of_a_table_are_kept() {
        let mut sample = Sample::bounded(1000, 1 << 20);
        (0..100_000).for_each(|value| sample.add(|| vec![Datum::Int(value)]));
        let values = of(sample);
        assert_eq!(values.len(), 1000);
        assert!(values.is_sorted());
        let low = values.iter().filter(|value| **value < 50_000).count();
        assert!((400..600).contains(&low), "{low} of 1000 in the first half");
    }

    #[test]
    fn memory_is_bounded() {
        let mut sample = Sample::bounded(10_000, 100_000);
        for value in 0..10_000 {
            sample.add(|| vec![Datum::Int(value), Datum::text("x".repeat(500))]);
            assert!(sample.bytes <= 100_000);
        }
        sample.add(|| vec![Datum::Int(0), Datum::text("x".repeat(5000))]);
        let (rows, is_whole) = sample.finish();
        assert!(rows.len() > 40 && !is_whole);
    }
}
