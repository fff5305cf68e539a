//! Held locks: who holds which key or span, and how strongly.

use braid_kv::{Inserted, KeyMap, LockInfo, LockStrength, Span, SpanMap, TxnId, key_after};
use std::{
    collections::{BTreeMap, HashMap, VecDeque, btree_map::Entry, hash_map},
    sync::Arc,
    time::Duration,
};

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

    pub(super) fn span(&self) -> Span {
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

    pub(super) fn queue(&self) -> impl Iterator<Item = &u64> + '_ {
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

    pub(super) fn wait(&mut self, ticket: u64) {
        let queue = &mut self.crowd.get_or_insert_default().queue;
        let at = queue.partition_point(|t| *t < ticket);
        queue.insert(at, ticket);
    }

    pub(super) fn leave(&mut self, ticket: u64) {
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

    pub(super) fn is_free(&self) -> bool {
        self.first.is_none() && self.crowd.is_none()
    }
}

/// All held locks. The queue of a key stands with its holders, so that one lookup finds both.
#[derive(Default)]
pub(super) struct HeldLocks {
    pub(super) points: KeyMap<Point>,
    /// Who has locked a span over each key.
    spans: SpanMap<Vec<(TxnId, LockStrength)>>,
    /// The spans that each transaction has locked.
    spans_of: HashMap<TxnId, BTreeMap<Arc<Span>, LockStrength>>,
    /// The keys that each transaction has locked.
    keys_of: BTreeMap<TxnId, Vec<Arc<[u8]>>>,
    count: usize,
}

impl HeldLocks {
    /// How many locks are held.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether a transaction has no lock at all.
    pub(super) fn holds_nothing(&self, txn: TxnId) -> bool {
        !self.keys_of.contains_key(&txn) && !self.spans_of.contains_key(&txn)
    }

    pub(super) fn points_over<'a>(&'a self, target: &'a Target) -> impl Iterator<Item = &'a Point> {
        let (key, span) = match target {
            Target::Key(key) => (self.points.get(key), None),
            Target::Span(span) => (None, Some(self.points.range(&span.start, Some(&span.end)))),
        };
        key.into_iter().chain(span.into_iter().flatten().map(|(_, point)| point))
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
        self.points_over(target).flat_map(Point::holders).chain(spans)
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

    /// The common case, with one lookup: a key that nobody else holds or waits for, with no span
    /// over it.
    pub(super) fn take_fast(
        &mut self,
        txn: TxnId,
        key: &Arc<[u8]>,
        strength: LockStrength,
    ) -> bool {
        if self.spans.get(key).is_some() {
            return false;
        }
        let held = Point { first: Some((txn, strength)), ..Point::default() };
        let is_new = match self.points.insert(key, || key.clone(), held) {
            Inserted::New(_) => true,
            Inserted::Known(_, point, _) => {
                let is_own =
                    point.queue().next().is_none() && point.holders().all(|(t, _)| t == txn);
                if !is_own {
                    return false;
                }
                point.hold(txn, strength)
            }
        };
        self.note_key(txn, key, is_new);
        true
    }

    /// Notes that a transaction has locked a key, if it had not.
    fn note_key(&mut self, txn: TxnId, key: &Arc<[u8]>, is_new: bool) {
        if is_new {
            self.keys_of.entry(txn).or_default().push(key.clone());
            self.count += 1;
        }
    }

    /// Adds a ticket to the queue of a key.
    pub(super) fn wait(&mut self, key: &Arc<[u8]>, ticket: u64) {
        let mut point = Point::default();
        point.wait(ticket);
        if let Inserted::Known(_, known, _) = self.points.insert(key, || key.clone(), point) {
            known.wait(ticket);
        }
    }

    /// Whether `txn` holds something over `target` already.
    pub(super) fn holds_over(&self, txn: TxnId, target: &Target) -> bool {
        self.holders(target).any(|(t, _)| t == txn)
    }

    pub(super) fn hold(&mut self, txn: TxnId, target: &Target, strength: LockStrength) {
        match target {
            Target::Key(key) => {
                let held = Point { first: Some((txn, strength)), ..Point::default() };
                let is_new = match self.points.insert(key, || key.clone(), held) {
                    Inserted::New(_) => true,
                    Inserted::Known(_, point, _) => point.hold(txn, strength),
                };
                self.note_key(txn, key, is_new);
            }
            Target::Span(span) => {
                let mut is_known = true;
                let own = self.spans_of.entry(txn).or_default();
                let held = own.entry(span.clone()).or_insert_with(|| {
                    is_known = false;
                    strength
                });
                *held = (*held).max(strength);
                self.count += usize::from(!is_known);
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

    /// Removes at most `most` locks of a transaction; `freed` is called with the target of each.
    pub(super) fn release(
        &mut self,
        txn: TxnId,
        most: usize,
        mut freed: impl FnMut(&dyn Fn() -> Target),
    ) {
        let mut count = 0;
        if let Entry::Occupied(mut keys) = self.keys_of.entry(txn) {
            // From the end, where that costs nothing: in the list, and in a map of keys in order.
            let left = keys.get().len().saturating_sub(most);
            for key in keys.get_mut().drain(left..).rev() {
                self.points.remove_if(&key, |point| {
                    point.let_go(txn);
                    point.is_free()
                });
                freed(&|| Target::Key(key.clone()));
                count += 1;
            }
            if left == 0 {
                keys.remove();
            }
        }
        if let hash_map::Entry::Occupied(mut spans) = self.spans_of.entry(txn) {
            while count < most
                && let Some((span, _)) = spans.get_mut().pop_first()
            {
                self.spans.update(&span, |holders| {
                    let others = holders?.iter().copied().filter(|(t, _)| *t != txn);
                    Some(others.collect::<Vec<_>>()).filter(|others| !others.is_empty())
                });
                freed(&|| Target::Span(span.clone()));
                count += 1;
            }
            if spans.get().is_empty() {
                spans.remove();
            }
        }
        self.count -= count;
    }

    /// Leaves `txn` with a lock of this strength on a key, or with none. False if it has no lock.
    pub(super) fn set_strength(
        &mut self,
        txn: TxnId,
        key: &Arc<[u8]>,
        strength: Option<LockStrength>,
    ) -> bool {
        let Some(keys) = self.keys_of.get_mut(&txn) else { return false };
        let Some(place) = keys.iter().rposition(|held| held == key) else { return false };
        let Some(point) = self.points.get_mut(key) else { return false };
        match strength {
            Some(strength) => point.weaken(txn, strength),
            None => {
                point.let_go(txn);
                if point.is_free() {
                    self.points.remove(key);
                }
                keys.swap_remove(place);
                if keys.is_empty() {
                    self.keys_of.remove(&txn);
                }
                self.count -= 1;
            }
        }
        true
    }

    /// All held locks, in no particular order.
    pub(super) fn list(&self) -> Vec<LockInfo> {
        let info = |target: Target, txn, strength| LockInfo {
            span: target.span(),
            txn,
            strength,
            granted: true,
            waited: Duration::ZERO,
        };
        let mut all: Vec<LockInfo> = Vec::new();
        for (key, point) in self.points.iter() {
            all.extend(point.holders().map(|(txn, s)| info(Target::Key(key.clone()), txn, s)));
        }
        for (txn, spans) in &self.spans_of {
            let span =
                |(span, s): (&Arc<Span>, &LockStrength)| info(Target::Span(span.clone()), *txn, *s);
            all.extend(spans.iter().map(span));
        }
        all
    }
}
