//! The state of the map: spans that are known to be empty, and hints where more may be found.

use crate::reads::LiveViews;
use braid_kv::{Key, ScanBatch, Span, Write, key_after};
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// What bookkeeping costs for one entry, roughly.
const ENTRY_BYTES: usize = 160;
/// The most hints. Beyond it neighbours become one.
const HINTS_MAX: usize = 4_096;
/// How many hints one batch of a scan looks at, and how many light spans it passes.
const LOOK_MAX: usize = 64;
/// The most hints that one commit adds, roughly.
const HINTS_ADDED_MAX: usize = 32;
/// Keys of different indexes mostly differ in their first bytes.
const PREFIX_BYTES: usize = 4;

/// A span without a visible key.
#[derive(Debug)]
struct Empty {
    end: Key,
    /// From which snapshot on.
    at: u64,
    /// How many dead keys are in it, about.
    weight: u64,
    /// Whether a scan has jumped over it since the clock's hand came by.
    used: AtomicBool,
}

/// A span, and the number of keys that were deleted in it. Other keys may exist there.
#[derive(Debug)]
struct Hint {
    end: Key,
    deleted: u64,
}

#[derive(Debug, Default)]
pub(super) struct Map {
    /// By start. They do not overlap.
    empty: BTreeMap<Key, Empty>,
    /// By start. They do not overlap.
    hints: BTreeMap<Key, Hint>,
    bytes: usize,
    /// Where the clock goes on.
    hand: Key,
}

/// Where a scan goes on, and how far it may read at one go.
pub(super) struct Reach {
    pub(super) span: Span,
    /// How many spans were jumped over.
    pub(super) jumps: usize,
}

fn bytes_of(start: &[u8], end: &[u8]) -> usize {
    start.len() + end.len() + ENTRY_BYTES
}

