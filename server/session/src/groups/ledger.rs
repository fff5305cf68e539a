//! The statements of a group: who waits for whom, what has become of each.
//!
//! Nothing here waits or runs; the queue asks and does. `J` is what it needs to start a
//! statement.

use braid_exec::{Dependency, StatementSpans};
use braid_types::Error;

use super::report::Failure;

/// Which earlier statements a new one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depends {
    /// Those whose spans meet its own.
    BySpans,
    /// Every one.
    OnAll,
    /// None: wrong, for a test.
    OnNone,
}

/// A statement as it arrives.
pub(super) struct Arrival<J> {
    pub number: u32,
    pub text: String,
    pub spans: StatementSpans,
    pub bytes: usize,
    pub depends: Depends,
    pub job: J,
}

/// A statement that has not finished.
struct Entry<J> {
    number: u32,
    spans: StatementSpans,
    bytes: usize,
    text: String,
    /// Unfinished earlier statements that it depends on.
    waits_for: Vec<u32>,
    /// Taken when it starts.
    job: Option<J>,
}

/// A statement number that the transaction knows by this sequence number.
struct Known {
    seq: u32,
    number: u32,
    text: String,
}

/// What a new statement has to wait for.
pub(super) type WaitsFor = Vec<(u32, Option<Dependency>)>;

/// The statements of a group.
pub(super) struct Ledger<J> {
    entries: Vec<Entry<J>>,
    bytes: usize,
    failures: Vec<Failure>,
    known: Vec<Known>,
    /// Some statement runs under a later sequence number than its arrival's.
    pub renumbered: bool,
}

impl<J> Default for Ledger<J> {
    fn default() -> Self {
        Ledger {
            entries: Vec::new(),
            bytes: 0,
            failures: Vec::new(),
            known: Vec::new(),
            renumbered: false,
        }
    }
}

impl<J> Ledger<J> {
    /// How many have not finished, and the bytes they hold.
    pub(super) fn load(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    /// The numbers of those that have not finished.
    pub(super) fn unfinished(&self) -> Vec<u32> {
        self.entries.iter().map(|entry| entry.number).collect()
    }

    /// Whether a statement has failed.
    pub(super) fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }

    /// How many sequence numbers are remembered since the last barrier.
    pub(super) fn remembered(&self) -> usize {
        self.known.len()
    }

    /// Enters a statement, and says what it waits for.
    pub(super) fn add(&mut self, arrival: Arrival<J>) -> WaitsFor {
        let Arrival { number, text, spans, bytes, depends, job } = arrival;
        let mut waits = WaitsFor::new();
        if self.has_failed() {
            // It would never start.
            return waits;
        }
        for earlier in &self.entries {
            match depends {
                Depends::OnNone => break,
                Depends::OnAll => waits.push((earlier.number, None)),
                Depends::BySpans => {
                    if let Some(why) = spans.conflicts_with(&earlier.spans) {
                        waits.push((earlier.number, Some(why)));
                    }
                }
            }
        }
        let waits_for = waits.iter().map(|(number, _)| *number).collect();
        self.bytes += bytes;
        self.entries.push(Entry { number, spans, bytes, text, waits_for, job: Some(job) });
        waits
    }

    /// Takes what can start now.
    pub(super) fn startable(&mut self) -> Vec<(u32, J)> {
        let failed = self.first_failed();
        let free = self.entries.iter_mut().filter(|e| e.waits_for.is_empty() && e.number < failed);
        free.filter_map(|entry| Some((entry.number, entry.job.take()?))).collect()
    }

    /// Enters the end of a statement. After a failure later ones that have not started never will.
    pub(super) fn finish(&mut self, number: u32, result: Result<(), Error>) {
        let Some(place) = self.entries.iter().position(|entry| entry.number == number) else {
            return;
        };
        let entry = self.entries.remove(place);
        self.bytes -= entry.bytes;
        if let Err(error) = result {
            self.failures.push(Failure { number: Some(number), text: entry.text, error });
            let failed = self.first_failed();
            self.forget(|entry| entry.number > failed && entry.job.is_some());
        }
        for entry in &mut self.entries {
            entry.waits_for.retain(|earlier| *earlier != number);
        }
    }

    /// Drops what has not started; the first of it counts as failed, so that nobody takes the
    /// group for complete.
    pub(super) fn drop_queued(&mut self, error: &Error) {
        if let Some(first) = self.entries.iter().find(|entry| entry.job.is_some()) {
            let (number, text) = (Some(first.number), first.text.clone());
            self.failures.push(Failure { number, text, error: error.clone() });
        }
        self.forget(|entry| entry.job.is_some());
    }

