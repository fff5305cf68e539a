//! The read set: what a serializable transaction must prove unchanged.
//!
//! Each entry carries the snapshot that it was read at, since statements that run side by side
//! may straddle a refresh. Entries survive ROLLBACK TO; only a statement that runs again before
//! anything of it was sent drops its own ([`ReadSet::forget_statement`]).
//!
//! The set is bounded: beyond the limit the closest neighbours are merged, which may cause a retry
//! that was not needed, but never misses one that was. What is read of the catalog stays apart
//! from the rows of a table, so that a bulk load does not meet writers of other tables.

use crate::{ReadSegment, Seq, Snapshot, Span, SpanSet};
use std::sync::Arc;

/// What bookkeeping costs for one entry, roughly.
const ENTRY_BYTES: usize = 64;

struct Entry {
    statement: u32,
    /// The place in the order of all entries ever made.
    number: u64,
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
    /// The number of the next entry.
    next: u64,
    /// Entries with lower numbers are being validated, and must not grow any more.
    sealed: u64,
    bytes: usize,
    bytes_max: usize,
    /// How often entries were merged to save memory.
    shrunk: u64,
}

/// How far the read set had come when its validation began.
pub(crate) struct Marks {
    shrunk: u64,
    /// The number of the next entry then.
    next: u64,
    /// The snapshots that anything was read at.
    snapshots: Vec<u64>,
}

impl ReadSet {
    pub(crate) fn new(bytes_max: usize) -> ReadSet {
        ReadSet { segments: Vec::new(), next: 0, sealed: 0, bytes: 0, bytes_max, shrunk: 0 }
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
        let (number, sealed) = (self.next, self.sealed);
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
            if last.span.contains_span(&span) {
                return;
            }
            // The batches of one scan follow each other.
            let may_grow = last.number >= sealed;
            if may_grow && last.span.end == span.start {
                last.span.end = span.end;
                return;
            }
            if may_grow && last.span.start == span.end {
                last.span.start = span.start;
                return;
            }
        }
        self.bytes += span.start.len() + span.end.len() + ENTRY_BYTES;
        segment.entries.push(Entry { statement, number, span });
        self.next += 1;
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

    /// The reads of one statement, as far as they were not merged with others.
    pub(crate) fn of_statement(&self, seq: Seq) -> Vec<Span> {
        let entries = self.segments.iter().flat_map(|s| &s.entries);
        entries.filter(|e| e.statement == seq.number()).map(|e| e.span.clone()).collect()
    }

    /// What a store has to validate.
    pub(crate) fn segments(&self) -> Vec<ReadSegment> {
        self.segments
            .iter()
            .map(|s| {
                let mut spans: SpanSet = s.entries.iter().map(|e| e.span.clone()).collect();
                spans.extend(s.merged.clone());
                ReadSegment { snapshot: s.snapshot.clone(), spans }
            })
            .collect()
    }

    /// After a refresh: everything read at or before `to` holds at `to` as well. Entries that
    /// arrived since `validated` was taken keep their own snapshot, whatever else was moved or
    /// forgotten meanwhile. If they were merged with others, all keep theirs, and the commit
    /// compares them from there.
    pub(crate) fn advance(&mut self, validated: &Marks, to: &Arc<dyn Snapshot>) {
        if validated.shrunk != self.shrunk {
            return;
        }
        let mut moved =
            Segment { snapshot: to.clone(), entries: Vec::new(), merged: SpanSet::new() };
        for segment in &mut self.segments {
            let at = segment.snapshot.timestamp();
            if !validated.snapshots.contains(&at.0) || at >= to.timestamp() {
                continue;
            }
            let (old, rest) = std::mem::take(&mut segment.entries)
                .into_iter()
                .partition::<Vec<_>, _>(|entry| entry.number < validated.next);
            moved.entries.extend(old);
            moved.merged.extend(std::mem::take(&mut segment.merged));
            segment.entries = rest;
        }
        self.segments.retain(|s| !s.entries.is_empty() || !s.merged.is_empty());
        if moved.entries.is_empty() && moved.merged.is_empty() {
            return;
        }
        match self.segments.iter_mut().find(|s| s.snapshot.timestamp() == to.timestamp()) {
            Some(same) => {
                same.entries.append(&mut moved.entries);
                same.merged.extend(moved.merged);
            }
            None => self.segments.push(moved),
        }
    }

