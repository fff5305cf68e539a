//! The range cache: batches of long scans, kept to be handed out again without reading fjall.
//!
//! ```text
//!   keys       a ────────── f ─────────── m ────── q ──────────── z
//!   segments   [ read at 5  )[ read at 5  )        [ read at 9    )
//!   commit 10 writes c: the first segment goes, a scan at 9 that holds it may finish with it
//! ```
//!
//! A segment is a span that was read through at one snapshot, with everything that was visible
//! there. Entries lie in the flat batch that the scan itself was given, so that keeping it copies
//! nothing, and neither does handing out a part of it.
//!
//! # What must always hold
//!
//! - No commit above a segment's number `at` has written inside its span, as far as commits are
//!   accepted. So a snapshot at or above `at` sees exactly the segment's entries.
//! - The committer takes out what a commit touches while it holds the index of recent writes, and
//!   before the commit is visible. A segment is entered under the same lock, after the index has
//!   said that nothing in its span is newer: what was committed while the scan ran is met there.
//! - Segments of one kind do not overlap. The bytes of all together stay under the limit.
//!
//! # Kinds
//!
//! A scan of one kind of keys among others ([`KeyShape`]) leaves segments of that kind: what such
//! a segment says of its span is which keys *of its kind* there are. So it is no answer to other
//! scans, and a commit that writes other kinds of keys inside the span leaves it. A range delete
//! takes out whatever it meets.
//!
//! Point reads of several keys are answered as well, where a segment covers a key.
//!
//! # Lookups
//!
//! A short scan leaves its batch in a kind of its own if it comes again ([`Repeats`]), and so do
//! point reads of several keys. Only lookups look there: thousands of small segments would cut a
//! long scan into as many gaps.
//!
//! What it does not do: know about tombstones (a segment holds what they left visible; the cleaner
//! removes only what they hide).
//!
//! A clock keeps what is used. A full cache takes at most one step of the clock for each new
//! segment, so that a scan of more than fits does not wash out what the next scan could use.

use super::{key_samples::KeySamples, repeats::Repeats};
use crate::recent_writes::RecentWrites;
use braid_kv::{Key, KeyShape, ScanBatch, Span, SpanSet, Write, key_after};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
};

/// What bookkeeping costs for one segment, roughly.
const SEGMENT_BYTES: usize = 384;
/// A scan's snapshot older than this many writes adds nothing: the check would delay the committer.
const NEWER_WRITES_MAX: usize = 2_048;

/// A span and all that a snapshot showed of it, in key order.
pub(crate) struct Segment {
    pub(crate) span: Span,
    pub(crate) entries: ScanBatch,
    samples: KeySamples,
    at: u64,
    used: AtomicBool,
}

impl Segment {
    fn new(span: Span, entries: ScanBatch, at: u64) -> Segment {
        let samples = KeySamples::of(&entries);
        Segment { span, entries, samples, at, used: AtomicBool::new(true) }
    }

    /// Where the first entry at or after `key` is.
    pub(crate) fn lower_bound(&self, key: &[u8]) -> usize {
        self.samples.lower_bound(&self.entries, key)
    }

    /// The same for a key that is not before entry `from`; quick if it is that one or the next.
    fn lower_bound_from(&self, from: usize, key: &[u8]) -> usize {
        let is_bound = |at: &usize| *at >= self.entries.len() || self.entries.key(*at) >= key;
        (from..from + 2).find(is_bound).unwrap_or_else(|| self.lower_bound(key))
    }

    fn bytes(&self) -> usize {
        SEGMENT_BYTES
            + self.span.start.len() * 2
            + self.span.end.len()
            + self.entries.memory_bytes()
            + self.samples.memory_bytes()
    }
}

/// What the cache knows about the place where a scan goes on.
pub(crate) enum Found {
    /// A segment that covers it.
    Segment(Arc<Segment>),
    /// Nothing, as far as this span reaches.
    Gap(Span),
}

/// What a segment's span says.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum KindName {
    /// Which keys there are, for long scans.
    #[default]
    All,
    /// The same, for lookups.
    Lookups,
    /// Which keys of a shape there are, by the shape's name.
    Shaped(Vec<u8>),
}

impl KindName {
    fn of(shape: Option<&Arc<dyn KeyShape>>) -> KindName {
        shape.map_or(KindName::All, |shape| KindName::Shaped(shape.name().to_vec()))
    }
}

/// The segments of one kind.
struct Kind {
    /// None: of all keys.
    shape: Option<Arc<dyn KeyShape>>,
    by_start: BTreeMap<Key, Arc<Segment>>,
}

