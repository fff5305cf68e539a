//! How often a session holds each advisory lock, and since which statement.
//!
//! Locks of the session and of the transaction are counted apart; those of the transaction know
//! the depth of savepoints that they were taken at. The log has what the open transaction did, so
//! that an attempt of a statement or of all of them can be taken back.

use std::collections::BTreeMap;

use braid_codec::key::AdvisoryKey;
use braid_kv::LockStrength;

/// Entries of the log, at most. Beyond them nothing is taken back any more.
const LOG_MAX: usize = 65_536;

/// How often one lock is held in one mode.
#[derive(Default)]
struct Count {
    session: u64,
    /// Depth of savepoints and count, by depth.
    transaction: Vec<(usize, u64)>,
}

impl Count {
    fn is_zero(&self) -> bool {
        self.session == 0 && self.transaction.is_empty()
    }

    fn add(&mut self, depth: Option<usize>, by: u64) {
        let Some(depth) = depth else {
            self.session += by;
            return;
        };
        match self.transaction.binary_search_by_key(&depth, |(depth, _)| *depth) {
            Ok(place) => self.transaction[place].1 += by,
            Err(place) => self.transaction.insert(place, (depth, by)),
        }
    }

    fn take_back(&mut self, depth: Option<usize>) {
        match depth {
            None => self.session = self.session.saturating_sub(1),
            Some(depth) => {
                for (_, count) in self.transaction.iter_mut().filter(|(d, _)| *d == depth) {
                    *count = count.saturating_sub(1);
                }
                self.transaction.retain(|(_, count)| *count > 0);
            }
        }
    }
}

/// What a statement has done.
struct Entry {
    /// Its number.
    statement: u32,
    deed: Deed,
}

enum Deed {
    /// It took a lock, of the session or at this depth of the transaction.
    Took(AdvisoryKey, LockStrength, Option<usize>),
    /// It gave something back.
    Released,
}

/// The counts of a session.
#[derive(Default)]
pub(crate) struct Ledger {
    counts: BTreeMap<(AdvisoryKey, LockStrength), Count>,
    /// How many savepoints the transaction has.
    depth: usize,
    log: Vec<Entry>,
    /// The log is not complete.
    is_cut: bool,
}

impl Ledger {
    /// Whether the session holds the lock in this mode.
    pub(crate) fn holds(&self, key: AdvisoryKey, strength: LockStrength) -> bool {
        self.counts.contains_key(&(key, strength))
    }

    /// Whether any lock belongs to the transaction.
    pub(crate) fn has_transaction_locks(&self) -> bool {
        self.counts.values().any(|count| !count.transaction.is_empty())
    }

    /// The mode that the store has to keep.
    pub(crate) fn needed(&self, key: AdvisoryKey) -> Option<LockStrength> {
        let modes = [LockStrength::Exclusive, LockStrength::Shared];
        modes.into_iter().find(|strength| self.holds(key, *strength))
    }

    fn note(&mut self, statement: u32, deed: Deed) {
        match self.log.len() < LOG_MAX {
            true => self.log.push(Entry { statement, deed }),
            false => self.is_cut = true,
        }
    }

    /// Counts a lock that was taken.
    pub(crate) fn take(
        &mut self,
        statement: u32,
        key: AdvisoryKey,
        strength: LockStrength,
        in_transaction: bool,
    ) {
        let depth = in_transaction.then_some(self.depth);
        self.counts.entry((key, strength)).or_default().add(depth, 1);
        self.note(statement, Deed::Took(key, strength, depth));
    }

    /// Gives back one lock of the session; false if it has none in this mode.
    pub(crate) fn release(
        &mut self,
        statement: u32,
        key: AdvisoryKey,
        strength: LockStrength,
    ) -> bool {
        let Some(count) = self.counts.get_mut(&(key, strength)) else { return false };
        if count.session == 0 {
            return false;
        }
        count.session -= 1;
        self.note(statement, Deed::Released);
        self.drop_zeros();
        true
    }

    /// Gives back all locks of the session.
    pub(crate) fn release_all(&mut self, statement: u32) {
        if self.counts.values().all(|count| count.session == 0) {
            return;
        }
        self.counts.values_mut().for_each(|count| count.session = 0);
        self.note(statement, Deed::Released);
        self.drop_zeros();
    }

    fn drop_zeros(&mut self) {
        self.counts.retain(|_, count| !count.is_zero());
    }

    /// Whether the open transaction has done anything here.
    pub(crate) fn is_touched(&self) -> bool {
        !self.log.is_empty()
    }

    /// A transaction begins, with nothing done yet.
    pub(crate) fn begin_transaction(&mut self) {
        self.log.clear();
        self.is_cut = false;
    }

