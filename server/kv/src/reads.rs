//! The read set: what a serializable transaction must prove unchanged.
//!
//! Each entry carries the snapshot that it was read at, since statements that run side by side
//! may straddle a refresh. Entries survive ROLLBACK TO; only a statement that runs again before
//! anything of it was sent drops its own ([`ReadSet::forget_statement`]).
//!
//! The set is bounded: beyond the limit neighbouring spans are merged, which may cause a retry
//! that was not needed, but never misses one that was.

use crate::{ReadSegment, Seq, Snapshot, Span, SpanSet};
use std::sync::Arc;

/// What bookkeeping costs for one entry, roughly.
const ENTRY_BYTES: usize = 56;

struct Entry {
    statement: u32,
    span: Span,
}

struct Segment {
    snapshot: Arc<dyn Snapshot>,
    entries: Vec<Entry>,
    /// Spans of statements that can no longer run again, merged.
    merged: SpanSet,
}

/// Everything that a transaction has read.
pub(crate) struct ReadSet {
    segments: Vec<Segment>,
    bytes: usize,
    bytes_max: usize,
}

impl ReadSet {
    pub(crate) fn new(bytes_max: usize) -> ReadSet {
        ReadSet { segments: Vec::new(), bytes: 0, bytes_max }
    }

    /// Whether all reads were done at one snapshot, so that they are consistent as they are.
    pub(crate) fn is_consistent(&self) -> bool {
        self.segments.len() <= 1
    }

    /// Remembers that `span` was read at `snapshot`.
    pub(crate) fn record(&mut self, seq: Seq, snapshot: &Arc<dyn Snapshot>, span: Span) {
        if span.is_empty() {
            return;
        }
        let at = snapshot.timestamp();
        let segment = match self.segments.iter().rposition(|s| s.snapshot.timestamp() == at) {
            Some(i) => &mut self.segments[i],
            None => {
                self.segments.push(Segment {
                    snapshot: snapshot.clone(),
                    entries: Vec::new(),
                    merged: SpanSet::new(),
                });
                self.segments.last_mut().expect("a segment was just pushed")
            }
        };
        let statement = seq.number();
        if let Some(last) = segment.entries.last_mut().filter(|e| e.statement == statement) {
            // The batches of one scan follow each other.
            if last.span.end == span.start {
                last.span.end = span.end;
                return;
            }
            if last.span.start == span.end {
                last.span.start = span.start;
                return;
            }
            if last.span.contains_span(&span) {
                return;
            }
        }
        self.bytes += span.start.len() + span.end.len() + ENTRY_BYTES;
        segment.entries.push(Entry { statement, span });
        if self.bytes > self.bytes_max {
            self.shrink();
        }
    }

    /// Drops the reads of a statement that is about to run again.
    pub(crate) fn forget_statement(&mut self, seq: Seq) {
        for segment in &mut self.segments {
            segment.entries.retain(|e| e.statement != seq.number());
        }
        self.segments.retain(|s| !s.entries.is_empty() || !s.merged.is_empty());
    }

    /// What a store has to validate.
    pub(crate) fn segments(&self) -> Vec<ReadSegment> {
        self.segments
            .iter()
            .map(|s| {
                let mut spans: SpanSet = s.entries.iter().map(|e| e.span.clone()).collect();
                spans.extend(&s.merged);
                ReadSegment { snapshot: s.snapshot.clone(), spans }
            })
            .collect()
    }

    /// After a refresh: everything read at or before `to` holds at `to` as well. Entries that
    /// arrived since `validated` was taken keep their own snapshot.
    pub(crate) fn advance(&mut self, validated: &[(u64, usize)], to: &Arc<dyn Snapshot>) {
        let mut moved =
            Segment { snapshot: to.clone(), entries: Vec::new(), merged: SpanSet::new() };
        for segment in &mut self.segments {
            let at = segment.snapshot.timestamp().0;
            let Some((_, count)) = validated.iter().find(|(ts, _)| *ts == at) else { continue };
            let rest = segment.entries.split_off((*count).min(segment.entries.len()));
            moved.entries.append(&mut segment.entries);
            moved.merged.extend(&std::mem::take(&mut segment.merged));
            segment.entries = rest;
        }
        self.segments.retain(|s| !s.entries.is_empty() || !s.merged.is_empty());
        if moved.entries.is_empty() && moved.merged.is_empty() {
            return;
        }
        match self.segments.iter_mut().find(|s| s.snapshot.timestamp() == to.timestamp()) {
            Some(same) => {
                same.entries.append(&mut moved.entries);
                same.merged.extend(&moved.merged);
            }
            None => self.segments.push(moved),
        }
    }

    /// How many entries each segment has now, for [`ReadSet::advance`].
    pub(crate) fn marks(&self) -> Vec<(u64, usize)> {
        self.segments.iter().map(|s| (s.snapshot.timestamp().0, s.entries.len())).collect()
    }

    /// Merges neighbours until half of the limit is free again.
    fn shrink(&mut self) {
        let mut bytes = 0;
        for segment in &mut self.segments {
            let mut spans: SpanSet = segment.entries.drain(..).map(|e| e.span).collect();
            spans.extend(&segment.merged);
            let target = self.bytes_max / 2;
            while set_bytes(&spans) > target && spans.len() > 1 {
                spans = spans
                    .spans()
                    .chunks(2)
                    .map(|pair| Span::new(pair[0].start.clone(), pair[pair.len() - 1].end.clone()))
                    .collect();
            }
            bytes += set_bytes(&spans);
            segment.merged = spans;
        }
        self.bytes = bytes;
    }
}

fn set_bytes(spans: &SpanSet) -> usize {
    spans.spans().iter().map(|s| s.start.len() + s.end.len() + ENTRY_BYTES).sum()
}
