//! An open scan of a view: from the range cache where it can, from fjall where it must.
//!
//! ```text
//!   span      [────────────────────────────────────)
//!   cache         [ segment )         [ segment )
//!   read      [gap)          [  gap  )           [gap)      each with an iterator of fjall
//! ```
//!
//! A scan of keys of one kind jumps over long gaps of others: an iterator's step costs a tenth of
//! opening another one.
//!
//! What a long forward scan reads from fjall goes into the cache, batch by batch. What came first
//! waits in the cursor until the scan has shown that it is long.

use crate::{
    files::{decode_value, storage_error},
    range_cache::{Found, Segment},
    view::View,
};
use braid_kv::{Answer, BatchBuilder, Cursor, KeyShape, Result, ScanBatch, Span, key_after};
use fjall::Readable;
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A batch of fewer rows than this that takes longer than this has read through old versions and
/// deletions. The compactor takes that as a hint.
const SLOW_ROWS: usize = 256;
const SLOW: Duration = Duration::from_millis(1);
/// So many steps are taken inside a gap of other kinds of keys before its end is looked up.
const GAP_STEPS: usize = 8;
/// Batches that are limited to fewer rows than this are not worth keeping.
const KEPT_ROWS_MIN: usize = 256;

/// An open scan; fjall's iterator is kept from batch to batch.
pub(crate) struct ViewCursor {
    view: Arc<View>,
    /// What is left to scan.
    span: Span,
    reverse: bool,
    keys_only: bool,
    /// Whether tombstones have to be looked at.
    hiding: bool,
    /// The gap that is being read.
    gap: Option<(fjall::Iter, Span)>,
    /// Bytes handed out so far, wherever they came from.
    bytes: usize,
    /// Read, and not yet known to be worth keeping.
    waiting: Vec<(Span, ScanBatch)>,
    /// The kind of keys wanted, if others lie between them.
    shape: Option<Arc<dyn KeyShape>>,
}

impl ViewCursor {
    pub(crate) fn new(
        view: Arc<View>,
        span: Span,
        reverse: bool,
        keys_only: bool,
        shape: Option<Arc<dyn KeyShape>>,
    ) -> ViewCursor {
        let hiding = view.tombstones.touches(&span);
        let (gap, waiting) = (None, Vec::new());
        ViewCursor { view, span, reverse, keys_only, hiding, gap, bytes: 0, waiting, shape }
    }

    fn fill(&mut self, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let rows = rows.max(1);
        loop {
            if let Some(shape) = self.shape.clone() {
                return self.read_shaped(&*shape, rows, bytes);
            }
            let view = self.view.clone();
            let batch = match view.range_cache.find(&self.span, self.reverse, view.number()) {
                Found::Segment(segment) => {
                    self.gap = None;
                    view.range_cache.hits.fetch_add(1, Relaxed);
                    self.hand_out(&segment, rows, bytes)
                }
                Found::Gap(gap) => {
                    view.range_cache.misses.fetch_add(1, Relaxed);
                    self.read(gap, rows, bytes)?
                }
            };
            self.bytes += batch.bytes();
            if !batch.is_empty() || batch.resume.is_none() {
                return Ok(batch);
            }
        }
    }

    /// What is left, if anything.
    fn rest(&self) -> Option<Span> {
        (!self.span.is_empty()).then(|| self.span.clone())
    }

    /// The part of a segment that comes next.
    fn hand_out(&mut self, segment: &Segment, rows: usize, bytes: usize) -> ScanBatch {
        let all = &segment.entries;
        // A segment was one batch, so it is cut only for much smaller ones.
        let fit = bytes * all.len() / all.memory_bytes();
        let rows = if all.memory_bytes() > bytes * 2 { rows.min(fit.max(1)) } else { rows };
        let (mut from, mut to) = (all.lower_bound(&self.span.start), all.len());
        if segment.span.end > self.span.end {
            to = all.lower_bound(&self.span.end);
        }
        let whole = to - from <= rows;
        let mut batch;
        if self.reverse {
            from = from.max(to.saturating_sub(rows));
            batch = all.part(from..to).reversed();
            self.span.end = if whole { segment.span.start.clone() } else { all.key(from).to_vec() };
        } else {
            to = to.min(from + rows);
            batch = all.part(from..to);
            self.span.start = match whole {
                true => segment.span.end.clone(),
                false => key_after(all.key(to - 1)),
            };
        }
        batch.resume = self.rest();
        batch
    }

