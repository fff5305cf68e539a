//! Who waits for whom, at locks of sessions and at locks of rows, and the circles in it. Pure
//! functions.
//!
//! ```text
//!   session 1 ── waits for an advisory lock ──▶ session 2
//!       ▲                                          │ its transaction
//!       └────────── waits for a row ◀──────────────┘
//! ```
//!
//! A row lock belongs to a transaction, which all gateways know by its number in the store. Each
//! gateway says which of its sessions with advisory locks runs which transaction. A transaction of
//! which nobody says that is a party of its own.

use std::collections::{BTreeMap, BTreeSet};

use braid_kv::{Key, LockStrength};
use serde::{Deserialize, Serialize};

use super::record::{LockRecord, Owner};

/// What a gateway says of waits for locks of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowWaits {
    /// Sessions that hold advisory locks or wait for one, with their transactions.
    pub transactions: Vec<(Owner, u64)>,
    pub waits: Vec<RowWait>,
}

/// One of these waits, by the numbers of the two transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowWait {
    pub waiter: u64,
    pub holder: u64,
    pub key: Key,
}

impl RowWaits {
    pub(super) fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.waits.is_empty()
    }

    /// Takes in what another gateway says.
    pub(super) fn add(&mut self, other: RowWaits) {
        self.transactions.extend(other.transactions);
        self.waits.extend(other.waits);
    }
}

/// Who waits, or is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    Session(Owner),
    /// A transaction of a session that has nothing to do with advisory locks.
    Transaction(u64),
}

/// What a party waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A lock of sessions, and how strong a one.
    Advisory(Key, LockStrength),
    Row(Key),
}

/// One step of a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub waiter: Party,
    pub holder: Party,
    pub awaited: Awaited,
}

/// The circle of waits through `victim`, if it is the greatest of those that wait for a lock of
/// sessions in it: one of them gives way, and all see the same records. A depth-first search.
pub(super) fn circle(
    locks: &[(Key, LockRecord)],
    rows: &RowWaits,
    victim: Owner,
) -> Option<Vec<Step>> {
    let steps = steps_of(locks, rows, victim);
    let of = |party: Party| steps.get(&party).cloned().unwrap_or_default();
    let first = Party::Session(victim);
    let mut seen = BTreeSet::from([first]);
    let mut path: Vec<Step> = Vec::new();
    let mut open: Vec<Vec<Step>> = vec![of(first)];
    while let Some(next) = open.last_mut() {
        let Some(step) = next.pop() else {
            open.pop();
            path.pop();
            continue;
        };
        let holder = step.holder;
        if holder == first {
            path.push(step);
            return Some(path);
        }
        if seen.insert(holder) {
            path.push(step);
            open.push(of(holder));
        }
    }
    None
}

/// The waits by who waits, without those that a greater owner than the victim has to break.
fn steps_of(
    locks: &[(Key, LockRecord)],
    rows: &RowWaits,
    victim: Owner,
) -> BTreeMap<Party, Vec<Step>> {
    let mut steps: BTreeMap<Party, Vec<Step>> = BTreeMap::new();
    for (lock, record) in locks {
        for waiter in record.waiters.iter().filter(|waiter| waiter.owner <= victim) {
            let party = Party::Session(waiter.owner);
            let step = |holder: Owner| Step {
                waiter: party,
                holder: Party::Session(holder),
                awaited: Awaited::Advisory(lock.clone(), waiter.strength()),
            };
            steps.entry(party).or_default().extend(record.ahead_of(*waiter).map(step));
        }
    }
    let owners: BTreeMap<u64, Owner> =
        rows.transactions.iter().map(|(owner, number)| (*number, *owner)).collect();
    let party = |number: u64| {
        owners.get(&number).map_or(Party::Transaction(number), |owner| Party::Session(*owner))
    };
    for RowWait { waiter, holder, key } in &rows.waits {
        let (waiter, holder) = (party(*waiter), party(*holder));
        let step = Step { waiter, holder, awaited: Awaited::Row(key.clone()) };
        steps.entry(waiter).or_default().push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_locks::record::tests::{ask, owner};
    use braid_kv::LockStrength::{Exclusive, Shared};

    fn wait(waiter: u64, holder: u64) -> RowWait {
        RowWait { waiter, holder, key: vec![7] }
    }

    /// A lock that the session holds, and that is named after it.
    fn held_by(session: u8) -> (Key, LockRecord) {
        let mut record = LockRecord::default();
        assert!(record.grant(ask(session.into(), Exclusive)));
        (vec![session], record)
    }

    #[test]
    fn the_greatest_of_a_circle_gives_way() {
        let mut locks: Vec<(Key, LockRecord)> = (1..=3).map(held_by).collect();
        let none = RowWaits::default();
        locks[1].1.wait(ask(1, Exclusive));
        locks[2].1.wait(ask(2, Shared));
        assert_eq!(circle(&locks, &none, owner(3)), None, "it does not wait");
        locks[0].1.wait(ask(3, Exclusive));
        let victim = [1, 2, 3].map(owner).into_iter().max().unwrap();
        for session in 1..=3 {
            let found = circle(&locks, &none, owner(session));
            assert_eq!(found.is_some(), owner(session) == victim);
            let steps = found.unwrap_or_default();
            assert!(steps.is_empty() || steps.len() == 3);
        }
    }

    /// Session 2 waits for the lock of session 3, which waits for a row of a plain transaction,
    /// which waits for a row of session 2. Only session 2 can give way here.
    #[test]
    fn a_circle_goes_through_rows() {
        let mut locks = vec![held_by(3)];
        locks[0].1.wait(ask(2, Exclusive));
        let mut rows = RowWaits {
            transactions: vec![(owner(2), 200), (owner(3), 300)],
            waits: vec![wait(300, 900)],
        };
        assert_eq!(circle(&locks, &rows, owner(2)), None, "the last step is missing");
        rows.add(RowWaits { transactions: Vec::new(), waits: vec![wait(900, 200)] });
        let steps = circle(&locks, &rows, owner(2)).expect("a circle");
        assert_eq!(steps.len(), 3);
        assert_eq!(steps[0].awaited, Awaited::Advisory(vec![3], Exclusive));
        assert_eq!(steps[1].holder, Party::Transaction(900));
        assert_eq!(steps[2].awaited, Awaited::Row(vec![7]));
        locks.insert(0, held_by(1));
        assert_eq!(circle(&locks, &rows, owner(2)), Some(steps), "no lock before it matters");
        rows.transactions.remove(0);
        assert_eq!(circle(&locks, &rows, owner(2)), None, "nobody says who has the row");
    }
}
