//! An open scan of a view: from the range cache where it can, from fjall where it must.
//!
//! ```text
//!   span      [────────────────────────────────────)
//!   cache         [ segment )         [ segment )
//!   read      [gap)          [  gap  )           [gap)      each with an iterator of fjall
//! ```
//!
//! A scan of keys of one kind jumps over long gaps of others: an iterator's step costs a tenth of
//! opening another one. Where the shape knows how long gaps are it jumps at once or not at all;
//! otherwise it jumps after a few steps, which costs at most twice as much as knowing.
//!
//! Where nothing is left but deleted keys it jumps as well: a gap ends where an empty span begins
//! that is worth it (module `empty_spans`), and a scan reports the empty spans that it has read.
//!
//! What a long forward scan reads from fjall goes into the cache, batch by batch. What came first
//! waits in the cursor until the scan has shown that it is long. A short batch goes there if the
//! lookup that has read it comes again.

use super::{
    range_cache::{Found, Segment},
    view::View,
};
use crate::files::{decode_value, storage_error};
use braid_kv::{Answer, BatchBuilder, Cursor, KeyShape, Result, ScanBatch, Span, key_after};
use fjall::Readable;
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A batch that takes longer than this, and longer than this for each of its rows, has read through
/// old versions and deletions. The cleaner takes that as a hint. A row without any takes a tenth.
const SLOW: Duration = Duration::from_millis(1);
const SLOW_ROW: Duration = Duration::from_micros(4);
/// Only in batches of fewer rows than this is it looked for spans full of deleted keys.
const DENSE_ROWS_MAX: usize = 256;
/// Steps inside a gap of other kinds of keys before its end is looked up, where nothing is known
/// about gaps.
const GAP_STEPS: usize = 8;
/// The same where gaps are known to be short, most of them.
const SHORT_GAP_STEPS: usize = 40;
/// A lookup of a gap's end costs as much as reading this many bytes.
const SEEK_BYTES: usize = 1024;
/// Batches that are limited to fewer rows than this are not worth keeping.
const KEPT_ROWS_MIN: usize = 256;

/// The most bytes of a batch that is kept for lookups.
const LOOKUP_BYTES_MAX: usize = 64 << 10;

