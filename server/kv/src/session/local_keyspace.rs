//! Keys of one session only: rows of its temporary tables.
//!
//! They lie in a range of their own, in memory, beside the store. A transaction buffers writes to
//! them as it buffers others, reads them with its own writes laid over, and puts them into the
//! keyspace once the store's part of its commit has succeeded.
//!
//! ```text
//!   Transaction ── keys inside the span ──▶ LocalKeyspace     memory of one session
//!             └─── all others ────────────▶ Store             shared, durable
//! ```
//!
//! Rules: only transactions of one session use a keyspace, one at a time, so that its keys need
//! no locks, no validation and no snapshots; memory is bounded by `bytes_max`.

use crate::{
    BatchBuilder, Error, Key, KeyShape, Result, ScanBatch, Span, SpanSet, Value, Write, key_after,
};
use parking_lot::RwLock;
use std::{
    collections::BTreeMap,
    fmt,
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Bookkeeping bytes of one entry, roughly.
const ENTRY_BYTES: usize = 96;
/// A commit of more entries than this makes room for other tasks of its thread first.
const BLOCKING_ENTRIES: usize = 16_384;

#[derive(Default)]
struct Entries {
    map: BTreeMap<Arc<[u8]>, Value>,
    bytes: usize,
}

/// The temporary keys of a session.
pub struct LocalKeyspace {
    span: Span,
    bytes_max: AtomicUsize,
    entries: RwLock<Entries>,
}

/// What to read of a keyspace.
pub(crate) struct LocalScan<'a> {
    pub span: &'a Span,
    pub reverse: bool,
    pub keys_only: bool,
    pub shape: Option<&'a Arc<dyn KeyShape>>,
    pub rows: usize,
    pub bytes: usize,
}

impl LocalKeyspace {
    /// An empty keyspace for the keys of `span`.
    pub fn new(span: Span, bytes_max: usize) -> Arc<LocalKeyspace> {
        let (bytes_max, entries) = (AtomicUsize::new(bytes_max), RwLock::default());
        Arc::new(LocalKeyspace { span, bytes_max, entries })
    }

    /// The keys that belong here.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Roughly how many bytes of memory the entries take.
    pub fn bytes(&self) -> usize {
        self.entries.read().bytes
    }

    /// The most bytes that the entries and the open transaction's writes to them may take.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max.load(Relaxed)
    }

    /// Sets [`LocalKeyspace::bytes_max`].
    pub fn set_bytes_max(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Relaxed);
    }

    /// [`Error::LimitExceeded`] once the entries and a transaction's writes fill the memory.
    pub(crate) fn check_room(&self, buffered: usize) -> Result<()> {
        self.check(self.bytes().saturating_add(buffered) < self.bytes_max())
    }

    /// The same for deletes, which have to find room where the entries have taken all of it.
    pub(crate) fn check_removal(&self, buffered: usize) -> Result<()> {
        self.check(buffered / 2 < self.bytes_max().max(self.bytes()))
    }

    fn check(&self, has_room: bool) -> Result<()> {
        let limit = self.bytes_max() as u64;
        let full = Error::LimitExceeded { name: "temporary_memory_limit", limit };
        if has_room { Ok(()) } else { Err(full) }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Value> {
        self.entries.read().map.get(key).cloned()
    }

    /// One batch of a scan.
    pub(crate) fn scan(&self, scan: &LocalScan<'_>) -> ScanBatch {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&scan.span.start), Bound::Excluded(&scan.span.end));
        let entries = self.entries.read();
        let mut out = BatchBuilder::default();
        let mut last: Option<&Arc<[u8]>> = None;
        let range = entries.map.range::<[u8], _>(bounds);
        let in_order: Box<dyn Iterator<Item = (&Arc<[u8]>, &Value)>> =
            if scan.reverse { Box::new(range.rev()) } else { Box::new(range) };
        for (key, value) in in_order {
            if out.len() >= scan.rows || out.bytes() >= scan.bytes {
                return out.finish(last.map(|last| rest(scan, last)));
            }
            if scan.shape.is_none_or(|shape| shape.gap(key).is_none()) {
                out.push(key, if scan.keys_only { &[] } else { value });
            }
            last = Some(key);
        }
        out.finish(None)
    }

    /// Carries out what a transaction has written.
    pub(crate) fn apply(&self, deleted: &SpanSet, writes: Vec<Write>) {
        let entries = self.entries.read().map.len();
        let is_large =
            writes.len() > BLOCKING_ENTRIES || (!deleted.is_empty() && entries > BLOCKING_ENTRIES);
        match tokio::runtime::Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(tokio::runtime::RuntimeFlavor::MultiThread) if is_large => {
                tokio::task::block_in_place(|| self.apply_here(deleted, writes));
            }
            _ => self.apply_here(deleted, writes),
        }
    }

    fn apply_here(&self, deleted: &SpanSet, writes: Vec<Write>) {
        let mut entries = self.entries.write();
        let Entries { map, bytes } = &mut *entries;
        for span in deleted.spans() {
            let mut gone = map.split_off::<[u8]>(&span.start);
            let mut behind = gone.split_off::<[u8]>(&span.end);
            map.append(&mut behind);
            *bytes -= gone.iter().map(|(key, value)| size_of_entry(key, value)).sum::<usize>();
        }
        for (key, value) in writes {
            let old = match value {
                Some(value) => {
                    *bytes += size_of_entry(&key, &value);
                    map.insert(key.clone(), value)
                }
                None => map.remove(&key),
            };
            *bytes -= old.map_or(0, |old| size_of_entry(&key, &old));
        }
    }
}

