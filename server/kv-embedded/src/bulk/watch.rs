//! The keys that commits write in a span while it is loaded.

use braid_kv::{Key, Span, SpanSet, Value, Write};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst},
    },
};

/// Bytes of keys and values that one watch notes at most.
const BYTES_MAX: usize = 32 << 20;
/// What bookkeeping costs for one key, roughly.
const ENTRY_BYTES: usize = 96;

/// What commits have written in a span since the watch began.
pub(crate) struct Watch {
    pub(super) span: Span,
    /// The last commit before the watch.
    number: AtomicU64,
    seen: Mutex<Seen>,
}

/// The keys, each with the values that were put.
#[derive(Default)]
struct Seen {
    keys: BTreeMap<Key, Vec<Value>>,
    bytes: usize,
    /// There was more than is noted, or a range delete.
    is_overtaken: bool,
}

impl Watch {
    pub(super) fn new(span: Span) -> Watch {
        Watch { span, number: AtomicU64::new(0), seen: Mutex::default() }
    }

    pub(super) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// The keys and their values; `None` if they are not all noted.
    pub(super) fn seen(&self) -> Option<BTreeMap<Key, Vec<Value>>> {
        let mut seen = self.seen.lock();
        (!seen.is_overtaken).then(|| std::mem::take(&mut seen.keys))
    }

    fn note(&self, deleted: &SpanSet, writes: &[Write]) {
        let from = writes.partition_point(|(key, _)| key.as_ref() < self.span.start.as_slice());
        let inside = writes[from..].iter();
        let inside = inside.take_while(|(key, _)| key.as_ref() < self.span.end.as_slice());
        let mut seen = self.seen.lock();
        seen.is_overtaken |= deleted.overlaps_span(&self.span);
        for (key, value) in inside {
            if seen.bytes > BYTES_MAX {
                seen.is_overtaken = true;
            }
            if seen.is_overtaken {
                seen.keys.clear();
                return;
            }
            seen.bytes += key.len() + value.as_ref().map_or(0, |value| value.len()) + ENTRY_BYTES;
            seen.keys.entry(key.to_vec()).or_default().extend(value.clone());
        }
    }
}

/// The watches of all loads under way.
#[derive(Default)]
pub(crate) struct Watches {
    all: RwLock<Vec<Arc<Watch>>>,
    count: AtomicUsize,
}

impl Watches {
    /// Begins a watch after commit `number`. Only the committer does this, between two groups.
    pub(crate) fn begin(&self, watch: Arc<Watch>, number: u64) {
        watch.number.store(number, Relaxed);
        let mut all = self.all.write();
        all.push(watch);
        self.count.store(all.len(), SeqCst);
    }

    pub(super) fn end(&self, watch: &Arc<Watch>) {
        let mut all = self.all.write();
        all.retain(|other| !Arc::ptr_eq(other, watch));
        self.count.store(all.len(), SeqCst);
    }

    /// Notes what a commit writes, before anybody can see it.
    pub(crate) fn note(&self, deleted: &SpanSet, writes: &[Write]) {
        if self.count.load(SeqCst) > 0 {
            self.all.read().iter().for_each(|watch| watch.note(deleted, writes));
        }
    }
}
