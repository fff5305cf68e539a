//! The search for cycles of transactions that wait for each other.
//!
//! A waiter waits for those who hold a conflicting lock, and for those who asked before it. Of the
//! latter often only the nearest matter: an exclusive request waits for all before it, so the
//! search need not look past it. That is not so if it passes some of them because they wait for it:
//! on one key it then waits for the same holders as they do, but what waits for a span may wait for
//! a holder elsewhere.

use super::{
    held_locks::{Target, conflicts},
    table::Table,
};
use braid_kv::{DeadlockEdge, LockStrength, TxnId};
use std::collections::{HashMap, HashSet};

/// A cycle, starting at its youngest transaction, and the ticket of that one's wait.
pub(super) struct Cycle {
    pub(super) victim_ticket: u64,
    pub(super) edges: Vec<DeadlockEdge>,
}

impl Table {
    /// A cycle through a wait of `start`, if there is one.
    pub(super) fn find_cycle(&self, start: TxnId) -> Option<Cycle> {
        // A transaction that was reached → the ticket by which its predecessor waits for it.
        let start = self.pairs.node(start);
        let mut reached_by: HashMap<TxnId, u64> = HashMap::new();
        let mut seen: HashSet<TxnId> = HashSet::from([start]);
        let mut stack = vec![start];
        while let Some(txn) = stack.pop() {
            for ticket in self.waits_of(txn) {
                for blocker in self.blockers(ticket) {
                    let blocker = self.pairs.node(blocker);
                    if blocker == start {
                        reached_by.insert(start, ticket);
                        return self.cycle(start, &reached_by);
                    }
                    if seen.insert(blocker) {
                        reached_by.insert(blocker, ticket);
                        stack.push(blocker);
                    }
                }
            }
        }
        None
    }

    /// Walks back from `start` to itself, then turns the cycle to begin at the youngest.
    fn cycle(&self, start: TxnId, reached_by: &HashMap<TxnId, u64>) -> Option<Cycle> {
        let mut steps = Vec::new();
        let mut holder = start;
        loop {
            let ticket = *reached_by.get(&holder)?;
            let waiter = self.waiters.get(&ticket)?;
            let key = waiter.target.start().to_vec();
            let strength = waiter.strength;
            let node = self.pairs.node(waiter.txn);
            let [waiter, held_by] = [node, holder].map(|node| self.pairs.transaction(node));
            steps.push((ticket, DeadlockEdge { waiter, holder: held_by, key, strength }));
            holder = node;
            if holder == start {
                break;
            }
        }
        steps.reverse();
        let youngest = (0..steps.len()).max_by_key(|&i| steps[i].1.waiter)?;
        steps.rotate_left(youngest);
        let victim_ticket = steps.first()?.0;
        Some(Cycle { victim_ticket, edges: steps.into_iter().map(|(_, edge)| edge).collect() })
    }

    /// Whom a waiter waits for.
    fn blockers(&self, ticket: u64) -> Vec<TxnId> {
        let Some(waiter) = self.waiters.get(&ticket) else { return Vec::new() };
        let mut found: Vec<TxnId> = self
            .held
            .holders(&waiter.target)
            .filter(|(txn, strength)| *txn != waiter.txn && conflicts(*strength, waiter.strength))
            .map(|(txn, _)| txn)
            .collect();
        let tickets = self.tickets_over(&waiter.target);
        let is_span = |ticket: &u64| {
            let target = self.waiters.get(ticket).map(|waiter| &waiter.target);
            matches!(target, Some(Target::Span(_)))
        };
        let first_span = tickets.iter().copied().find(is_span).unwrap_or(u64::MAX);
        for earlier in tickets.into_iter().rev().filter(|t| *t < ticket) {
            let Some(other) = self.waiters.get(&earlier) else { continue };
            let passed =
                !conflicts(other.strength, waiter.strength) || self.blocks(waiter.txn, other);
            if other.txn == waiter.txn || passed {
                continue;
            }
            found.push(other.txn);
            // One that covers all of this target stands for everyone before it, if nobody can have
            // passed some of them since, and it passes none of them itself.
            let covers = other.strength == LockStrength::Exclusive && other.target == waiter.target;
            let passes_none = earlier <= first_span || self.held.holds_nothing(other.txn);
            if covers && passes_none && self.several == 0 {
                break;
            }
        }
        found
    }
}