/// What is left of a scan that has come to `last`.
fn rest(scan: &LocalScan<'_>, last: &[u8]) -> Span {
    let (start, end): (Key, Key) = match scan.reverse {
        true => (scan.span.start.clone(), last.to_vec()),
        false => (key_after(last), scan.span.end.clone()),
    };
    Span { start, end }
}

fn size_of_entry(key: &[u8], value: &Value) -> usize {
    key.len() + value.len() + ENTRY_BYTES
}

impl fmt::Debug for LocalKeyspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalKeyspace({:?}, {} bytes)", self.span, self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(space: &LocalKeyspace, span: &Span, reverse: bool, rows: usize) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut next = Some(span.clone());
        while let Some(span) = next {
            let (keys_only, shape, bytes) = (false, None, 1 << 20);
            let scan = LocalScan { span: &span, reverse, keys_only, shape, rows, bytes };
            let batch = space.scan(&scan);
            keys.extend(batch.iter().map(|(key, _)| key.to_vec()));
            next = batch.resume;
        }
        keys
    }

    #[test]
    fn acts_like_a_map_and_counts_its_bytes() {
        let space = LocalKeyspace::new(Span::new([1], [9]), 1 << 20);
        let mut model: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
        let mut seed = 3u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..500 {
            let from = random(30) as u8;
            let span = Span::new([2, from], [2, from + random(6) as u8]);
            let deleted: SpanSet =
                [span.clone()].into_iter().filter(|_| from.is_multiple_of(5)).collect();
            model.retain(|key, _| !deleted.contains(key));
            let mut writes: BTreeMap<Key, Option<Vec<u8>>> = BTreeMap::new();
            for _ in 0..random(5) {
                let value = vec![7; random(9) as usize];
                writes.insert(vec![2, random(40) as u8], (random(3) > 0).then_some(value));
            }
            for (key, value) in &writes {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
            }
            let writes = writes.into_iter().map(|(key, v)| (Arc::from(key), v.map(Value::from)));
            space.apply(&deleted, writes.collect());
            let expected: Vec<Key> =
                model.range(span.start.clone()..span.end.clone()).map(|(k, _)| k.clone()).collect();
            assert_eq!(all(&space, &span, false, 2), expected);
            assert!(all(&space, &span, true, 1).iter().eq(expected.iter().rev()));
            let bytes = model.iter().map(|(k, v)| k.len() + v.len() + ENTRY_BYTES).sum::<usize>();
            assert_eq!(space.bytes(), bytes);
        }
    }
}
