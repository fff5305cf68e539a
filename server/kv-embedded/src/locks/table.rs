//! The lock table: who holds what, who waits for what.

use super::pairs::Pairs;
use braid_kv::{Error, LockInfo, LockStrength, Span, SpanMap, TxnId, key_after};
use std::{
    collections::{BTreeMap, HashMap, VecDeque, btree_map::Entry, hash_map},
    ops::Bound,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// What is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Key(Arc<[u8]>),
    Span(Arc<Span>),
}

impl Target {
    /// The key, or where the span starts.
    pub(crate) fn start(&self) -> &[u8] {
        match self {
            Target::Key(key) => key,
            Target::Span(span) => &span.start,
        }
    }

    pub(super) fn overlaps(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::Key(a), Target::Key(b)) => a == b,
            (Target::Key(key), Target::Span(span)) | (Target::Span(span), Target::Key(key)) => {
                span.contains(key)
            }
            (Target::Span(a), Target::Span(b)) => a.overlaps(b),
        }
    }

    fn span(&self) -> Span {
        match self {
            Target::Key(key) => Span::new(key.as_ref(), key_after(key)),
            Target::Span(span) => span.as_ref().clone(),
        }
    }
}

pub(super) fn conflicts(a: LockStrength, b: LockStrength) -> bool {
    a == LockStrength::Exclusive || b == LockStrength::Exclusive
}

/// The locks on one key. One holder and nobody who waits is the common case, a million times over
/// in large transactions: it needs no allocation and little room.
#[derive(Default)]
pub(super) struct Point {
    first: Option<(TxnId, LockStrength)>,
    /// Never an empty one.
    crowd: Option<Box<Crowd>>,
}

/// Further holders of a lock, and those who wait for it.
#[derive(Default)]
struct Crowd {
    holders: Vec<(TxnId, LockStrength)>,
    /// Tickets of those who wait, in the order in which they are served.
    queue: VecDeque<u64>,
}

impl Point {
    pub(super) fn holders(&self) -> impl Iterator<Item = (TxnId, LockStrength)> + '_ {
        self.first.iter().chain(self.crowd.iter().flat_map(|crowd| &crowd.holders)).copied()
    }

    fn queue(&self) -> impl Iterator<Item = &u64> + '_ {
        self.crowd.iter().flat_map(|crowd| &crowd.queue)
    }

    /// Adds a holder, or makes its lock stronger. Returns whether it is new.
    fn hold(&mut self, txn: TxnId, strength: LockStrength) -> bool {
        let more = self.crowd.iter_mut().flat_map(|crowd| &mut crowd.holders);
        if let Some((_, held)) = self.first.iter_mut().chain(more).find(|(t, _)| *t == txn) {
            *held = (*held).max(strength);
            return false;
        }
        match self.first {
            None => self.first = Some((txn, strength)),
            Some(_) => self.crowd.get_or_insert_default().holders.push((txn, strength)),
        }
        true
    }

    fn let_go(&mut self, txn: TxnId) {
        let next = self.crowd.as_mut().and_then(|crowd| {
            crowd.holders.retain(|(t, _)| *t != txn);
            if self.first.is_some_and(|(t, _)| t == txn) { crowd.holders.pop() } else { None }
        });
        if self.first.is_some_and(|(t, _)| t == txn) {
            self.first = next;
        }
        self.disperse();
    }

    /// Makes the lock of a holder weaker.
    fn weaken(&mut self, txn: TxnId, strength: LockStrength) {
        let more = self.crowd.iter_mut().flat_map(|crowd| &mut crowd.holders);
        if let Some((_, held)) = self.first.iter_mut().chain(more).find(|(t, _)| *t == txn) {
            *held = (*held).min(strength);
        }
    }

    fn wait(&mut self, ticket: u64) {
        let queue = &mut self.crowd.get_or_insert_default().queue;
        let at = queue.partition_point(|t| *t < ticket);
        queue.insert(at, ticket);
    }

    fn leave(&mut self, ticket: u64) {
        if let Some(crowd) = &mut self.crowd {
            crowd.queue.retain(|t| *t != ticket);
        }
        self.disperse();
    }

    fn disperse(&mut self) {
        let is_empty = |crowd: &Crowd| crowd.holders.is_empty() && crowd.queue.is_empty();
        if self.crowd.as_deref().is_some_and(is_empty) {
            self.crowd = None;
        }
    }

    fn is_free(&self) -> bool {
        self.first.is_none() && self.crowd.is_none()
    }
}

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
    pub(super) points: BTreeMap<Arc<[u8]>, Point>,
    /// Who has locked a span over each key.
    pub(super) spans: SpanMap<Vec<(TxnId, LockStrength)>>,
    /// The spans that each transaction has locked.
    spans_of: HashMap<TxnId, BTreeMap<Arc<Span>, LockStrength>>,
    pub(super) waiters: BTreeMap<u64, Waiter>,
    /// Tickets of those who wait for a span.
    span_waiters: Vec<u64>,
    pub(super) waiting: HashMap<TxnId, Vec<u64>>,
    keys_of: HashMap<TxnId, Vec<Arc<[u8]>>>,
    pub(super) pairs: Pairs,
    held: usize,
    next_ticket: u64,
    /// Transactions with several waits.
    pub(super) several: usize,
    /// Transactions that wait and whose place in the picture has changed since it was looked at.
    changed: Vec<TxnId>,
    /// Deadlocks found.
    pub(super) deadlocks: u64,
}

