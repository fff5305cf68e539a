//! The lock table: who holds what, who waits for what, and who is served next.

use super::{
    held_locks::{HeldLocks, Point, Target, conflicts},
    pairs::Pairs,
};
use braid_kv::{Error, LockInfo, LockStrength, TxnId};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};
use tokio::sync::oneshot;

pub(super) struct Waiter {
    pub(super) txn: TxnId,
    pub(super) target: Target,
    pub(super) strength: LockStrength,
    sender: oneshot::Sender<Result<(), Error>>,
    since: Instant,
}

/// Requests that go ahead of the queue have the lower tickets.
const TICKETS_ORDINARY: u64 = 1 << 62;

#[derive(Default)]
pub(super) struct Table {
    pub(super) held: HeldLocks,
    pub(super) waiters: BTreeMap<u64, Waiter>,
    /// Tickets of those who wait for a span.
    span_waiters: Vec<u64>,
    pub(super) waiting: HashMap<TxnId, Vec<u64>>,
    pub(super) pairs: Pairs,
    next_ticket: u64,
    /// Transactions with several waits.
    pub(super) several: usize,
    /// Transactions that wait and whose place in the picture has changed since it was looked at.
    changed: Vec<TxnId>,
    /// Deadlocks found.
    pub(super) deadlocks: u64,
}

impl Table {
    /// Tickets over `target`, in the order in which they are served.
    pub(super) fn tickets_over(&self, target: &Target) -> Vec<u64> {
        if self.waiters.is_empty() {
            return Vec::new();
        }
        let points = self.held.points_over(target).flat_map(Point::queue);
        let spans = self
            .span_waiters
            .iter()
            .filter(|t| self.waiters.get(t).is_some_and(|w| w.target.overlaps(target)));
        let mut tickets: Vec<u64> = points.chain(spans).copied().collect();
        tickets.sort_unstable();
        tickets
    }

    /// Whether nothing stands in the way of a request. `ticket` is its place in the queue.
    pub(super) fn is_free(
        &self,
        txn: TxnId,
        target: &Target,
        strength: LockStrength,
        ticket: u64,
    ) -> bool {
        let held = self.held.holders(target).any(|(t, s)| t != txn && conflicts(s, strength));
        if held {
            return false;
        }
        self.tickets_over(target)
            .into_iter()
            .take_while(|t| *t < ticket)
            .filter_map(|t| self.waiters.get(&t))
            .all(|w| w.txn == txn || !conflicts(w.strength, strength) || self.blocks(txn, w))
    }

    /// Whether a lock held by `txn` is what `waiter` waits for: then waiting for that one in turn
    /// would be a deadlock made by the queue alone.
    pub(super) fn blocks(&self, txn: TxnId, waiter: &Waiter) -> bool {
        self.held.holders(&waiter.target).any(|(t, s)| t == txn && conflicts(s, waiter.strength))
    }

    /// Takes the lock if nothing stands in the way.
    pub(super) fn try_take(&mut self, txn: TxnId, target: &Target, strength: LockStrength) -> bool {
        if let Target::Key(key) = target
            && self.span_waiters.is_empty()
            && self.held.take_fast(txn, key, strength)
        {
            return true;
        }
        if !self.held.holds(txn, target, strength) {
            let ticket = if self.held.holds_over(txn, target) { 0 } else { u64::MAX };
            if !self.is_free(txn, target, strength, ticket) {
                return false;
            }
        }
        self.held.hold(txn, target, strength);
        self.note_change(txn);
        self.look_again();
        true
    }

    /// Joins the queue. Returns the ticket and where the answer will come.
    pub(super) fn join(
        &mut self,
        txn: TxnId,
        target: &Target,
        strength: LockStrength,
    ) -> (u64, oneshot::Receiver<Result<(), Error>>) {
        self.next_ticket += 1;
        let ahead = self.held.holds_over(txn, target);
        let ticket = self.next_ticket + if ahead { 0 } else { TICKETS_ORDINARY };
        let (sender, receiver) = oneshot::channel();
        match target {
            Target::Key(key) => {
                self.held.wait(key, ticket);
            }
            Target::Span(_) => self.span_waiters.push(ticket),
        }
        let tickets = self.waiting.entry(txn).or_default();
        tickets.push(ticket);
        self.several += usize::from(tickets.len() == 2);
        let since = Instant::now();
        let waiter = Waiter { txn, target: target.clone(), strength, sender, since };
        self.waiters.insert(ticket, waiter);
        self.note_change(txn);
        self.look_again();
        (ticket, receiver)
    }

    /// Takes a waiter out of the queue, whatever the reason.
    fn leave(&mut self, ticket: u64) -> Option<Waiter> {
        let waiter = self.waiters.remove(&ticket)?;
        match &waiter.target {
            Target::Key(key) => {
                if let Some(point) = self.held.points.get_mut(key) {
                    point.leave(ticket);
                    if point.is_free() {
                        self.held.points.remove(key);
                    }
                }
            }
            Target::Span(_) => self.span_waiters.retain(|t| *t != ticket),
        }
        if let Some(tickets) = self.waiting.get_mut(&waiter.txn) {
            tickets.retain(|t| *t != ticket);
            self.several -= usize::from(tickets.len() == 1);
            if tickets.is_empty() {
                self.waiting.remove(&waiter.txn);
            }
        }
        Some(waiter)
    }