impl Map {
    pub(super) fn len(&self) -> usize {
        self.empty.len() + self.hints.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn put(&mut self, start: Key, empty: Empty) {
        if start < empty.end {
            self.bytes += bytes_of(&start, &empty.end);
            self.empty.insert(start, empty);
        }
    }

    fn take(&mut self, start: &[u8]) -> Option<(Key, Empty)> {
        let (start, empty) = self.empty.remove_entry(start)?;
        self.bytes -= bytes_of(&start, &empty.end);
        Some((start, empty))
    }

    /// The empty span around `key`.
    fn over(&self, key: &[u8]) -> Option<(&Key, &Empty)> {
        let to = (Bound::Unbounded, Bound::Included(key));
        let found = self.empty.range::<[u8], _>(to).next_back()?;
        (key < found.1.end.as_slice()).then_some(found)
    }

    /// The empty span that has the keys right before `key`.
    fn before(&self, key: &[u8]) -> Option<(&Key, &Empty)> {
        let to = (Bound::Unbounded, Bound::Excluded(key));
        let found = self.empty.range::<[u8], _>(to).next_back()?;
        (key <= found.1.end.as_slice()).then_some(found)
    }

    /// Starts of the empty spans that overlap `span` or touch it.
    fn near(&self, span: &Span) -> Vec<Key> {
        let to = (Bound::Unbounded, Bound::Included(span.end.as_slice()));
        let found = self.empty.range::<[u8], _>(to).rev();
        found.take_while(|(_, e)| e.end >= span.start).map(|(start, _)| start.clone()).collect()
    }

    /// Where a scan of `span` at snapshot `number` goes on: after the empty spans at its start,
    /// up to those further on that are worth a jump.
    pub(super) fn reach(&self, span: &Span, number: u64, weight_min: u64) -> Reach {
        let (mut from, mut jumps) = (span.start.as_slice(), 0);
        while let Some((_, empty)) = self.over(from).filter(|(_, e)| e.at <= number) {
            empty.used.store(true, Relaxed);
            from = &empty.end;
            jumps += 1;
            if from >= span.end.as_slice() {
                return Reach { span: Span::new(span.end.as_slice(), span.end.as_slice()), jumps };
            }
        }
        let bounds = (Bound::Excluded(from), Bound::Excluded(span.end.as_slice()));
        let mut run = Run::default();
        let mut to = span.end.as_slice();
        for (looked, (start, empty)) in self.empty.range::<[u8], _>(bounds).enumerate() {
            let usable = empty.at <= number;
            if usable && run.add(start, &empty.end, start, empty.weight) >= weight_min {
                to = run.start;
                break;
            }
            if looked == LOOK_MAX {
                to = start;
                break;
            }
        }
        Reach { span: Span::new(from, to), jumps }
    }

    /// The same for a scan from the end to the start.
    pub(super) fn reach_back(&self, span: &Span, number: u64, weight_min: u64) -> Reach {
        let (mut to, mut jumps) = (span.end.as_slice(), 0);
        while let Some((start, empty)) = self.before(to).filter(|(_, e)| e.at <= number) {
            empty.used.store(true, Relaxed);
            to = start;
            jumps += 1;
            if to <= span.start.as_slice() {
                let start = span.start.as_slice();
                return Reach { span: Span::new(start, start), jumps };
            }
        }
        let bounds = (Bound::Unbounded, Bound::Excluded(to));
        let mut run = Run::default();
        let mut from = span.start.as_slice();
        for (looked, (start, empty)) in self.empty.range::<[u8], _>(bounds).rev().enumerate() {
            if empty.end <= span.start {
                break;
            }
            let usable = empty.at <= number;
            if usable && run.add(&empty.end, start, &empty.end, empty.weight) >= weight_min {
                from = run.start;
                break;
            }
            if looked == LOOK_MAX {
                from = &empty.end;
                break;
            }
        }
        Reach { span: Span::new(from.max(&span.start), to), jumps }
    }

    /// Enters that nobody whose snapshot is at or above `at` sees a key in `span`.
    pub(super) fn claim(&mut self, mut span: Span, mut at: u64, weight: u64, views: &LiveViews) {
        let mut weight = weight;
        let mut kept: Vec<Span> = Vec::new();
        for start in self.near(&span) {
            let Some((start, other)) = self.take(&start) else { continue };
            let theirs = Span::new(start.as_slice(), other.end.as_slice());
            let (low, high) = (at.min(other.at), at.max(other.at));
            if !views.any_in(low, high) {
                // Nobody can tell the two from one, which is younger than both.
                span.start = span.start.min(start);
                span.end = span.end.max(other.end);
                at = high;
                weight += other.weight;
                continue;
            }
            if theirs.overlaps(&span) && other.at > at {
                // What serves older snapshots as well replaces it.
                self.put_rest(&theirs, &other, &span);
                continue;
            }
            kept.push(theirs);
            self.put(start, other);
        }
        kept.sort();
        let mut from = span.start;
        for other in kept {
            if other.start >= span.end || other.end <= from {
                continue;
            }
            let part = Empty { end: other.start, at, weight, used: AtomicBool::new(true) };
            self.put(from, part);
            from = other.end;
        }
        self.put(from, Empty { end: span.end, at, weight, used: AtomicBool::new(true) });
    }

    /// Enters again what is left of an empty span outside `gone`.
    fn put_rest(&mut self, span: &Span, empty: &Empty, gone: &Span) {
        let part = |end: &Key| Empty {
            end: end.clone(),
            at: empty.at,
            weight: empty.weight / 2,
            used: AtomicBool::new(empty.used.load(Relaxed)),
        };
        if span.start < gone.start {
            self.put(span.start.clone(), part(&span.end.clone().min(gone.start.clone())));
        }
        if span.end > gone.end {
            self.put(span.start.clone().max(gone.end.clone()), part(&span.end));
        }
    }

    /// Merges neighbours that look alike to every living view, from `key` on.
    pub(super) fn join(&mut self, key: &[u8], views: &LiveViews) {
        let Some((start, _)) = self.over(key) else { return };
        let mut start = start.clone();
        for _ in 0..LOOK_MAX {
            let Some(left) = self.empty.get(&start) else { return };
            let end = left.end.clone();
            let Some(right) = self.empty.get(&end) else { return };
            let (low, high) = (left.at.min(right.at), left.at.max(right.at));
            if views.any_in(low, high) {
                start = end;
                continue;
            }
            let Some((_, right)) = self.take(&end) else { return };
            let Some((_, left)) = self.take(&start) else { return };
            let weight = left.weight + right.weight;
            self.put(start.clone(), Empty { end: right.end, at: high, weight, ..left });
        }
    }

    /// A commit writes `key`: what was known about it holds no longer.
    pub(super) fn leave(&mut self, key: &[u8]) {
        let Some((start, _)) = self.over(key) else { return };
        let start = start.clone();
        if let Some((start, empty)) = self.take(&start) {
            let span = Span::new(start, empty.end.as_slice());
            self.put_rest(&span, &empty, &Span::key(key));
        }
    }

    /// Keys come into `span`: what was known about it holds no longer.
    pub(super) fn leave_span(&mut self, span: &Span) {
        for start in self.near(span) {
            let Some((start, empty)) = self.take(&start) else { continue };
            let theirs = Span::new(start.as_slice(), empty.end.as_slice());
            match theirs.overlaps(span) {
                true => self.put_rest(&theirs, &empty, span),
                false => self.put(start, empty),
            }
        }
    }

    /// Notes where a commit has deleted: each key, or a few portions if there are many. Where a
    /// commit puts and deletes by turns, as when the entries of an index move on, the keys that it
    /// has put are in the portions, too; they count as well, because a scan finds them.
    pub(super) fn note_deletes(&mut self, writes: &[Write]) {
        let deleted = writes.iter().filter(|(_, value)| value.is_none()).count();
        let portion = deleted.div_ceil(HINTS_ADDED_MAX).max(1);
        let is_deleted = |(_, value): &Write| value.is_none();
        let runs = writes.chunk_by(|a, b| is_deleted(a) == is_deleted(b));
        let runs = runs.filter(|run| run.first().is_some_and(is_deleted));
        if runs.clone().count() <= HINTS_ADDED_MAX {
            let portions = runs.flat_map(|run| run.chunks(portion)).filter_map(hint_of);
            return portions.for_each(|(span, deleted)| self.hint(span, deleted));
        }
        for index in writes.chunk_by(|a, b| a.0.get(..PREFIX_BYTES) == b.0.get(..PREFIX_BYTES)) {
            for keys in index.chunks(2 * portion) {
                let first = keys.iter().position(is_deleted);
                let last = keys.iter().rposition(is_deleted);
                let between =
                    first.zip(last).and_then(|(first, last)| hint_of(&keys[first..=last]));
                between.into_iter().for_each(|(span, deleted)| self.hint(span, deleted));
            }
        }
    }

    fn hint(&mut self, mut span: Span, mut deleted: u64) {
        while let Some(start) = self.last_hint(&span) {
            let Some((start, hint)) = self.hints.remove_entry(&start) else { break };
            self.bytes -= bytes_of(&start, &hint.end);
            deleted += hint.deleted;
            span = Span::new(span.start.min(start), span.end.max(hint.end));
        }
        self.bytes += bytes_of(&span.start, &span.end);
        self.hints.insert(span.start, Hint { end: span.end, deleted });
        if self.hints.len() > HINTS_MAX {
            self.coarsen();
        }
    }

    /// Where the last hint starts that overlaps `span`.
    fn last_hint(&self, span: &Span) -> Option<Key> {
        let to = (Bound::Unbounded, Bound::Excluded(span.end.as_slice()));
        let (start, hint) = self.hints.range::<[u8], _>(to).next_back()?;
        (hint.end > span.start).then(|| start.clone())
    }

    /// Makes one hint of every two.
    fn coarsen(&mut self) {
        let mut hints = std::mem::take(&mut self.hints).into_iter();
        while let Some((start, mut hint)) = hints.next() {
            self.bytes -= bytes_of(&start, &hint.end);
            if let Some((other, next)) = hints.next() {
                self.bytes -= bytes_of(&other, &next.end);
                hint.end = next.end;
                hint.deleted += next.deleted;
            }
            self.bytes += bytes_of(&start, &hint.end);
            self.hints.insert(start, hint);
        }
    }

    /// The gaps between the keys of a batch, in key order, in which many keys were deleted, and
    /// about how many. `examined` is what was read for the batch.
    pub(super) fn gaps(
        &self,
        examined: &Span,
        batch: &ScanBatch,
        weight_min: u64,
    ) -> Vec<(Span, u64)> {
        let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
        let to = (Bound::Unbounded, Bound::Excluded(examined.end.as_slice()));
        let hints = self.hints.range::<[u8], _>(to).rev();
        let hints = hints.take_while(|(_, hint)| hint.end > examined.start).take(LOOK_MAX);
        for (start, hint) in hints {
            let (first, last) = (batch.lower_bound(start), batch.lower_bound(&hint.end));
            let weight = hint.deleted / (last - first + 1) as u64;
            if weight > 0 {
                (first..=last).for_each(|gap| *weights.entry(gap).or_default() += weight);
            }
        }
        if batch.is_empty() {
            weights.entry(0).or_default();
        }
        let gaps = weights.into_iter();
        let gaps = gaps.map(|(gap, weight)| (gap_span(examined, batch, gap), weight));
        gaps.filter(|(gap, weight)| *weight >= self.weight_needed(gap, weight_min)).collect()
    }

    /// How many deletes make a gap worth an entry. What joins two spans makes the map smaller, and
    /// what lengthens one does not make it larger; without these, scans would step over more and
    /// more small pieces between spans.
    fn weight_needed(&self, gap: &Span, weight_min: u64) -> u64 {
        let before = self.before(&gap.start).is_some();
        match (before, self.over(&gap.end).is_some()) {
            (true, true) => 0,
            (true, false) | (false, true) => weight_min.div_ceil(4),
            (false, false) => weight_min,
        }
    }

    /// Drops the hints that a scan has looked into.
    pub(super) fn drop_hints(&mut self, span: &Span) {
        let mut left_over = Vec::new();
        while let Some(start) = self.last_hint(span) {
            let Some((start, hint)) = self.hints.remove_entry(&start) else { break };
            self.bytes -= bytes_of(&start, &hint.end);
            let left = [
                Span::new(start.as_slice(), hint.end.as_slice().min(&span.start)),
                Span::new(start.as_slice().max(&span.end), hint.end.as_slice()),
            ];
            let left = left.into_iter().filter(|part| !part.is_empty());
            left_over.extend(left.map(|part| (part, hint.deleted / 2)));
        }
        left_over.into_iter().for_each(|(part, deleted)| self.hint(part, deleted));
    }

    /// A span with at least that many deletes that no scan has read yet.
    pub(super) fn dense(&self, deleted_min: u64) -> Option<Span> {
        let (start, hint) = self.hints.iter().find(|(_, hint)| hint.deleted >= deleted_min)?;
        Some(Span::new(start.as_slice(), hint.end.as_slice()))
    }

    /// A few steps of the clock if there is too much: what was not used goes.
    pub(super) fn shrink(&mut self, bytes_max: usize) {
        if self.bytes > 2 * bytes_max {
            *self = Map::default();
        }
        for _ in 0..LOOK_MAX {
            if self.bytes <= bytes_max {
                return;
            }
            let after = (Bound::Excluded(self.hand.as_slice()), Bound::Unbounded);
            let next = self.empty.range::<[u8], _>(after).next();
            let Some((start, empty)) = next.or_else(|| self.empty.first_key_value()) else {
                *self = Map::default();
                return;
            };
            let used = empty.used.swap(false, Relaxed);
            self.hand.clone_from(start);
            if !used {
                let start = self.hand.clone();
                self.take(&start);
            }
        }
    }

    /// Panics if spans overlap, or if the count of bytes is wrong.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let empty = self.empty.iter().map(|(start, empty)| (start, &empty.end));
        let hints = self.hints.iter().map(|(start, hint)| (start, &hint.end));
        for spans in [empty.clone().collect::<Vec<_>>(), hints.clone().collect()] {
            assert!(spans.iter().all(|(start, end)| start < end));
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
        }
        let bytes: usize = empty.chain(hints).map(|(start, end)| bytes_of(start, end)).sum();
        assert_eq!(self.bytes, bytes);
    }

