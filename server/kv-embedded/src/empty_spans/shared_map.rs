//! The map, shared by scans, the committer and the cleaner.

use super::map::Map;
use crate::{reads::LiveViews, recent_writes::RecentWrites};
use braid_kv::{ScanBatch, Span, SpanSet, Write};
use parking_lot::{Mutex, RwLock};
use std::sync::{
    Arc,
    atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

/// The most bytes of spans and hints.
const BYTES_MAX: usize = 8 << 20;
/// A scan whose snapshot is older than this many writes enters nothing: proving its spans
/// unchanged would hold up the committer.
const NEWER_WRITES_MAX: usize = 2_048;
/// After this number of jumps in a row, neighbours are joined if possible.
const JUMPS_MANY: usize = 4;
/// Deleted keys after which the cleaner reads a span.
const DENSE_DELETES: u64 = 512;

/// The map, shared by scans, the committer and the cleaner.
pub(crate) struct EmptySpans {
    pub(super) recent: Arc<Mutex<RecentWrites>>,
    /// The views that are alive.
    pub(crate) views: LiveViews,
    pub(super) map: RwLock<Map>,
    /// How many spans and hints there are.
    len: AtomicUsize,
    /// Dead keys from which on a span interrupts a scan: another iterator costs as much as some
    /// steps.
    weight_min: u64,
    /// Spans that scans have jumped over.
    pub(crate) jumps: AtomicU64,
}

impl EmptySpans {
    pub(crate) fn new(recent: Arc<Mutex<RecentWrites>>, weight_min: u64) -> EmptySpans {
        EmptySpans {
            recent,
            views: LiveViews::default(),
            map: RwLock::default(),
            len: AtomicUsize::new(0),
            weight_min,
            jumps: AtomicU64::new(0),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.map.read().bytes()
    }

    /// What a scan of `span` at a snapshot has to read next: it begins after the empty spans at
    /// the start of `span` (at its end, for a scan in reverse) and ends where a jump is due. `None`
    /// is all of it.
    pub(crate) fn reach(&self, span: &Span, reverse: bool, number: u64) -> Option<Span> {
        if self.len.load(SeqCst) == 0 || span.is_empty() {
            return None;
        }
        let reach = match reverse {
            false => self.map.read().reach(span, number, self.weight_min),
            true => self.map.read().reach_back(span, number, self.weight_min),
        };
        if reach.jumps > 0 {
            self.jumps.fetch_add(reach.jumps as u64, Relaxed);
        }
        if reach.jumps >= JUMPS_MANY {
            let from = if reverse { &reach.span.end } else { &span.start };
            let mut map = self.map.write();
            map.join(from, &self.views);
        }
        Some(reach.span)
    }

    /// A scan at snapshot `at` has read through `examined` and found the keys of `batch` there, all
    /// of them. `dense`: gaps between them that are full of deleted keys, though nothing may be
    /// noted about it.
    pub(crate) fn learn(
        &self,
        at: u64,
        examined: &Span,
        batch: &ScanBatch,
        reverse: bool,
        dense: Vec<Span>,
    ) {
        if self.len.load(SeqCst) == 0 && dense.is_empty() {
            return;
        }
        let in_order;
        let batch = match reverse {
            true => {
                in_order = batch.reversed();
                &in_order
            }
            false => batch,
        };
        let mut gaps = self.map.read().gaps(examined, batch, self.weight_min);
        gaps.extend(dense.into_iter().map(|gap| (gap, self.weight_min)));
        if gaps.is_empty() {
            return;
        }
        let recent = self.recent.lock();
        if !recent.knows(at) || recent.newer_than(at) > NEWER_WRITES_MAX {
            return;
        }
        let mut map = self.map.write();
        for (gap, weight) in gaps {
            let spans = SpanSet::from_iter([gap.clone()]);
            if gap.is_empty() || recent.changed(&spans, at).is_some() {
                continue;
            }
            map.drop_hints(&gap);
            map.claim(gap, at, weight, &self.views);
        }
        map.shrink(BYTES_MAX);
        self.len.store(map.len(), SeqCst);
    }

    /// Takes out what a commit puts and notes what it deletes. The caller holds the index of recent
    /// writes and has entered the commit there.
    pub(crate) fn commit(&self, number: u64, deleted: &SpanSet, writes: &[Write]) {
        let is_known = self.len.load(SeqCst) > 0;
        let deletes = writes.iter().any(|(_, value)| value.is_none());
        if !is_known && !deletes && deleted.is_empty() {
            return;
        }
        let mut map = self.map.write();
        for span in deleted.spans() {
            // How many keys it hides is not known. A short one alone is not worth a jump.
            map.claim(span.clone(), number, self.weight_min.div_ceil(2), &self.views);
        }
        // The writes of a commit come after its range deletes.
        for (key, _) in writes.iter().filter(|(_, value)| value.is_some()) {
            map.leave(key);
        }
        if deletes {
            map.note_deletes(writes);
        }
        map.shrink(BYTES_MAX);
        self.len.store(map.len(), SeqCst);
    }

    /// Takes a span out, because a bulk load puts keys there. The caller holds the index of recent
    /// writes and has entered the span there.
    pub(crate) fn leave(&self, span: &Span) {
        let mut map = self.map.write();
        map.leave_span(span);
        self.len.store(map.len(), SeqCst);
    }

    /// A span with very many deletes that no scan has looked into since.
    pub(crate) fn dense(&self) -> Option<Span> {
        if self.len.load(SeqCst) == 0 {
            return None;
        }
        self.map.read().dense(DENSE_DELETES)
    }

    /// The cleaner has read through a dense span.
    pub(crate) fn looked_into(&self, span: &Span) {
        self.map.write().drop_hints(span);
    }

    /// fjall has removed everything that nobody could see at commit `number` or later.
    pub(crate) fn compacted(&self, number: u64) {
        let mut map = self.map.write();
        map.forget_until(number);
        self.len.store(map.len(), SeqCst);
    }
}
