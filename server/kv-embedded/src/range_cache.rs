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
//! - Segments do not overlap. Their bytes together stay under the limit.
//!
//! What it does not do: answer point reads, and know about tombstones (a segment holds what they
//! left visible; the cleaner removes only what they hide).
//!
//! A clock keeps what is used. A full cache takes at most one step of the clock for each new
//! segment, so that a scan of more than fits does not wash out what the next scan could use.

use crate::recent::RecentWrites;
use braid_kv::{Key, ScanBatch, Span, SpanSet, Write};
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
const SEGMENT_BYTES: usize = 256;
/// A scan's snapshot that is older than this many writes adds nothing: proving its segments
/// unchanged would hold up the committer, and where so much is written little stays.
const NEWER_WRITES_MAX: usize = 2_048;

/// A span and all that a snapshot showed of it, in key order.
pub(crate) struct Segment {
    pub(crate) span: Span,
    pub(crate) entries: ScanBatch,
    at: u64,
    used: AtomicBool,
}

impl Segment {
    fn bytes(&self) -> usize {
        SEGMENT_BYTES
            + self.span.start.len() * 2
            + self.span.end.len()
            + self.entries.memory_bytes()
    }
}

/// What the cache knows about the place where a scan goes on.
pub(crate) enum Found {
    /// A segment that covers it.
    Segment(Arc<Segment>),
    /// Nothing, as far as this span reaches.
    Gap(Span),
}

#[derive(Default)]
struct Segments {
    by_start: BTreeMap<Key, Arc<Segment>>,
    bytes: usize,
    /// Where the clock goes on.
    hand: Key,
}

/// The cache. Counters are sums since the start.
pub(crate) struct RangeCache {
    recent: Arc<Mutex<RecentWrites>>,
    segments: Mutex<Segments>,
    count: AtomicUsize,
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

    /// What is there at the start of `span` (at its end, for a scan in reverse) for a snapshot.
    pub(crate) fn find(&self, span: &Span, reverse: bool, number: u64) -> Found {
        if self.count.load(SeqCst) == 0 {
            return Found::Gap(span.clone());
        }
        let segments = self.segments.lock();
        let found = if reverse {
            segments.before(&span.end, number)
        } else {
            segments.after(&span.start, number)
        };
        let Some(segment) = found.filter(|s| s.span.overlaps(span)) else {
            return Found::Gap(span.clone());
        };
        let covers =
            if reverse { segment.span.end >= span.end } else { segment.span.start <= span.start };
        if covers {
            segment.used.store(true, Relaxed);
            return Found::Segment(segment.clone());
        }
        Found::Gap(match reverse {
            true => Span::new(segment.span.end.clone(), span.end.clone()),
            false => Span::new(span.start.clone(), segment.span.start.clone()),
        })
    }

    /// Keeps what was read at snapshot `at`, as far as it is still the newest state.
    pub(crate) fn add(&self, at: u64, parts: Vec<(Span, ScanBatch)>) {
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
            let segment = Segment { span, entries, at, used: AtomicBool::new(true) };
            segments.insert(Arc::new(segment), self.bytes_max, &mut gone);
        }
        self.count.store(segments.by_start.len(), SeqCst);
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
        for span in deleted.spans() {
            segments.remove_overlapping(span, &mut gone);
        }
        for (key, _) in writes {
            if let Some(start) = segments.over(key).map(|s| s.span.start.clone()) {
                gone.extend(segments.remove(&start));
            }
        }
        self.count.store(segments.by_start.len(), SeqCst);
        gone
    }
}

impl Segments {
    /// The segment that covers `key`.
    fn over(&self, key: &[u8]) -> Option<&Arc<Segment>> {
        let (_, segment) =
            self.by_start.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        (segment.span.end.as_slice() > key).then_some(segment)
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

    fn remove(&mut self, start: &[u8]) -> Option<Arc<Segment>> {
        let segment = self.by_start.remove(start)?;
        self.bytes -= segment.bytes();
        Some(segment)
    }

    fn remove_overlapping(&mut self, span: &Span, gone: &mut Vec<Arc<Segment>>) {
        let end = (Bound::Unbounded, Bound::Excluded(span.end.as_slice()));
        while let Some((start, segment)) = self.by_start.range::<[u8], _>(end).next_back()
            && segment.span.end > span.start
        {
            let start = start.clone();
            gone.extend(self.remove(&start));
        }
    }

    fn insert(&mut self, new: Arc<Segment>, bytes_max: usize, gone: &mut Vec<Arc<Segment>>) {
        let known = self.over(&new.span.start);
        if known.is_some_and(|known| known.span.contains_span(&new.span) && known.at <= new.at) {
            return;
        }
        let bytes = new.bytes();
        if bytes > bytes_max / 2 {
            return;
        }
        self.remove_overlapping(&new.span, gone);
        while self.bytes + bytes > bytes_max {
            let next = (Bound::Excluded(self.hand.as_slice()), Bound::Unbounded);
            let next = self.by_start.range::<[u8], _>(next).next();
            let Some((start, segment)) = next.or_else(|| self.by_start.first_key_value()) else {
                return;
            };
            self.hand = start.clone();
            if segment.used.swap(false, Relaxed) {
                return;
            }
            let start = start.clone();
            gone.extend(self.remove(&start));
        }
        self.bytes += bytes;
        self.by_start.insert(new.span.start.clone(), new);
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
        matches!(cache.find(&Span::key([key]), false, number), Found::Segment(_))
    }

    #[test]
    fn a_commit_takes_out_what_it_touches_and_nothing_else() {
        let cache = cache(1 << 20);
        cache.add(5, vec![part(10, 20), part(20, 30), part(40, 50)]);
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
        cache.add(5, vec![part(10, 20), part(20, 30)]);
        assert!(!is_cached(&cache, 12, 6) && is_cached(&cache, 25, 6));
        cache.add(6, vec![part(10, 20)]);
        assert!(is_cached(&cache, 12, 6));
    }

    #[test]
    fn gaps_end_where_segments_begin() {
        let cache = cache(1 << 20);
        cache.add(5, vec![part(20, 30), part(40, 50)]);
        let all = Span::new([10], [60]);
        let gap = |span: &Span, reverse| match cache.find(span, reverse, 5) {
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
        let one = Segment {
            span: part(0, 10).0,
            entries: part(0, 10).1,
            at: 0,
            used: AtomicBool::new(true),
        };
        let cache = cache(one.bytes() * 10);
        let mut hits = 0;
        for _ in 0..6 {
            for start in (0..200).step_by(10) {
                if is_cached(&cache, start, 5) {
                    hits += 1;
                } else {
                    cache.add(5, vec![part(start, start + 10)]);
                }
                assert!(cache.bytes() <= cache.bytes_max);
            }
        }
        assert!(hits >= 40, "{hits} hits");
    }
}