    /// Ends a wait without the lock. Those after it may go on.
    pub(super) fn refuse(&mut self, ticket: u64, error: Error) {
        self.drop_wait(ticket, error);
        self.look_again();
    }

    fn drop_wait(&mut self, ticket: u64, error: Error) {
        if let Some(waiter) = self.leave(ticket) {
            // The receiver is gone if the caller gave up itself.
            let _ = waiter.sender.send(Err(error));
            self.serve(&waiter.target);
        }
    }

    /// Hands locks over to those who can have them now, in order.
    fn serve(&mut self, target: &Target) {
        let is_key = matches!(target, Target::Key(_));
        for ticket in self.tickets_over(target) {
            if self.serve_one(ticket) {
                continue;
            }
            let is_last = self.waiters.get(&ticket).is_some_and(|waiter| {
                waiter.strength == LockStrength::Exclusive
                    && matches!(waiter.target, Target::Key(_))
            });
            if is_key && is_last && self.several == 0 {
                // Everyone after it on this key waits for it.
                break;
            }
        }
    }

    /// Hands the lock over if nothing stands in the way; false if something does.
    fn serve_one(&mut self, ticket: u64) -> bool {
        let Some(waiter) = self.waiters.get(&ticket) else { return true };
        let (txn, target, strength) = (waiter.txn, waiter.target.clone(), waiter.strength);
        if !self.is_free(txn, &target, strength, ticket) {
            return false;
        }
        if let Some(waiter) = self.leave(ticket) {
            self.held.hold(txn, &target, strength);
            self.note_change(txn);
            let _ = waiter.sender.send(Ok(()));
        }
        true
    }

    /// What `txn` has taken while another of its statements waits can let that one pass others,
    /// and can make others wait for it.
    fn note_change(&mut self, txn: TxnId) {
        if self.waits_of(self.pairs.node(txn)).next().is_some() {
            self.changed.push(txn);
        }
    }

    /// The tickets by which a session and its transaction wait.
    pub(super) fn waits_of(&self, node: TxnId) -> impl Iterator<Item = u64> + '_ {
        let acting = self.pairs.acting(node).filter(|acting| *acting != node);
        let both = [Some(node), acting].into_iter().flatten();
        both.filter_map(|txn| self.waiting.get(&txn)).flatten().copied()
    }

    /// Grants what the changes have made free, and refuses the youngest of every cycle that they
    /// have closed.
    fn look_again(&mut self) {
        while let Some(txn) = self.changed.pop() {
            let tickets: Vec<u64> = self.waits_of(self.pairs.node(txn)).collect();
            for ticket in tickets {
                self.serve_one(ticket);
            }
            while let Some(cycle) = self.find_cycle(txn) {
                self.deadlocks += 1;
                let error = Error::Deadlock { cycle: Arc::from(cycle.edges) };
                self.drop_wait(cycle.victim_ticket, error);
            }
        }
    }

    /// Ends a transaction: cancels what it waits for and releases at most `most` of its locks.
    /// Whether nothing is left to be released.
    pub(super) fn release(&mut self, txn: TxnId, most: usize) -> bool {
        for ticket in self.waiting.get(&txn).cloned().unwrap_or_default() {
            self.drop_wait(ticket, Error::Cancelled);
        }
        self.pairs.part(txn);
        let mut freed = Vec::new();
        let is_awaited = !self.waiters.is_empty();
        self.held.release(txn, most, |target| {
            if is_awaited {
                freed.push(target());
            }
        });
        let is_all = self.held.holds_nothing(txn);
        if is_awaited {
            for target in freed {
                self.serve(&target);
            }
            self.look_again();
        }
        is_all
    }

    /// Leaves a session with a lock of this strength on a key, or with none.
    pub(super) fn keep(&mut self, session: TxnId, key: &Arc<[u8]>, strength: Option<LockStrength>) {
        if self.held.set_strength(session, key, strength) {
            self.serve(&Target::Key(key.clone()));
            self.look_again();
        }
    }

    /// Everything, in key order.
    pub(super) fn list(&self) -> Vec<LockInfo> {
        let mut all = self.held.list();
        all.extend(self.waits());
        all.sort_by(|a, b| (&a.span, !a.granted, a.txn).cmp(&(&b.span, !b.granted, b.txn)));
        all
    }

    /// Everything awaited, in key order.
    pub(super) fn awaited(&self) -> Vec<LockInfo> {
        let mut all: Vec<LockInfo> = self.waits().collect();
        all.sort_by(|a, b| (&a.span, a.txn).cmp(&(&b.span, b.txn)));
        all
    }

    fn waits(&self) -> impl Iterator<Item = LockInfo> {
        self.waiters.values().map(|waiter| LockInfo {
            span: waiter.target.span(),
            txn: waiter.txn,
            strength: waiter.strength,
            granted: false,
            waited: waiter.since.elapsed(),
        })
    }
}
