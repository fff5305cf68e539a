//! Published snapshots: what readers see.
//!
//! The committer publishes a new [`View`] after every sync; taking the current one costs a
//! reference count. A view is a fjall snapshot, the commit number that it stands for, and the
//! range tombstones of that moment. Reads are answered at once, on the caller's thread.

use super::range_cache::RangeCache;
use crate::{
    empty_spans::EmptySpans,
    files::{Files, decode_value, storage_error},
    tombstones::TombstoneIndex,
};
use braid_kv::{Key, Result, Span, Value};
use fjall::Readable;
use std::sync::Arc;

/// The store as it was after one commit.
pub(crate) struct View {
    number: u64,
    // Before `files`, so that fjall's snapshot goes before its database.
    pub(crate) snapshot: fjall::Snapshot,
    pub(crate) tombstones: Arc<TombstoneIndex>,
    pub(crate) files: Arc<Files>,
    pub(crate) range_cache: Arc<RangeCache>,
    pub(crate) empty_spans: Arc<EmptySpans>,
}

impl View {
    /// A view of everything that fjall has now.
    pub(crate) fn of_now(
        files: &Arc<Files>,
        range_cache: &Arc<RangeCache>,
        empty_spans: &Arc<EmptySpans>,
        number: u64,
        tombstones: Arc<TombstoneIndex>,
    ) -> Arc<View> {
        let snapshot = files.db.snapshot();
        let (files, range_cache) = (files.clone(), range_cache.clone());
        let empty_spans = empty_spans.clone();
        empty_spans.views.add(number);
        Arc::new(View { number, snapshot, tombstones, files, range_cache, empty_spans })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What is made of a key's commit number and value, if it has one.
    pub(crate) fn visit<T>(
        &self,
        key: &[u8],
        make: impl FnOnce(u64, &[u8]) -> T,
    ) -> Result<Option<T>> {
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

    /// A key's number and value as they are stored, if it has any.
    pub(crate) fn stored(&self, key: &[u8]) -> Result<Option<fjall::UserValue>> {
        let stored = self.snapshot.get(&self.files.data, key).map_err(storage_error)?;
        let Some(stored) = stored else { return Ok(None) };
        let is_hidden = decode_value(&stored)?.0 < self.tombstones.number_over(key);
        Ok((!is_hidden).then_some(stored))
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

impl Drop for View {
    fn drop(&mut self) {
        self.empty_spans.views.remove(self.number);
    }
}