    /// What has been read by now, for [`ReadSet::advance`]. What is read from now on becomes
    /// entries of its own.
    pub(crate) fn marks(&mut self) -> Marks {
        self.sealed = self.next;
        let snapshots = self.segments.iter().map(|s| s.snapshot.timestamp().0).collect();
        Marks { shrunk: self.shrunk, next: self.next, snapshots }
    }

    /// Merges close neighbours until half of the limit is free again.
    fn shrink(&mut self) {
        self.shrunk += 1;
        let mut merged: Vec<SpanSet> = Vec::with_capacity(self.segments.len());
        for segment in &mut self.segments {
            let mut spans: SpanSet = segment.entries.drain(..).map(|e| e.span).collect();
            spans.extend(std::mem::take(&mut segment.merged));
            merged.push(spans);
        }
        let all: usize = merged.iter().map(set_bytes).sum();
        self.bytes = 0;
        for (segment, spans) in self.segments.iter_mut().zip(merged) {
            // Each snapshot keeps its part of the half.
            let part = set_bytes(&spans) as f64 / all.max(1) as f64;
            segment.merged = coarsened(spans, (part * self.bytes_max as f64 / 2.0) as usize);
            self.bytes += set_bytes(&segment.merged);
        }
    }
}

fn span_bytes(span: &Span) -> usize {
    span.start.len() + span.end.len() + ENTRY_BYTES
}

fn set_bytes(spans: &SpanSet) -> usize {
    spans.spans().iter().map(span_bytes).sum()
}

/// Spans that take at most `target` bytes, if that is possible: the neighbours with the least
/// between them become one, so that those of different tables are the last ones to do so.
fn coarsened(spans: SpanSet, target: usize) -> SpanSet {
    let list = spans.spans();
    let mut bytes = set_bytes(&spans);
    if bytes <= target {
        return spans;
    }
    let mut gaps: Vec<(Gap, usize)> =
        list.windows(2).enumerate().map(|(i, pair)| (Gap::between(pair), i)).collect();
    gaps.sort_unstable();
    let mut joined = vec![false; list.len()];
    for (_, i) in gaps {
        if bytes <= target {
            break;
        }
        joined[i] = true;
        bytes -= list[i].end.len() + list[i + 1].start.len() + ENTRY_BYTES;
    }
    let mut runs: Vec<Span> = Vec::new();
    let mut follows = false;
    for (span, joins_next) in list.iter().zip(joined) {
        match runs.last_mut() {
            Some(run) if follows => run.end.clone_from(&span.end),
            _ => runs.push(span.clone()),
        }
        follows = joins_next;
    }
    runs.into_iter().collect()
}

/// The distance of two neighbours; smaller is closer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    /// How many bytes the two keys begin with alike: the more, the closer.
    common: std::cmp::Reverse<usize>,
    /// The difference of the eight bytes after these.
    difference: u64,
}

impl Gap {
    fn between(pair: &[Span]) -> Gap {
        let (end, start) = (&pair[0].end, &pair[1].start);
        let common = end.iter().zip(start.iter()).take_while(|(a, b)| a == b).count();
        let number = |key: &[u8]| {
            let mut bytes = [0; 8];
            let rest = key[common..].iter().take(8);
            bytes.iter_mut().zip(rest).for_each(|(byte, given)| *byte = *given);
            u64::from_be_bytes(bytes)
        };
        let difference = number(start).saturating_sub(number(end));
        Gap { common: std::cmp::Reverse(common), difference }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Cursor, Key, Result, Timestamp, Value};

    struct At(u64);

