//! Which keys of a span belong to a scan, where keys of several kinds lie mixed.
//!
//! ```text
//!   span     p1  p1#c1  p1#c2  p1#c3  p2  p2#c1  p3
//!   shape p  p1 [──────── gap ───────)p2 [─ gap ─)p3
//! ```
//!
//! A store asks the shape about each key that it comes to. It may read on through a gap or jump
//! to its end, whichever is cheaper; what it hands out is the same.

use crate::{Answer, BatchBuilder, Cursor, Result, ScanBatch, Span};
use std::{fmt, sync::Arc};

/// Distinguishes the keys of one kind from others in the same range.
pub trait KeyShape: fmt::Debug + Send + Sync + 'static {
    /// `None` if `key` is of this kind; else a span around it that has no key of this kind.
    fn gap(&self, key: &[u8]) -> Option<Span>;

    /// Whether every key that may be in `span` is of this kind.
    fn has_all_of(&self, span: &Span) -> bool;

    /// Bytes that name the kind, never none: shapes of one name tell the same of every key, so
    /// that what was read with one may be handed out to another.
    fn name(&self) -> &[u8];

    /// How many keys of other kinds a gap has about, where statistics know it.
    fn gap_keys(&self) -> Option<usize> {
        None
    }
}

/// A cursor that leaves out what is of another kind, for stores that cannot jump over it.
pub(crate) struct ShapedCursor {
    inner: Box<dyn Cursor>,
    shape: Arc<dyn KeyShape>,
}

impl ShapedCursor {
    pub(crate) fn new(inner: Box<dyn Cursor>, shape: Arc<dyn KeyShape>) -> ShapedCursor {
        ShapedCursor { inner, shape }
    }
}

impl Cursor for ShapedCursor {
    fn next_batch(&mut self, rows: usize, bytes: usize) -> Answer<'_, Result<ScanBatch>> {
        Answer::wait(async move {
            let batch = self.inner.next_batch(rows, bytes).await?;
            let mut out = BatchBuilder::with_capacity(batch.len(), batch.bytes());
            let mut gap: Option<Span> = None;
            for (key, value) in batch.iter() {
                if gap.as_ref().is_some_and(|gap| gap.contains(key)) {
                    continue;
                }
                gap = self.shape.gap(key);
                if gap.is_none() {
                    out.push(key, value);
                }
            }
            Ok(out.finish(batch.resume))
        })
    }
}