    fn forget(&mut self, gone: impl Fn(&Entry<J>) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|entry| {
            let goes = gone(entry);
            if goes {
                *bytes -= entry.bytes;
            }
            !goes
        });
    }

    fn first_failed(&self) -> u32 {
        self.failures.iter().filter_map(|failure| failure.number).min().unwrap_or(u32::MAX)
    }

    /// Remembers under which sequence number a statement runs.
    pub(super) fn note_seq(&mut self, seq: u32, number: u32, text: String) {
        self.known.push(Known { seq, number, text });
    }

    /// The same statement under another sequence number.
    pub(super) fn note_again(&mut self, seq: u32, number: u32) {
        self.renumbered = true;
        let text = self.entries.iter().find(|entry| entry.number == number);
        let text = text.map(|entry| entry.text.clone()).unwrap_or_default();
        self.note_seq(seq, number, text);
    }

    /// A failure of the statement with this sequence number.
    pub(super) fn failure_of(&self, seq: u32, error: Error) -> Failure {
        match self.known.iter().rev().find(|known| known.seq == seq) {
            Some(known) => Failure { number: Some(known.number), text: known.text.clone(), error },
            None => Failure { number: None, text: String::new(), error },
        }
    }

    /// What has failed, by number.
    pub(super) fn take_failures(&mut self) -> Vec<Failure> {
        let mut failures = std::mem::take(&mut self.failures);
        failures.sort_by_key(|failure| failure.number);
        failures
    }

    /// Forgets sequence numbers: their statements have been reported, or need not be.
    pub(super) fn clear(&mut self) {
        self.failures.clear();
        self.known.clear();
        self.renumbered = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::Span;
    use braid_types::SqlState;

    fn spans(reads: &[&str], writes: &[&str]) -> StatementSpans {
        let set = |keys: &[&str]| keys.iter().map(|key| Span::key(key.as_bytes())).collect();
        StatementSpans { reads: set(reads), writes: set(writes), ordered: false }
    }

    fn add(ledger: &mut Ledger<&'static str>, number: u32, spans: StatementSpans) -> Vec<u32> {
        let (text, depends) = (format!("s{number}"), Depends::BySpans);
        let waits = ledger.add(Arrival { number, text, spans, bytes: 10, depends, job: "job" });
        waits.into_iter().map(|(number, _)| number).collect()
    }

    fn started(ledger: &mut Ledger<&'static str>) -> Vec<u32> {
        ledger.startable().into_iter().map(|(number, _)| number).collect()
    }

    fn failed() -> Result<(), Error> {
        Err(Error::new(SqlState::UniqueViolation, "duplicate"))
    }

    #[test]
    fn a_statement_waits_for_those_whose_spans_meet_its_own() {
        let mut ledger = Ledger::default();
        assert!(add(&mut ledger, 1, spans(&["a"], &["a"])).is_empty());
        assert!(add(&mut ledger, 2, spans(&["b"], &["b"])).is_empty());
        assert_eq!(add(&mut ledger, 3, spans(&["a"], &["c"])), [1]);
        assert_eq!(add(&mut ledger, 4, spans(&[], &["b", "c"])), [2, 3]);
        assert_eq!(started(&mut ledger), [1, 2]);
        ledger.finish(2, Ok(()));
        assert!(started(&mut ledger).is_empty());
        ledger.finish(1, Ok(()));
        assert_eq!(started(&mut ledger), [3]);
        ledger.finish(3, Ok(()));
        assert_eq!(started(&mut ledger), [4]);
        ledger.finish(4, Ok(()));
        assert_eq!(ledger.load(), (0, 0));
    }

    #[test]
    fn after_a_failure_earlier_ones_start_and_later_ones_do_not() {
        let mut ledger = Ledger::default();
        add(&mut ledger, 1, spans(&[], &["a"]));
        assert_eq!(add(&mut ledger, 2, spans(&["a"], &["b"])), [1]);
        add(&mut ledger, 3, spans(&[], &["c"]));
        assert_eq!(add(&mut ledger, 4, spans(&["c"], &["d"])), [3]);
        assert_eq!(started(&mut ledger), [1, 3]);
        ledger.finish(3, failed());
        assert!(started(&mut ledger).is_empty());
        add(&mut ledger, 5, spans(&[], &["e"]));
        assert_eq!(ledger.unfinished(), [1, 2]);
        ledger.finish(1, Ok(()));
        assert_eq!(started(&mut ledger), [2]);
        ledger.finish(2, failed());
        let numbers: Vec<_> = ledger.take_failures().into_iter().map(|f| f.number).collect();
        assert_eq!(numbers, [Some(2), Some(3)]);
    }

    #[test]
    fn a_statement_that_depends_on_order_waits_for_all_and_all_for_it() {
        let mut ledger = Ledger::default();
        add(&mut ledger, 1, spans(&[], &["a"]));
        assert_eq!(add(&mut ledger, 2, StatementSpans::unknown()), [1]);
        assert_eq!(add(&mut ledger, 3, spans(&[], &["z"])), [2]);
    }
}