#[derive(Default)]
struct Segments {
    /// A kind without segments is not here.
    kinds: BTreeMap<KindName, Kind>,
    count: usize,
    bytes: usize,
    /// Where the clock goes on: a kind and a key.
    hand: (KindName, Key),
}

/// The cache. Counters are sums since the start.
pub(crate) struct RangeCache {
    recent: Arc<Mutex<RecentWrites>>,
    segments: Mutex<Segments>,
    count: AtomicUsize,
    repeats: Repeats,
    bytes_max: usize,
    /// Scans of fewer bytes leave nothing here.
    pub(crate) scan_bytes_min: usize,
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
}

impl RangeCache {
    /// An empty cache.
    pub(crate) fn new(
        recent: Arc<Mutex<RecentWrites>>,
        bytes_max: usize,
        scan_bytes_min: usize,
    ) -> RangeCache {
        RangeCache {
            recent,
            segments: Mutex::default(),
            count: AtomicUsize::new(0),
            repeats: Repeats::new(),
            bytes_max,
            scan_bytes_min,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Whether anything may ever be in it.
    pub(crate) fn is_enabled(&self) -> bool {
        self.bytes_max > 0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.segments.lock().bytes
    }

    /// What is there at the start of `span` (at its end, for a scan in reverse) for a snapshot and
    /// a kind of keys. `rows` is how many entries are asked for at once.
    pub(crate) fn find(
        &self,
        span: &Span,
        (reverse, rows): (bool, usize),
        number: u64,
        shape: Option<&Arc<dyn KeyShape>>,
    ) -> Found {
        if self.count.load(SeqCst) == 0 {
            return Found::Gap(span.clone());
        }
        let segments = self.segments.lock();
        let known = segments.kinds.get(&KindName::of(shape)).and_then(|kind| match reverse {
            true => kind.before(&span.end, number),
            false => kind.after(&span.start, number),
        });
        let known = known.filter(|segment| segment.span.overlaps(span));
        let covers = |segment: &&Arc<Segment>| match reverse {
            true => segment.span.end >= span.end,
            false => segment.span.start <= span.start,
        };
        let is_plain = !reverse && shape.is_none();
        let lookup = || is_plain.then(|| segments.lookup_of(span, rows, number)).flatten();
        if let Some(segment) = known.filter(covers).or_else(lookup) {
            segment.used.store(true, Relaxed);
            return Found::Segment(segment.clone());
        }
        let Some(segment) = known else { return Found::Gap(span.clone()) };
        Found::Gap(match reverse {
            true => Span::new(segment.span.end.clone(), span.end.clone()),
            false => Span::new(span.start.clone(), segment.span.start.clone()),
        })
    }

    /// Reads keys in an order in which they ascend: calls `found` with the place and the value of
    /// each that there is. The places of keys that no segment covers are returned.
    pub(crate) fn read(
        &self,
        keys: &[Key],
        order: &[usize],
        number: u64,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Vec<usize> {
        let Some(last) = order.last() else { return Vec::new() };
        let end = key_after(&keys[*last]);
        let mut missing = Vec::new();
        // A segment with the entry where the search goes on, and where the last gap ends.
        let mut segment: Option<(Arc<Segment>, usize)> = None;
        let mut gap_end: Option<Key> = None;
        for at in order {
            let key = &keys[*at];
            if gap_end.as_ref().is_some_and(|end| key < end) {
                missing.push(*at);
                continue;
            }
            if segment.as_ref().is_none_or(|(known, _)| *key >= known.span.end) {
                let rest = Span::new(key.as_slice(), end.as_slice());
                match self.find(&rest, (false, usize::MAX), number, None) {
                    Found::Segment(next) => segment = Some((next, 0)),
                    Found::Gap(gap) => {
                        gap_end = Some(gap.end);
                        missing.push(*at);
                        continue;
                    }
                }
            }
            let Some((known, from)) = &mut segment else { continue };
            *from = known.lower_bound_from(*from, key);
            if *from < known.entries.len() && known.entries.key(*from) == key {
                found(*at, known.entries.value(*from));
            }
        }
        if !missing.is_empty() {
            self.read_lookups(keys, &mut missing, number, found);
        }
        missing
    }

    /// The same from what lookups have left. Found places are taken out of `missing`.
    fn read_lookups(
        &self,
        keys: &[Key],
        missing: &mut Vec<usize>,
        number: u64,
        mut found: impl FnMut(usize, &[u8]),
    ) {
        if !self.segments.lock().kinds.contains_key(&KindName::Lookups) {
            return;
        }
        missing.retain(|at| {
            let key = &keys[*at];
            // Locked for each key: commits would wait behind a lock for all of them.
            let known = self.segments.lock().lookup(key, number).cloned();
            let Some(segment) = known else { return true };
            segment.used.store(true, Relaxed);
            let (place, entries) = (segment.lower_bound(key), &segment.entries);
            if place < entries.len() && entries.key(place) == key {
                found(*at, entries.value(place));
            }
            false
        });
    }

    /// Whether a lookup that begins at `key` is to be kept: it comes again.
    pub(crate) fn wants_lookup(&self, key: &[u8]) -> bool {
        self.is_enabled() && self.repeats.note(key)
    }

    /// Keeps what lookups have read at snapshot `at`, as [`RangeCache::add`] does.
    pub(crate) fn add_lookups(&self, at: u64, parts: Vec<(Span, ScanBatch)>) {
        self.add_to(at, (&KindName::Lookups, None), parts);
    }

    /// Keeps what was read of a kind at snapshot `at`, as far as it is still the newest state.
    pub(crate) fn add(
        &self,
        at: u64,
        shape: Option<&Arc<dyn KeyShape>>,
        parts: Vec<(Span, ScanBatch)>,
    ) {
        self.add_to(at, (&KindName::of(shape), shape), parts);
    }

    fn add_to(
        &self,
        at: u64,
        kind: (&KindName, Option<&Arc<dyn KeyShape>>),
        parts: Vec<(Span, ScanBatch)>,
    ) {
        let mut gone = Vec::new();
        let recent = self.recent.lock();
        if !recent.knows(at) || recent.newer_than(at) > NEWER_WRITES_MAX {
            return;
        }
        let mut segments = self.segments.lock();
        for (span, entries) in parts {
            let spans = SpanSet::from_iter([span.clone()]);
            if span.is_empty() || recent.changed(&spans, at).is_some() {
                continue;
            }
            segments.insert(
                Arc::new(Segment::new(span, entries, at)),
                kind,
                self.bytes_max,
                &mut gone,
            );
        }
        self.count.store(segments.count, SeqCst);
        // What has gone is freed without the locks.
        drop((segments, recent));
    }

    /// Takes out what a commit touches. The caller holds the index of recent writes and has
    /// entered the commit there; what is returned is to be dropped without that lock.
    pub(crate) fn forget(&self, deleted: &SpanSet, writes: &[Write]) -> Vec<Arc<Segment>> {
        let mut gone = Vec::new();
        if self.count.load(SeqCst) == 0 {
            return gone;
        }
        let mut segments = self.segments.lock();
        for kind in segments.kinds.values_mut() {
            for span in deleted.spans() {
                kind.remove_overlapping(span, &mut gone);
            }
            kind.remove_touched(writes, &mut gone);
        }
        segments.account(&gone);
        self.count.store(segments.count, SeqCst);
        gone
    }
}

impl Kind {
    /// The segment that covers `key`.
    fn over(&self, key: &[u8]) -> Option<&Arc<Segment>> {
        let (_, segment) =
            self.by_start.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        (segment.span.end.as_slice() > key).then_some(segment)
    }

    /// Removes the segments that a commit's writes make wrong. The writes are in key order: those
    /// before the next segment are passed over without a look into the tree.
    fn remove_touched(&mut self, writes: &[Write], gone: &mut Vec<Arc<Segment>>) {
        let mut next_start: Option<Key> = None;
        for (key, _) in writes {
            if next_start.as_ref().is_some_and(|start| **key < **start) {
                continue;
            }
            if let Some(start) = self.touched_by(key) {
                gone.extend(self.by_start.remove(&start));
            }
            next_start = None;
            if self.over(key).is_none() {
                let from = (Bound::Excluded(&**key), Bound::Unbounded);
                let Some((start, _)) = self.by_start.range::<[u8], _>(from).next() else { return };
                next_start = Some(start.clone());
            }
        }
    }

    /// The start of the segment that a write of `key` makes wrong.
    fn touched_by(&self, key: &[u8]) -> Option<Key> {
        let start = &self.over(key)?.span.start;
        let is_other = self.shape.as_ref().is_some_and(|shape| shape.gap(key).is_some());
        (!is_other).then(|| start.clone())
    }

    /// The first segment that ends after `key` and that a snapshot may use.
    fn after(&self, key: &[u8], number: u64) -> Option<&Arc<Segment>> {
        let usable = |segment: &&Arc<Segment>| segment.at <= number;
        self.over(key).filter(usable).or_else(|| {
            let from = (Bound::Excluded(key), Bound::Unbounded);
            self.by_start.range::<[u8], _>(from).map(|(_, segment)| segment).find(usable)
        })
    }

    /// The last segment that starts before `key` and that a snapshot may use.
    fn before(&self, key: &[u8], number: u64) -> Option<&Arc<Segment>> {
        let to = (Bound::Unbounded, Bound::Excluded(key));
        let mut segments = self.by_start.range::<[u8], _>(to).rev().map(|(_, segment)| segment);
        segments.find(|segment| segment.at <= number)
    }

    fn remove_overlapping(&mut self, span: &Span, gone: &mut Vec<Arc<Segment>>) {
        let end = (Bound::Unbounded, Bound::Excluded(span.end.as_slice()));
        while let Some((start, segment)) = self.by_start.range::<[u8], _>(end).next_back()
            && segment.span.end > span.start
        {
            let start = start.clone();
            gone.extend(self.by_start.remove(&start));
        }
    }
}

impl Segments {
    /// What a lookup has left over `key`, if a snapshot may use it.
    fn lookup(&self, key: &[u8], number: u64) -> Option<&Arc<Segment>> {
        let segment = self.kinds.get(&KindName::Lookups)?.over(key)?;
        (segment.at <= number).then_some(segment)
    }

    /// The same for a scan that asks for this number of entries of a span at once, if the store
    /// would not give it more.
    fn lookup_of(&self, span: &Span, rows: usize, number: u64) -> Option<&Arc<Segment>> {
        let segment = self.lookup(&span.start, number)?;
        let is_enough = segment.span.end >= span.end
            || segment.entries.len() - segment.lower_bound(&span.start) >= rows;
        is_enough.then_some(segment)
    }

    /// Counts segments as gone that were taken out of their kinds.
    fn account(&mut self, gone: &[Arc<Segment>]) {
        if !gone.is_empty() {
            self.bytes -= gone.iter().map(|segment| segment.bytes()).sum::<usize>();
            self.count -= gone.len();
            self.kinds.retain(|_, kind| !kind.by_start.is_empty());
        }
    }

    fn insert(
        &mut self,
        new: Arc<Segment>,
        (name, shape): (&KindName, Option<&Arc<dyn KeyShape>>),
        bytes_max: usize,
        gone: &mut Vec<Arc<Segment>>,
    ) {
        let before = gone.len();
        let bytes = new.bytes();
        if bytes > bytes_max / 2 {
            return;
        }
        if let Some(kind) = self.kinds.get_mut(name) {
            let known = kind.over(&new.span.start);
            let is_known = |known: &Arc<Segment>| known.span.contains_span(&new.span);
            if known.is_some_and(|known| is_known(known) && known.at <= new.at) {
                return;
            }
            kind.remove_overlapping(&new.span, gone);
            self.account(&gone[before..]);
        }
        while self.bytes + bytes > bytes_max {
            let Some(taken) = self.tick() else { return };
            self.account(std::slice::from_ref(&taken));
            gone.push(taken);
        }
        self.bytes += bytes;
        self.count += 1;
        let make = || Kind { shape: shape.cloned(), by_start: BTreeMap::new() };
        let kind = self.kinds.entry(name.clone()).or_insert_with(make);
        kind.by_start.insert(new.span.start.clone(), new);
    }

    /// The clock's next step: takes out the segment under its hand, unless that was used.
    fn tick(&mut self) -> Option<Arc<Segment>> {
        let (name, key) = &self.hand;
        let here = (Bound::Excluded(key.as_slice()), Bound::Unbounded);
        let later = (Bound::Excluded(name), Bound::Unbounded);
        let in_kind =
            |kind: &Kind| kind.by_start.range::<[u8], _>(here).next().map(|s| s.0.clone());
        let first = |(name, kind): (&KindName, &Kind)| {
            Some((name.clone(), kind.by_start.first_key_value()?.0.clone()))
        };
        let next = self.kinds.get(name).and_then(in_kind).map(|start| (name.clone(), start));
        let next = next.or_else(|| self.kinds.range(later).next().and_then(first));
        self.hand = next.or_else(|| self.kinds.first_key_value().and_then(first))?;
        let kind = self.kinds.get_mut(&self.hand.0)?;
        if kind.by_start.get(&self.hand.1)?.used.swap(false, Relaxed) {
            return None;
        }
        kind.by_start.remove(&self.hand.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::BatchBuilder;

    fn cache(bytes_max: usize) -> RangeCache {
        RangeCache::new(Arc::new(Mutex::new(RecentWrites::new(0, 1 << 20))), bytes_max, 0)
    }

    fn part(start: u8, end: u8) -> (Span, ScanBatch) {
        let mut out = BatchBuilder::default();
        (start..end).for_each(|k| out.push(&[k], &[k; 100]));
        out.shrink();
        (Span::new([start], [end]), out.finish(None))
    }

    fn is_cached(cache: &RangeCache, key: u8, number: u64) -> bool {
        matches!(cache.find(&Span::key([key]), (false, 1), number, None), Found::Segment(_))
    }

    #[test]
    fn a_commit_takes_out_what_it_touches_and_nothing_else() {
        let cache = cache(1 << 20);
        cache.add(5, None, vec![part(10, 20), part(20, 30), part(40, 50)]);
        assert!(is_cached(&cache, 19, 5) && is_cached(&cache, 20, 9));
        assert!(!is_cached(&cache, 19, 4), "a snapshot before the segment's");
        let write: Write = (Arc::from([15u8].as_slice()), None);
        assert_eq!(cache.forget(&SpanSet::new(), &[write]).len(), 1);
        assert!(!is_cached(&cache, 10, 9) && is_cached(&cache, 20, 9));
        let spans = SpanSet::from_iter([Span::new([29], [41])]);
        assert_eq!(cache.forget(&spans, &[]).len(), 2);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn what_was_written_while_the_scan_ran_is_not_kept() {
        let cache = cache(1 << 20);
        cache.recent.lock().add_key(6, &Arc::from([15u8].as_slice()), false);
        cache.add(5, None, vec![part(10, 20), part(20, 30)]);
        assert!(!is_cached(&cache, 12, 6) && is_cached(&cache, 25, 6));
        cache.add(6, None, vec![part(10, 20)]);
        assert!(is_cached(&cache, 12, 6));
    }

    #[test]
    fn keys_are_read_where_segments_cover_them() {
        let cache = cache(1 << 20);
        let keys: Vec<Key> = [45, 12, 20, 29, 30, 39, 25, 60].map(|key| vec![key]).to_vec();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|at| &keys[*at]);
        let read = |number| {
            let mut found = Vec::new();
            let missing = cache.read(&keys, &order, number, |at, value| found.push((at, value[0])));
            (found, missing)
        };
        assert_eq!(read(9), (Vec::new(), order.clone()));
        let (span, _) = part(20, 30);
        let mut sparse = BatchBuilder::default();
        [20, 29].iter().for_each(|key| sparse.push(&[*key], &[*key; 100]));
        cache.add(5, None, vec![(span, sparse.finish(None)), part(40, 50)]);
        let in_segments = vec![(2, 20), (3, 29), (0, 45)];
        assert_eq!(read(9), (in_segments, vec![1, 4, 5, 7]), "25 is not there");
        assert_eq!(read(4), (Vec::new(), order.clone()), "a snapshot before the segments'");
    }

    #[test]
    fn gaps_end_where_segments_begin() {
        let cache = cache(1 << 20);
        cache.add(5, None, vec![part(20, 30), part(40, 50)]);
        let all = Span::new([10], [60]);
        let gap = |span: &Span, reverse| match cache.find(span, (reverse, 1), 5, None) {
            Found::Gap(gap) => gap,
            Found::Segment(_) => panic!("expected a gap in {span:?}"),
        };
        assert_eq!(gap(&all, false), Span::new([10], [20]));
        assert_eq!(gap(&all, true), Span::new([50], [60]));
        assert_eq!(gap(&Span::new([30], [60]), false), Span::new([30], [40]));
        assert_eq!(gap(&Span::new([10], [40]), true), Span::new([30], [40]));
        assert_eq!(gap(&Span::new([50], [60]), false), Span::new([50], [60]));
    }

    #[test]
    fn a_scan_of_more_than_fits_leaves_something_to_the_next_one() {
        let (span, entries) = part(0, 10);
        let one = Segment::new(span, entries, 0);
        let cache = cache(one.bytes() * 10);
        let mut hits = 0;
        for _ in 0..6 {
            for start in (0..200).step_by(10) {
                if is_cached(&cache, start, 5) {
                    hits += 1;
                } else {
                    cache.add(5, None, vec![part(start, start + 10)]);
                }
                assert!(cache.bytes() <= cache.bytes_max);
            }
        }
        assert!(hits >= 40, "{hits} hits");
    }
}
