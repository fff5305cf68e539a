//! Published snapshots: what readers see.
//!
//! The committer publishes a new [`View`] after every sync; taking the current one costs a
//! reference count. A view is a fjall snapshot, the commit number that it stands for, and the
//! range tombstones of that moment. Reads are answered at once, on the caller's thread.

use crate::{
    files::{Files, decode_value, storage_error},
    tombstones::TombstoneIndex,
};
use braid_kv::{
    Answer, BatchBuilder, Cursor, Key, Result, ScanBatch, Snapshot, Span, Timestamp, Value,
    key_after,
};
use fjall::Readable;
use std::{
    any::Any,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A batch of fewer rows than this that takes longer than this has read through old versions and
/// deletions. The compactor takes that as a hint.
const SLOW_ROWS: usize = 256;
const SLOW: Duration = Duration::from_millis(1);

/// The store as it was after one commit.
pub(crate) struct View {
    number: u64,
    // Before `files`, so that fjall's snapshot goes before its database.
    snapshot: fjall::Snapshot,
    pub(crate) tombstones: Arc<TombstoneIndex>,
    pub(crate) files: Arc<Files>,
}

impl View {
    /// A view of everything that fjall has now.
    pub(crate) fn of_now(
        files: &Arc<Files>,
        number: u64,
        tombstones: Arc<TombstoneIndex>,
    ) -> Arc<View> {
        let snapshot = files.db.snapshot();
        Arc::new(View { number, snapshot, tombstones, files: files.clone() })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What is made of a key's commit number and value, if it has one.
    fn visit<T>(&self, key: &[u8], make: impl FnOnce(u64, &[u8]) -> T) -> Result<Option<T>> {
        let stored = self.snapshot.get(&self.files.data, key).map_err(storage_error)?;
        let Some(stored) = stored else { return Ok(None) };
        let (number, value) = decode_value(&stored)?;
        if !self.tombstones.is_empty() && number < self.tombstones.number_over(key) {
            return Ok(None);
        }
        Ok(Some(make(number, value)))
    }

    /// The value of a key.
    pub(crate) fn read(&self, key: &[u8]) -> Result<Option<Value>> {
        // A copy: fjall's slice would keep a whole block in memory.
        self.visit(key, |_, value| Value::copy_from_slice(value))
    }

    /// The number of the commit that put a key's value, if it has one.
    pub(crate) fn version(&self, key: &[u8]) -> Result<Option<u64>> {
        self.visit(key, |number, _| number)
    }

    /// Keys and commit numbers of a span, hidden ones included.
    pub(crate) fn raw_versions(
        &self,
        span: &Span,
    ) -> impl Iterator<Item = Result<(fjall::UserKey, u64)>> {
        let bounds = span.start.as_slice()..span.end.as_slice();
        self.snapshot.range(&self.files.data, bounds).map(|entry| {
            let (key, value) = entry.into_inner().map_err(storage_error)?;
            Ok((key, decode_value(&value)?.0))
        })
    }

    /// Keys and commit numbers of a span, as readers see them.
    pub(crate) fn versions(
        &self,
        span: &Span,
    ) -> impl Iterator<Item = Result<(fjall::UserKey, u64)>> {
        self.raw_versions(span).filter(|entry| match entry {
            Ok((key, number)) => *number >= self.tombstones.number_over(key),
            Err(_) => true,
        })
    }

    /// The first key of `span` that differs between two views, by commit number.
    pub(crate) fn difference(&self, other: &View, span: &Span) -> Result<Option<Key>> {
        if span.is_key() {
            let same = self.version(&span.start)? == other.version(&span.start)?;
            return Ok((!same).then(|| span.start.clone()));
        }
        let (mut old, mut new) = (self.versions(span), other.versions(span));
        loop {
            match (old.next().transpose()?, new.next().transpose()?) {
                (None, None) => return Ok(None),
                (Some(a), Some(b)) if a == b => {}
                (Some((a, _)), Some((b, _))) => return Ok(Some(a.min(b).to_vec())),
                (Some((key, _)), None) | (None, Some((key, _))) => return Ok(Some(key.to_vec())),
            }
        }
    }
}

/// A view as the kv layer holds it.
pub(crate) struct ViewHandle(pub(crate) Arc<View>);

impl Snapshot for ViewHandle {
    fn timestamp(&self) -> Timestamp {
        Timestamp(self.0.number)
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Value>>> {
        Answer::ready(self.0.read(key))
    }

    fn multi_get<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Result<Vec<Option<Value>>>> {
        Answer::ready(keys.iter().map(|key| self.0.read(key)).collect())
    }

    fn scan(&self, span: Span, reverse: bool, keys_only: bool) -> Box<dyn Cursor> {
        let hiding = self.0.tombstones.touches(&span);
        let view = self.0.clone();
        Box::new(ViewCursor { iter: None, view, span, reverse, keys_only, hiding })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An open scan; fjall's iterator is kept from batch to batch.
struct ViewCursor {
    iter: Option<fjall::Iter>,
    view: Arc<View>,
    span: Span,
    reverse: bool,
    keys_only: bool,
    /// Whether tombstones have to be looked at.
    hiding: bool,
}

impl ViewCursor {
    fn fill(&mut self, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let View { snapshot, files, tombstones, .. } = &*self.view;
        let iter = self.iter.get_or_insert_with(|| {
            snapshot.range(&files.data, self.span.start.as_slice()..self.span.end.as_slice())
        });
        let rows = rows.max(1);
        let mut out = BatchBuilder::with_capacity(rows.min(4096), bytes.min(64 * rows));
        loop {
            let next = if self.reverse { iter.next_back() } else { iter.next() };
            let Some(entry) = next else { return Ok(out.finish(None)) };
            let key = if self.keys_only && !self.hiding {
                let key = entry.key().map_err(storage_error)?;
                out.push(&key, &[]);
                key
            } else {
                let (key, stored) = entry.into_inner().map_err(storage_error)?;
                let (number, value) = decode_value(&stored)?;
                if self.hiding && number < tombstones.number_over(&key) {
                    continue;
                }
                out.push(&key, if self.keys_only { &[] } else { value });
                key
            };
            if out.len() >= rows || out.bytes() >= bytes {
                if self.reverse {
                    self.span.end = key.to_vec();
                } else {
                    self.span.start = key_after(&key);
                }
                let rest = (!self.span.is_empty()).then(|| self.span.clone());
                return Ok(out.finish(rest));
            }
        }
    }
}

impl Cursor for ViewCursor {
    fn next_batch(&mut self, rows: usize, bytes: usize) -> Answer<'_, Result<ScanBatch>> {
        let start = Instant::now();
        let batch = self.fill(rows, bytes);
        let few = batch.as_ref().is_ok_and(|b| b.len() < SLOW_ROWS);
        if few && start.elapsed() > SLOW {
            self.view.files.slow_batches.fetch_add(1, Relaxed);
        }
        Answer::ready(batch)
    }
}