impl Table {
    /// How many locks are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Whether a transaction has no lock at all.
    pub(super) fn holds_nothing(&self, txn: TxnId) -> bool {
        !self.keys_of.contains_key(&txn) && !self.spans_of.contains_key(&txn)
    }

    fn points_over<'a>(
        &'a self,
        target: &'a Target,
    ) -> impl Iterator<Item = (&'a Arc<[u8]>, &'a Point)> {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = match target {
            Target::Key(key) => (Bound::Included(key), Bound::Included(key)),
            Target::Span(span) => (Bound::Included(&span.start), Bound::Excluded(&span.end)),
        };
        self.points.range::<[u8], _>(bounds)
    }

    /// Everyone who holds a lock over `target`.
    pub(super) fn holders<'a>(
        &'a self,
        target: &'a Target,
    ) -> impl Iterator<Item = (TxnId, LockStrength)> + 'a {
        let (key, span) = match target {
            Target::Key(key) => (self.spans.get(key), None),
            Target::Span(span) => (None, Some(self.spans.overlapping(span))),
        };
        let pieces = span.into_iter().flatten().map(|(_, _, holders)| holders);
        let spans = key.into_iter().chain(pieces).flatten().copied();
        self.points_over(target).flat_map(|(_, point)| point.holders()).chain(spans)
    }

    /// Whether `txn` holds at least this over the whole of `target`.
    pub(super) fn holds(&self, txn: TxnId, target: &Target, strength: LockStrength) -> bool {
        let is_held = |holders: &[(TxnId, LockStrength)]| {
            holders.iter().any(|(t, s)| *t == txn && *s >= strength)
        };
        match target {
            Target::Key(key) => {
                self.spans.get(key).is_some_and(|holders| is_held(holders))
                    || self
                        .points
                        .get(key)
                        .is_some_and(|p| p.holders().any(|(t, s)| t == txn && s >= strength))
            }
            Target::Span(span) => {
                let mut at = span.start.as_slice();
                for (start, end, holders) in self.spans.overlapping(span) {
                    if start > at || !is_held(holders) {
                        return false;
                    }
                    at = end;
                }
                at >= span.end.as_slice()
            }
        }
    }

    /// Tickets over `target`, in the order in which they are served.
    pub(super) fn tickets_over(&self, target: &Target) -> Vec<u64> {
        if self.waiters.is_empty() {
            return Vec::new();
        }
        let points = self.points_over(target).flat_map(|(_, point)| point.queue());
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
        let held = self.holders(target).any(|(t, s)| t != txn && conflicts(s, strength));
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
        self.holders(&waiter.target).any(|(t, s)| t == txn && conflicts(s, waiter.strength))
    }

    /// Takes the lock if nothing stands in the way.
    pub(super) fn try_take(&mut self, txn: TxnId, target: &Target, strength: LockStrength) -> bool {
        if let Target::Key(key) = target
            && self.take_fast(txn, key, strength)
        {
            return true;
        }
        if !self.holds(txn, target, strength) {
            let ticket = if self.goes_ahead(txn, target) { 0 } else { u64::MAX };
            if !self.is_free(txn, target, strength, ticket) {
                return false;
            }
        }
        self.hold(txn, target, strength);
        self.note_change(txn);
        self.look_again();
        true
    }

    /// The common case, with one look into the table: a key that nobody else holds or waits for,
    /// with no span over it.
    fn take_fast(&mut self, txn: TxnId, key: &Arc<[u8]>, strength: LockStrength) -> bool {
        if self.spans.get(key).is_some() || !self.span_waiters.is_empty() {
            return false;
        }
        match self.points.entry(key.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Point { first: Some((txn, strength)), ..Point::default() });
                self.keys_of.entry(txn).or_default().push(key.clone());
                self.held += 1;
                true
            }
            Entry::Occupied(mut occupied) => {
                let point = occupied.get_mut();
                let is_own =
                    point.queue().next().is_none() && point.holders().all(|(t, _)| t == txn);
                if is_own && point.hold(txn, strength) {
                    self.keys_of.entry(txn).or_default().push(key.clone());
                    self.held += 1;
                }
                is_own
            }
        }
    }

    /// Whether `txn` holds something over `target` already.
    fn goes_ahead(&self, txn: TxnId, target: &Target) -> bool {
        self.holders(target).any(|(t, _)| t == txn)
    }

    fn hold(&mut self, txn: TxnId, target: &Target, strength: LockStrength) {
        match target {
            Target::Key(key) => {
                if self.points.entry(key.clone()).or_default().hold(txn, strength) {
                    self.keys_of.entry(txn).or_default().push(key.clone());
                    self.held += 1;
                }
            }
            Target::Span(span) => {
                let mut is_known = true;
                let own = self.spans_of.entry(txn).or_default();
                let held = own.entry(span.clone()).or_insert_with(|| {
                    is_known = false;
                    strength
                });
                *held = (*held).max(strength);
                self.held += usize::from(!is_known);
                self.spans.update(span, |holders| {
                    let mut holders = holders.cloned().unwrap_or_default();
                    match holders.iter_mut().find(|(t, _)| *t == txn) {
                        Some((_, held)) => *held = (*held).max(strength),
                        None => holders.push((txn, strength)),
                    }
                    Some(holders)
                });
            }
        }
    }

    /// Joins the queue. Returns the ticket and where the answer will come.
    pub(super) fn join(
        &mut self,
        txn: TxnId,
        target: &Target,
        strength: LockStrength,
    ) -> (u64, oneshot::Receiver<Result<(), Error>>) {
        self.next_ticket += 1;
        let ahead = self.goes_ahead(txn, target);
        let ticket = self.next_ticket + if ahead { 0 } else { TICKETS_ORDINARY };
        let (sender, receiver) = oneshot::channel();
        match target {
            Target::Key(key) => {
                self.points.entry(key.clone()).or_default().wait(ticket);
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
                if let Some(point) = self.points.get_mut(key) {
                    point.leave(ticket);
                    if point.is_free() {
                        self.points.remove(key);
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

    /// Ends a wait without the lock. Those behind it may go on.
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
                // Everyone behind it on this key waits for it.
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
            self.hold(txn, &target, strength);
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

    /// Ends a transaction: cancels what it waits for and releases what it holds, at most so many
    /// locks at a time. Whether there is nothing left to be released.
    pub(super) fn release(&mut self, txn: TxnId, most: usize) -> bool {
        for ticket in self.waiting.get(&txn).cloned().unwrap_or_default() {
            self.drop_wait(ticket, Error::Cancelled);
        }
        self.pairs.part(txn);
        let freed = self.let_go(txn, most);
        let is_all = self.holds_nothing(txn);
        if !self.waiters.is_empty() {
            for target in freed {
                self.serve(&target);
            }
            self.look_again();
        }
        is_all
    }

    /// Takes away at most so many locks of a transaction, the first ones first.
    fn let_go(&mut self, txn: TxnId, most: usize) -> Vec<Target> {
        let mut freed = Vec::new();
        if let hash_map::Entry::Occupied(mut keys) = self.keys_of.entry(txn) {
            // From the end, where that costs nothing.
            let left = keys.get().len().saturating_sub(most);
            for key in keys.get_mut().drain(left..) {
                if let Entry::Occupied(mut point) = self.points.entry(key.clone()) {
                    point.get_mut().let_go(txn);
                    if point.get().is_free() {
                        point.remove();
                    }
                }
                freed.push(Target::Key(key));
            }
            freed.reverse();
            if left == 0 {
                keys.remove();
            }
        }
        if let hash_map::Entry::Occupied(mut spans) = self.spans_of.entry(txn) {
            while freed.len() < most
                && let Some((span, _)) = spans.get_mut().pop_first()
            {
                self.spans.update(&span, |holders| {
                    let others = holders?.iter().copied().filter(|(t, _)| *t != txn);
                    Some(others.collect::<Vec<_>>()).filter(|others| !others.is_empty())
                });
                freed.push(Target::Span(span));
            }
            if spans.get().is_empty() {
                spans.remove();
            }
        }
        self.held -= freed.len();
        freed
    }

    /// Leaves a session with a lock of this strength on a key, or with none.
    pub(super) fn keep(&mut self, session: TxnId, key: &Arc<[u8]>, strength: Option<LockStrength>) {
        let Some(keys) = self.keys_of.get_mut(&session) else { return };
        let Some(place) = keys.iter().rposition(|held| held == key) else { return };
        let Entry::Occupied(mut point) = self.points.entry(key.clone()) else { return };
        match strength {
            Some(strength) => point.get_mut().weaken(session, strength),
            None => {
                point.get_mut().let_go(session);
                if point.get().is_free() {
                    point.remove();
                }
                keys.swap_remove(place);
                if keys.is_empty() {
                    self.keys_of.remove(&session);
                }
                self.held -= 1;
            }
        }
        self.serve(&Target::Key(key.clone()));
        self.look_again();
    }

    /// Everything, in key order.
    pub(super) fn list(&self) -> Vec<LockInfo> {
        let info = |target: &Target, txn, strength, granted, waited| LockInfo {
            span: target.span(),
            txn,
            strength,
            granted,
            waited,
        };
        let mut all: Vec<LockInfo> = Vec::new();
        for (key, point) in &self.points {
            let target = Target::Key(key.clone());
            all.extend(point.holders().map(|(t, s)| info(&target, t, s, true, Duration::ZERO)));
        }
        for (txn, spans) in &self.spans_of {
            let info = |(span, strength): (&Arc<Span>, &LockStrength)| {
                info(&Target::Span(span.clone()), *txn, *strength, true, Duration::ZERO)
            };
            all.extend(spans.iter().map(info));
        }
        all.extend(self.waiters.values().map(|waiter| {
            info(&waiter.target, waiter.txn, waiter.strength, false, waiter.since.elapsed())
        }));
        all.sort_by(|a, b| (&a.span, !a.granted, a.txn).cmp(&(&b.span, !b.granted, b.txn)));
        all
    }
}
