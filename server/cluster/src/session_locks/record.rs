//! Who holds a lock and who waits for it: what stands in the store, and the rules by which it
//! changes. Pure functions.

use std::collections::BTreeSet;

use braid_kv::LockStrength;
use serde::{Deserialize, Serialize};

/// A session of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Owner {
    pub gateway: u64,
    pub session: u64,
}

/// An owner that holds the lock or waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub owner: Owner,
    pub exclusive: bool,
}

impl Entry {
    pub(super) fn new(owner: Owner, strength: LockStrength) -> Entry {
        Entry { owner, exclusive: strength == LockStrength::Exclusive }
    }

    pub(super) fn strength(self) -> LockStrength {
        if self.exclusive { LockStrength::Exclusive } else { LockStrength::Shared }
    }

    fn conflicts(self, other: Entry) -> bool {
        self.owner != other.owner && (self.exclusive || other.exclusive)
    }
}

/// The record of one lock. Without entries there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LockRecord {
    pub holders: Vec<Entry>,
    /// In the order in which they came. Who waits for a short time only is not among them.
    pub waiters: Vec<Entry>,
}

impl LockRecord {
    pub(super) fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// The gateways of its entries, each once.
    pub(super) fn gateways(&self) -> BTreeSet<u64> {
        self.holders.iter().chain(&self.waiters).map(|entry| entry.owner.gateway).collect()
    }

    /// Without what gateways that are gone have left.
    pub(super) fn without(mut self, gone: &[u64]) -> LockRecord {
        self.holders.retain(|entry| !gone.contains(&entry.owner.gateway));
        self.waiters.retain(|entry| !gone.contains(&entry.owner.gateway));
        self
    }

    fn place(&self, owner: Owner) -> Option<usize> {
        self.holders.iter().position(|entry| entry.owner == owner)
    }

    /// Whom this request has to wait for. Who holds nothing also waits for exclusive requests that
    /// came before, so that these are not passed for ever.
    pub(super) fn ahead_of(&self, request: Entry) -> impl Iterator<Item = Owner> {
        let holders = self.holders.iter().filter(move |held| held.conflicts(request));
        let is_new = self.place(request.owner).is_none();
        let before = self.waiters.iter().take_while(move |one| one.owner != request.owner);
        let before = before.filter(move |one| is_new && one.exclusive && one.conflicts(request));
        holders.chain(before).map(|entry| entry.owner)
    }

    /// Grants the request if nobody stands in its way. A weaker lock than the held one changes
    /// nothing.
    pub(super) fn grant(&mut self, request: Entry) -> bool {
        if self.ahead_of(request).next().is_some() {
            return false;
        }
        self.waiters.retain(|entry| entry.owner != request.owner);
        match self.place(request.owner) {
            Some(place) => self.holders[place].exclusive |= request.exclusive,
            None => self.holders.push(request),
        }
        true
    }

    /// Notes that the request waits.
    pub(super) fn wait(&mut self, request: Entry) {
        if !self.waiters.contains(&request) {
            self.waiters.retain(|entry| entry.owner != request.owner);
            self.waiters.push(request);
        }
    }

    /// Leaves the owner with a lock of this strength, or with none, and without a request.
    pub(super) fn keep(&mut self, owner: Owner, strength: Option<LockStrength>) {
        self.waiters.retain(|entry| entry.owner != owner);
        let Some(place) = self.place(owner) else { return };
        match strength {
            Some(strength) => self.holders[place] = Entry::new(owner, strength),
            None => drop(self.holders.remove(place)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use braid_kv::LockStrength::{Exclusive, Shared};

    pub(crate) fn owner(session: u64) -> Owner {
        Owner { gateway: session % 2, session }
    }

    pub(crate) fn ask(session: u64, strength: LockStrength) -> Entry {
        Entry::new(owner(session), strength)
    }

    #[test]
    fn shared_locks_stand_beside_each_other() {
        let mut lock = LockRecord::default();
        assert!(lock.grant(ask(1, Shared)) && lock.grant(ask(2, Shared)));
        assert!(!lock.grant(ask(3, Exclusive)));
        assert!(!lock.grant(ask(1, Exclusive)), "the other shared lock stands in its way");
        lock.keep(owner(2), None);
        assert!(lock.grant(ask(1, Exclusive)));
        assert!(!lock.grant(ask(2, Shared)));
        lock.keep(owner(1), Some(Shared));
        assert!(lock.grant(ask(2, Shared)));
    }

    #[test]
    fn an_exclusive_request_that_waits_is_not_passed_by_new_ones() {
        let mut lock = LockRecord::default();
        assert!(lock.grant(ask(1, Shared)));
        lock.wait(ask(2, Exclusive));
        assert!(!lock.grant(ask(3, Shared)));
        assert!(lock.grant(ask(1, Shared)), "who holds it has it already");
        lock.keep(owner(1), None);
        assert!(lock.grant(ask(2, Exclusive)));
        assert!(lock.waiters.is_empty());
    }

    #[test]
    fn what_dead_gateways_have_left_does_not_count() {
        let mut lock = LockRecord::default();
        assert!(lock.grant(ask(1, Exclusive)));
        assert_eq!(lock.gateways(), BTreeSet::from([1]));
        let mut lock = lock.without(&[1]);
        assert!(lock.is_empty());
        assert!(lock.grant(ask(2, Exclusive)));
    }
}