    impl Snapshot for At {
        fn timestamp(&self) -> Timestamp {
            Timestamp(self.0)
        }
        fn get<'a>(&'a self, _: &'a [u8]) -> Answer<'a, Result<Option<Value>>> {
            Answer::ready(Ok(None))
        }
        fn multi_get<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Result<Vec<Option<Value>>>> {
            Answer::ready(Ok(vec![None; keys.len()]))
        }
        fn scan(&self, _: Span, _: bool, _: bool) -> Box<dyn Cursor> {
            unreachable!("the read set does not read")
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    fn at(number: u64) -> Arc<dyn Snapshot> {
        Arc::new(At(number))
    }

    #[test]
    fn a_refresh_moves_only_what_was_there_before_it() {
        let mut reads = ReadSet::new(1 << 20);
        let (old, new) = (at(1), at(5));
        reads.record(Seq(2), &old, Span::key("a"));
        let marks = reads.marks();
        // Statements that were still reading at the old snapshot come late; the first one goes on
        // where it had been.
        reads.record(Seq(2), &old, Span::new("a\0", "ab"));
        reads.record(Seq(4), &old, Span::key("b"));
        reads.advance(&marks, &new);
        assert_eq!(
            shapes(&reads),
            [(1, vec![Span::new("a\0", "ab"), Span::key("b")]), (5, vec![Span::key("a")]),]
        );
        assert!(!reads.is_consistent());
    }

    /// What the set holds, by snapshot.
    fn shapes(reads: &ReadSet) -> Vec<(u64, Vec<Span>)> {
        let shape = |s: &ReadSegment| (s.snapshot.timestamp().0, s.spans.spans().to_vec());
        let mut shapes: Vec<_> = reads.segments().iter().map(shape).collect();
        shapes.sort();
        shapes
    }

    #[test]
    fn a_refresh_moves_nothing_new_while_another_statement_runs_again() {
        let mut reads = ReadSet::new(1 << 20);
        let (old, new) = (at(1), at(5));
        reads.record(Seq(2), &old, Span::key("a"));
        reads.record(Seq(4), &old, Span::key("b"));
        let marks = reads.marks();
        reads.forget_statement(Seq(2));
        reads.record(Seq(6), &old, Span::key("c"));
        reads.advance(&marks, &new);
        assert_eq!(shapes(&reads), [(1, vec![Span::key("c")]), (5, vec![Span::key("b")])]);
    }

    #[test]
    fn two_refreshes_at_a_time_move_nothing_new() {
        let mut reads = ReadSet::new(1 << 20);
        let old = at(1);
        reads.record(Seq(2), &old, Span::key("a"));
        let (first, second) = (reads.marks(), reads.marks());
        reads.advance(&first, &at(5));
        reads.record(Seq(4), &old, Span::key("b"));
        reads.advance(&second, &at(7));
        assert_eq!(shapes(&reads), [(1, vec![Span::key("b")]), (5, vec![Span::key("a")])]);
    }

    #[test]
    fn a_statement_that_runs_again_drops_its_own_reads_only() {
        let mut reads = ReadSet::new(1 << 20);
        reads.record(Seq(2), &at(1), Span::key("a"));
        reads.record(Seq(4), &at(1), Span::key("b"));
        reads.record(Seq(4).after(), &at(1), Span::key("c"));
        reads.forget_statement(Seq(4));
        assert_eq!(reads.segments()[0].spans.spans(), [Span::key("a")]);
    }

    #[test]
    fn a_full_set_merges_what_is_close() {
        let mut reads = ReadSet::new(4_000);
        let key = |table: u8, i: u32| [&[table, 1][..], &i.to_be_bytes()[..]].concat();
        // A few keys of other tables are read before and at another snapshot.
        reads.record(Seq(2), &at(1), Span::key("catalog"));
        reads.record(Seq(2), &at(1), Span::key("z"));
        for i in 0..5_000u32 {
            let (number, snapshot) = if i % 5 == 0 { (Seq(4), at(2)) } else { (Seq(2), at(1)) };
            reads.record(number, &snapshot, Span::key(key(b'm', i * 3)));
            assert!(reads.bytes <= 4_000);
        }
        for segment in reads.segments() {
            let spans = &segment.spans;
            assert_eq!(spans.contains(b"catalog"), segment.snapshot.timestamp().0 == 1);
            let others = ["a", "catalogs", "l", "n", "y", "za"];
            assert!(others.iter().all(|other| !spans.contains(other.as_bytes())));
            assert!(!spans.contains(&key(b'm', u32::MAX)) && !spans.contains(&key(b'n', 0)));
        }
        let all: Vec<ReadSegment> = reads.segments();
        let is_there = |i: u32| all.iter().any(|s| s.spans.contains(&key(b'm', i * 3)));
        assert!((0..5_000).all(is_there));
    }

    #[test]
    fn a_full_set_grows_coarser_and_misses_nothing() {
        let mut reads = ReadSet::new(4_000);
        let key = |i: u32| i.to_be_bytes().to_vec();
        for i in 0..5_000u32 {
            reads.record(Seq(2), &at(1), Span::key(key(i * 3)));
            assert!(reads.bytes <= 4_000);
        }
        let spans = &reads.segments()[0].spans;
        assert!(spans.len() < 200);
        assert!((0..5_000).all(|i| spans.contains(&key(i * 3))));
    }
}