/// For whom the cache may keep a batch.
#[derive(Clone, Copy)]
struct Kept {
    for_scans: bool,
    for_lookups: bool,
}

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
    /// Bytes handed out so far, wherever they came from, and what passing over others cost.
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

    /// The next entries, as [`Cursor::next_batch`] gives them.
    pub(crate) fn fill(&mut self, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let rows = rows.max(1);
        loop {
            let view = self.view.clone();
            let shape = self.shape.clone();
            let (cache, number) = (&view.range_cache, view.number());
            // An open gap ends where the next jump is due.
            let reach = if self.gap.is_none() { self.jump() } else { None };
            let reach = reach.as_ref().unwrap_or(&self.span);
            let batch = match cache.find(reach, (self.reverse, rows), number, shape.as_ref()) {
                Found::Segment(segment) => {
                    self.gap = None;
                    view.range_cache.hits.fetch_add(1, Relaxed);
                    self.hand_out(&segment, rows, bytes)
                }
                Found::Gap(gap) => {
                    view.range_cache.misses.fetch_add(1, Relaxed);
                    match &shape {
                        None => self.read_and_learn(gap, rows, bytes)?,
                        Some(shape) => self.read_shaped(&**shape, gap, rows, bytes)?,
                    }
                }
            };
            self.bytes += batch.bytes();
            if !batch.is_empty() || batch.resume.is_none() {
                return Ok(batch);
            }
        }
    }

    /// Jumps over what is known to be empty; what can be read then at one go.
    fn jump(&mut self) -> Option<Span> {
        let reach = self.view.empty_spans.reach(&self.span, self.reverse, self.view.number())?;
        match self.reverse {
            true => self.span.end.clone_from(&reach.end),
            false => self.span.start.clone_from(&reach.start),
        }
        Some(reach)
    }

    /// Reads on, and says what was found to be empty.
    fn read_and_learn(&mut self, gap: Span, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let near = |cursor: &ViewCursor| match cursor.reverse {
            true => cursor.span.end.clone(),
            false => cursor.span.start.clone(),
        };
        let (from, start) = (near(self), Instant::now());
        let batch = self.read(gap, rows, bytes)?;
        let to = near(self);
        let examined = if self.reverse { Span::new(to, from) } else { Span::new(from, to) };
        let was_slow = batch.len() < DENSE_ROWS_MAX && start.elapsed() > SLOW;
        let dense = if was_slow { self.dense(&examined, &batch)? } else { Vec::new() };
        let View { empty_spans, .. } = &*self.view;
        empty_spans.learn(self.view.number(), &examined, &batch, self.reverse, dense);
        Ok(batch)
    }

    /// Which of the gaps at both ends of a slow batch are full of deleted keys, as they may be
    /// after a restart. They are stepped over once more: a busy machine is slow as well, but
    /// seldom twice.
    fn dense(&self, examined: &Span, batch: &ScanBatch) -> Result<Vec<Span>> {
        let mut gaps = vec![examined.clone()];
        if let Some(last) = batch.len().checked_sub(1) {
            let (low, high) = if self.reverse { (last, 0) } else { (0, last) };
            gaps = vec![
                Span::new(examined.start.as_slice(), batch.key(low)),
                Span::new(key_after(batch.key(high)), examined.end.as_slice()),
            ];
        }
        let View { snapshot, files, .. } = &*self.view;
        let mut dense = Vec::new();
        for gap in gaps.into_iter().filter(|gap| !gap.is_empty()) {
            let start = Instant::now();
            let mut inside = snapshot.range(&files.data, gap.start.as_slice()..gap.end.as_slice());
            inside.next().map(|entry| entry.key().map_err(storage_error)).transpose()?;
            if start.elapsed() > SLOW {
                dense.push(gap);
            }
        }
        Ok(dense)
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
        let (mut from, mut to) = (segment.lower_bound(&self.span.start), all.len());
        if segment.span.end > self.span.end {
            // The spans of lookups are short.
            to = all.lower_bound_from(from, &self.span.end);
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
        let for_lookups = !self.reverse && self.view.range_cache.wants_lookup(&self.span.start);
        let kept = Kept { for_scans: self.keeps(rows), for_lookups };
        let keys_only = self.keys_only && !kept.for_scans && !kept.for_lookups;
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
        let gap = gap.clone();
        Ok(self.finish(out, last, &gap, kept))
    }

    /// The batch that was read in a gap up to `last`, or to its end.
    fn finish(
        &mut self,
        mut out: BatchBuilder,
        last: Option<fjall::UserKey>,
        gap: &Span,
        kept: Kept,
    ) -> ScanBatch {
        let start = self.span.start.clone();
        if last.is_none() {
            self.gap = None;
        }
        match (last, self.reverse) {
            (Some(key), true) => self.span.end = key.to_vec(),
            (Some(key), false) => self.span.start = key_after(&key),
            (None, true) => self.span.end.clone_from(&gap.start),
            (None, false) => self.span.start.clone_from(&gap.end),
        }
        let rest = self.rest();
        if !kept.for_scans && !kept.for_lookups {
            return out.finish(rest);
        }
        out.shrink();
        let batch = out.finish(rest);
        let span = Span::new(start, self.span.start.clone());
        if kept.for_lookups && batch.bytes() <= LOOKUP_BYTES_MAX {
            let part = (span.clone(), batch.part(0..batch.len()));
            self.view.range_cache.add_lookups(self.view.number(), vec![part]);
        }
        if kept.for_scans {
            self.keep(span, &batch);
        }
        batch
    }

    /// Reads on in a gap between segments, leaving out keys of other kinds.
    fn read_shaped(
        &mut self,
        shape: &dyn KeyShape,
        gap: Span,
        rows: usize,
        bytes: usize,
    ) -> Result<ScanBatch> {
        let keeps = self.keeps(rows);
        let keys_only = self.keys_only && !keeps;
        let steps_max = match shape.gap_keys() {
            None => GAP_STEPS,
            Some(keys) if keys > GAP_STEPS => 0,
            Some(_) => SHORT_GAP_STEPS,
        };
        let View { snapshot, files, tombstones, .. } = &*self.view;
        let open =
            |span: &Span| snapshot.range(&files.data, span.start.as_slice()..span.end.as_slice());
        let (iter, gap) = self.gap.get_or_insert_with(|| (open(&gap), gap));
        let mut out = BatchBuilder::with_capacity(rows.min(4096), bytes.min(64 * rows));
        // Where other kinds of keys are passed over, and how many were.
        let mut passing: Option<(Span, usize)> = None;
        let last = loop {
            let next = if self.reverse { iter.next_back() } else { iter.next() };
            let Some(entry) = next else { break None };
            let (key, stored) = entry.into_inner().map_err(storage_error)?;
            let inside = passing.as_ref().is_some_and(|(others, _)| others.contains(&key));
            if !inside {
                passing = shape.gap(&key).map(|others| (others, 0));
            }
            if let Some((others, steps)) = &mut passing {
                self.bytes += key.len() + stored.len();
                *steps += 1;
                if *steps <= steps_max {
                    continue;
                }
                let rest = match self.reverse {
                    true => Span::new(gap.start.as_slice(), others.start.as_slice()),
                    false => Span::new(others.end.as_slice(), gap.end.as_slice()),
                };
                passing = None;
                if rest.is_empty() {
                    break None;
                }
                self.bytes += SEEK_BYTES;
                *iter = open(&rest);
                continue;
            }
            let (number, value) = decode_value(&stored)?;
            if self.hiding && number < tombstones.number_over(&key) {
                continue;
            }
            out.push(&key, if keys_only { &[] } else { value });
            if out.len() >= rows || out.bytes() >= bytes {
                break Some(key);
            }
        };
        let gap = gap.clone();
        let kept = Kept { for_scans: keeps, for_lookups: false };
        Ok(self.finish(out, last, &gap, kept))
    }

    /// Whether the next batch may be one for the cache. A scan that wants no values takes them
    /// along once it goes beyond its first batch.
    fn keeps(&self, rows: usize) -> bool {
        let cache = &self.view.range_cache;
        let small = cache.scan_bytes_min > 0;
        cache.is_enabled()
            && !self.reverse
            && !(small && rows < KEPT_ROWS_MIN)
            && !(small && self.keys_only && self.bytes == 0 && self.shape.is_none())
    }

    fn keep(&mut self, span: Span, batch: &ScanBatch) {
        let cache = &self.view.range_cache;
        self.waiting.push((span, batch.part(0..batch.len())));
        if self.bytes + batch.bytes() >= cache.scan_bytes_min {
            cache.add(self.view.number(), self.shape.as_ref(), std::mem::take(&mut self.waiting));
        }
    }
}

impl Cursor for ViewCursor {
    fn next_batch(&mut self, rows: usize, bytes: usize) -> Answer<'_, Result<ScanBatch>> {
        let start = Instant::now();
        let batch = self.fill(rows, bytes);
        let took = start.elapsed();
        let is_slow = |batch: &ScanBatch| {
            let rows = u32::try_from(batch.len()).unwrap_or(u32::MAX);
            took > SLOW.max(SLOW_ROW.saturating_mul(rows))
        };
        if batch.as_ref().is_ok_and(is_slow) {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.view.files.slow_micros.fetch_add(micros, Relaxed);
        }
        Answer::ready(batch)
    }
}