    /// Reads on in a gap between segments.
    fn read(&mut self, gap: Span, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let keeps = self.keeps(rows);
        let keys_only = self.keys_only && !keeps;
        let View { snapshot, files, tombstones, .. } = &*self.view;
        let (iter, gap) = self.gap.get_or_insert_with(|| {
            let bounds = gap.start.as_slice()..gap.end.as_slice();
            (snapshot.range(&files.data, bounds), gap)
        });
        let mut out = BatchBuilder::with_capacity(rows.min(4096), bytes.min(64 * rows));
        let last = loop {
            let next = if self.reverse { iter.next_back() } else { iter.next() };
            let Some(entry) = next else { break None };
            let key = if keys_only && !self.hiding {
                let key = entry.key().map_err(storage_error)?;
                out.push(&key, &[]);
                key
            } else {
                let (key, stored) = entry.into_inner().map_err(storage_error)?;
                let (number, value) = decode_value(&stored)?;
                if self.hiding && number < tombstones.number_over(&key) {
                    continue;
                }
                out.push(&key, if keys_only { &[] } else { value });
                key
            };
            if out.len() >= rows || out.bytes() >= bytes {
                break Some(key);
            }
        };
        let whole = last.is_none();
        let start = self.span.start.clone();
        match (last, self.reverse) {
            (Some(key), true) => self.span.end = key.to_vec(),
            (Some(key), false) => self.span.start = key_after(&key),
            (None, true) => self.span.end.clone_from(&gap.start),
            (None, false) => self.span.start.clone_from(&gap.end),
        }
        if whole {
            self.gap = None;
        }
        let rest = self.rest();
        if !keeps {
            return Ok(out.finish(rest));
        }
        out.shrink();
        let batch = out.finish(rest);
        self.keep(Span::new(start, self.span.start.clone()), &batch);
        Ok(batch)
    }

    /// Reads on, leaving out keys of other kinds.
    fn read_shaped(
        &mut self,
        shape: &dyn KeyShape,
        rows: usize,
        bytes: usize,
    ) -> Result<ScanBatch> {
        let View { snapshot, files, tombstones, .. } = &*self.view;
        let open =
            |span: &Span| snapshot.range(&files.data, span.start.as_slice()..span.end.as_slice());
        let (iter, _) = self.gap.get_or_insert_with(|| (open(&self.span), self.span.clone()));
        let mut out = BatchBuilder::with_capacity(rows.min(4096), bytes.min(64 * rows));
        // Where other kinds of keys are passed over, and how many were.
        let mut passing: Option<(Span, usize)> = None;
        let last = loop {
            let next = if self.reverse { iter.next_back() } else { iter.next() };
            let Some(entry) = next else { break None };
            let (key, stored) = entry.into_inner().map_err(storage_error)?;
            match &mut passing {
                Some((gap, steps)) if gap.contains(&key) => {
                    *steps += 1;
                    if *steps < GAP_STEPS {
                        continue;
                    }
                    let rest = match self.reverse {
                        true => Span::new(self.span.start.as_slice(), gap.start.as_slice()),
                        false => Span::new(gap.end.as_slice(), self.span.end.as_slice()),
                    };
                    passing = None;
                    if rest.is_empty() {
                        break None;
                    }
                    *iter = open(&rest);
                    continue;
                }
                _ => passing = shape.gap(&key).map(|gap| (gap, 0)),
            }
            if passing.is_some() {
                continue;
            }
            let (number, value) = decode_value(&stored)?;
            if self.hiding && number < tombstones.number_over(&key) {
                continue;
            }
            out.push(&key, if self.keys_only { &[] } else { value });
            if out.len() >= rows || out.bytes() >= bytes {
                break Some(key);
            }
        };
        match (last, self.reverse) {
            (Some(key), true) => self.span.end = key.to_vec(),
            (Some(key), false) => self.span.start = key_after(&key),
            (None, true) => self.span.end.clone_from(&self.span.start),
            (None, false) => self.span.start.clone_from(&self.span.end),
        }
        Ok(out.finish(self.rest()))
    }

    /// Whether the next batch may be one for the cache. A scan that wants no values takes them
    /// along once it goes beyond its first batch.
    fn keeps(&self, rows: usize) -> bool {
        let cache = &self.view.range_cache;
        let small = cache.scan_bytes_min > 0;
        cache.is_enabled()
            && !self.reverse
            && !(small && rows < KEPT_ROWS_MIN)
            && !(small && self.keys_only && self.bytes == 0)
    }

    fn keep(&mut self, span: Span, batch: &ScanBatch) {
        let cache = &self.view.range_cache;
        self.waiting.push((span, batch.part(0..batch.len())));
        if self.bytes + batch.bytes() >= cache.scan_bytes_min {
            cache.add(self.view.number(), std::mem::take(&mut self.waiting));
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
