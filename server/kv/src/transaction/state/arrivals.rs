//! Arrivals: what statements have added, in the order of arrival.
//!
//! A savepoint is a place in that order; statements that run side by side may add something
//! of an earlier number after it. Taking back looks at no more than what has arrived since.

use crate::Seq;

/// Entries of statements, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Arrivals<T> {
    entries: Vec<Arrival<T>>,
    next: u64,
}

#[derive(Debug)]
struct Arrival<T> {
    /// Never given out twice, so that a savepoint is the same place whatever was taken back.
    number: u64,
    statement: u32,
    /// The highest statement up to here: what comes before the first entry of a statement has
    /// lower ones.
    highest: u32,
    what: T,
}

impl<T> Default for Arrivals<T> {
    fn default() -> Arrivals<T> {
        Arrivals { entries: Vec::new(), next: 0 }
    }
}

impl<T> Arrivals<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn push(&mut self, seq: Seq, what: T) {
        let number = self.next;
        self.next += 1;
        self.add(number, seq.before().0, what);
    }

    fn add(&mut self, number: u64, statement: u32, what: T) {
        let highest = self.entries.last().map_or(0, |last| last.highest).max(statement);
        self.entries.push(Arrival { number, statement, highest, what });
    }

    /// The place after everything that has come so far, for [`Arrivals::index_of`].
    pub(crate) fn place(&self) -> u64 {
        self.next
    }

    /// The index of the first entry that has come after a place was taken.
    pub(crate) fn index_of(&self, place: u64) -> usize {
        self.entries.partition_point(|entry| entry.number < place)
    }

    /// The entries from `from` on.
    pub(crate) fn since(&self, from: usize) -> impl Iterator<Item = &T> {
        self.entries.iter().skip(from).map(|entry| &entry.what)
    }

    /// Where the first entry of a statement can be.
    pub(crate) fn first_of(&self, seq: Seq) -> usize {
        let statement = seq.before().0;
        self.entries.partition_point(|entry| entry.highest < statement)
    }

    /// The entries of one statement.
    pub(crate) fn of_statement(&self, seq: Seq) -> impl Iterator<Item = &T> {
        let statement = seq.before().0;
        let later = self.entries.iter().skip(self.first_of(seq));
        later.filter(move |entry| entry.statement == statement).map(|entry| &entry.what)
    }

    /// Takes out, from `from` on, what belongs to statements that are `gone`.
    pub(crate) fn take_back(&mut self, from: usize, gone: impl Fn(u32) -> bool) -> Vec<(u32, T)> {
        let tail = self.entries.split_off(from.min(self.entries.len()));
        let mut taken = Vec::new();
        for entry in tail {
            if gone(entry.statement) {
                taken.push((entry.statement, entry.what));
            } else {
                self.add(entry.number, entry.statement, entry.what);
            }
        }
        taken
    }

    /// Everything, in order; nothing is left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.entries).into_iter().map(|entry| entry.what)
    }
}