    /// Forgets what holds for every snapshot from `number` on: nothing dead is left there.
    pub(super) fn forget_until(&mut self, number: u64) {
        let Map { empty, bytes, .. } = self;
        empty.retain(|start, empty| {
            let stays = empty.at > number;
            *bytes -= if stays { 0 } else { bytes_of(start, &empty.end) };
            stays
        });
    }
}

/// The span of some writes, and how many more of their keys were deleted than put.
fn hint_of(writes: &[Write]) -> Option<(Span, u64)> {
    let span = Span::new(writes.first()?.0.as_ref(), key_after(&writes.last()?.0));
    let puts = writes.iter().filter(|(_, value)| value.is_some()).count();
    let deleted = (writes.len() - puts).saturating_sub(puts).max(1);
    Some((span, deleted as u64))
}

/// Neighbouring spans that together are worth a jump, or not.
#[derive(Default)]
struct Run<'a> {
    start: &'a [u8],
    end: &'a [u8],
    weight: u64,
}

impl<'a> Run<'a> {
    /// Adds a span; the weight of the run that it belongs to.
    fn add(&mut self, near: &'a [u8], far: &'a [u8], start: &'a [u8], weight: u64) -> u64 {
        if self.weight == 0 || self.end != near {
            *self = Run { start, end: far, weight: 0 };
        }
        self.end = far;
        self.weight += weight;
        self.weight
    }
}

/// Gap `i` is before entry `i` of a batch.
fn gap_span(examined: &Span, batch: &ScanBatch, gap: usize) -> Span {
    let start = match gap.checked_sub(1) {
        Some(before) => key_after(batch.key(before)),
        None => examined.start.clone(),
    };
    let end = match gap < batch.len() {
        true => batch.key(gap).to_vec(),
        false => examined.end.clone(),
    };
    Span::new(start, end)
}
