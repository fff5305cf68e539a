//! Histograms of the durations of statements and transactions.

use std::time::Duration;

use braid_kv::{Histogram, HistogramValues, Sharded};

use super::class::StatementClass;

/// The counters of one group of threads.
#[derive(Debug, Default)]
struct Share {
    statements: [Histogram; StatementClass::COUNT],
    /// By what the transaction did (read only, read and write), then by its outcome.
    transactions: [[Histogram; 2]; 2],
}

/// Durations of statements and transactions.
#[derive(Debug, Default)]
pub struct Times(Sharded<Share>);

/// The durations of the transactions of one kind with one outcome.
#[derive(Clone, Copy, Debug)]
pub struct TransactionTimes {
    /// Whether they had something to write.
    pub has_written: bool,
    /// Whether they committed.
    pub is_committed: bool,
    /// The durations, in nanoseconds.
    pub nanos: HistogramValues,
}

fn nanos(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

impl Times {
    /// Counts a statement.
    pub(crate) fn statement(&self, class: StatementClass, elapsed: Duration) {
        self.0.here().statements[class as usize].observe(nanos(elapsed));
    }

    /// Counts a transaction.
    pub(crate) fn transaction(&self, has_written: bool, is_committed: bool, elapsed: Duration) {
        let of_kind = &self.0.here().transactions[usize::from(has_written)];
        of_kind[usize::from(is_committed)].observe(nanos(elapsed));
    }

    /// The durations of the statements of a class, in nanoseconds.
    pub fn of_statements(&self, class: StatementClass) -> HistogramValues {
        self.sum(|share| &share.statements[class as usize])
    }

    /// The durations of all transactions, by kind and outcome.
    pub fn of_transactions(&self) -> impl Iterator<Item = TransactionTimes> {
        [(false, true), (false, false), (true, true), (true, false)].into_iter().map(
            |(has_written, is_committed)| {
                let nanos = self.sum(|share| {
                    &share.transactions[usize::from(has_written)][usize::from(is_committed)]
                });
                TransactionTimes { has_written, is_committed, nanos }
            },
        )
    }

    fn sum(&self, of: impl Fn(&Share) -> &Histogram) -> HistogramValues {
        let mut sum = Histogram::default().read();
        self.0.iter().for_each(|share| sum.add(&of(share).read()));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_up_and_kinds_are_kept_apart() {
        let times = Times::default();
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    times.statement(StatementClass::Insert, Duration::from_micros(60));
                    times.transaction(true, false, Duration::from_millis(2));
                });
            }
        });
        let inserts = times.of_statements(StatementClass::Insert);
        assert_eq!((inserts.count(), inserts.counts[1], inserts.sum), (10, 10, 600_000));
        assert_eq!(times.of_statements(StatementClass::Select).count(), 0);
        for of in times.of_transactions() {
            let expected = if of.has_written && !of.is_committed { 10 } else { 0 };
            assert_eq!(of.nanos.count(), expected, "{of:?}");
        }
    }
}