    /// The transaction has ended. The log stays: another attempt may follow a failed commit.
    pub(crate) fn end_transaction(&mut self) {
        self.depth = 0;
        if !self.is_touched() {
            return;
        }
        self.counts.values_mut().for_each(|count| count.transaction.clear());
        self.drop_zeros();
    }

    /// Sets the number of the transaction's open savepoints.
    pub(crate) fn deepen(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Savepoints are released: what was taken after them belongs to the level above.
    pub(crate) fn merge_down_to(&mut self, depth: usize) {
        self.depth = depth;
        for count in self.counts.values_mut() {
            let deeper = count.transaction.iter().filter(|(d, _)| *d > depth);
            let sum: u64 = deeper.map(|(_, n)| n).sum();
            count.transaction.retain(|(d, _)| *d <= depth);
            if sum > 0 {
                count.add(Some(depth), sum);
            }
        }
    }

    /// What was taken at this depth and deeper ones is given back.
    pub(crate) fn drop_from(&mut self, depth: usize) {
        let counts = self.counts.values_mut();
        counts.for_each(|count| count.transaction.retain(|(d, _)| *d < depth));
        self.drop_zeros();
    }

    /// Whether what this statement did (or all of them) can be taken back.
    pub(crate) fn can_undo(&self, statement: Option<u32>) -> bool {
        let is_of = |entry: &&Entry| statement.is_none_or(|number| number == entry.statement);
        let mut entries = self.log.iter().filter(is_of);
        !self.is_cut && entries.all(|entry| matches!(entry.deed, Deed::Took(..)))
    }

    /// Whether the session holds locks from before this transaction.
    pub(crate) fn has_older(&self) -> bool {
        let is_own = |entry: &&Entry| matches!(entry.deed, Deed::Took(_, _, None));
        let taken = self.log.iter().filter(is_own).count() as u64;
        self.counts.values().map(|count| count.session).sum::<u64>() > taken
    }

    /// Takes back what this statement took, or all of them.
    pub(crate) fn undo(&mut self, statement: Option<u32>) {
        let is_of = |entry: &Entry| statement.is_none_or(|number| number == entry.statement);
        for entry in self.log.iter().filter(|entry| is_of(entry)) {
            if let Deed::Took(key, strength, depth) = entry.deed
                && let Some(count) = self.counts.get_mut(&(key, strength))
            {
                count.take_back(depth);
            }
        }
        self.log.retain(|entry| !is_of(entry));
        self.drop_zeros();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::LockStrength::{Exclusive, Shared};

    fn key(number: i64) -> AdvisoryKey {
        AdvisoryKey::of_int8(1, number)
    }

    #[test]
    fn counts_of_session_and_transaction_are_apart() {
        let mut ledger = Ledger::default();
        ledger.take(1, key(7), Exclusive, false);
        ledger.take(1, key(7), Exclusive, true);
        ledger.take(2, key(7), Shared, true);
        assert!(ledger.release(3, key(7), Exclusive));
        assert!(!ledger.release(3, key(7), Exclusive), "what is left is the transaction's");
        assert_eq!(ledger.needed(key(7)), Some(Exclusive));
        ledger.end_transaction();
        assert_eq!(ledger.needed(key(7)), None);
    }

    #[test]
    fn savepoints_give_back_or_hand_down() {
        let mut ledger = Ledger::default();
        ledger.deepen(1);
        ledger.take(1, key(1), Shared, true);
        ledger.deepen(2);
        ledger.take(2, key(2), Shared, true);
        ledger.take(2, key(3), Shared, false);
        ledger.merge_down_to(1);
        ledger.drop_from(2);
        assert!(ledger.holds(key(2), Shared), "the released savepoint handed it down");
        ledger.drop_from(1);
        assert!(!ledger.holds(key(1), Shared) && !ledger.holds(key(2), Shared));
        assert!(ledger.holds(key(3), Shared), "the session's lock stays");
    }

    #[test]
    fn an_attempt_is_taken_back_unless_it_has_released() {
        let mut ledger = Ledger::default();
        ledger.take(1, key(1), Exclusive, false);
        ledger.end_transaction();
        ledger.begin_transaction();
        ledger.take(2, key(1), Exclusive, false);
        ledger.take(3, key(2), Exclusive, true);
        assert!(ledger.has_older());
        assert!(ledger.can_undo(Some(3)));
        ledger.undo(Some(3));
        assert!(!ledger.holds(key(2), Exclusive));
        assert!(ledger.release(4, key(1), Exclusive));
        assert!(!ledger.can_undo(Some(4)) && !ledger.can_undo(None));
        assert!(ledger.can_undo(Some(2)));
    }
}
