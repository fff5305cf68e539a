//! The spans of an index merged by what follows their common columns.
//!
//! ```text
//!   a IN (1, 2) ORDER BY b LIMIT 3      index (a, b)
//!   span a = 1   b: 3 5 9 …  ─┐
//!                             ├─▶ 2 3 5
//!   span a = 2   b: 2 7 8 …  ─┘
//! ```
//!
//! The bytes of keys have the order of their values, so the rest of each key is compared as it is.

use braid_kv::{BatchBuilder, ScanBatch, ScanRequest, Scanner, Span};
use braid_types::Result;

use super::key_parts::KeyParts;
use crate::operator::heap::Heap;
use crate::operator::scan::multi_scan::first_batches;
use crate::operator::{BATCH_ROWS, ExecutionState};

/// How many spans are opened at once.
const SPANS_AT_ONCE: usize = 512;
/// The bytes of a batch of one span.
const BATCH_BYTES: usize = 64 << 10;
/// The entries that all spans together keep ready, about.
const READY_MAX: usize = 65_536;
/// The fewest and the most entries of a batch of one span.
const BATCH_MIN: usize = 4;
const BATCH_MAX: usize = 256;

/// A scan of spans that are merged.
pub(super) struct MergedScan {
    /// The spans, until they are opened; the first one is the last.
    waiting: Vec<Span>,
    streams: Vec<Stream>,
    heap: Heap,
    /// The stream whose next batch must be there before the merge goes on.
    exhausted: Option<usize>,
    parts: KeyParts,
    reverse: bool,
    /// How many entries the next batch has, where the limit does not say it.
    rows: usize,
}

/// The entries of one span.
struct Stream {
    scanner: Scanner,
    batch: ScanBatch,
    /// The entry that comes next.
    at: usize,
    /// Where the merged part of its keys begins.
    merged_from: usize,
}

impl Stream {
    fn head(&self) -> &[u8] {
        self.batch.key(self.at).get(self.merged_from..).unwrap_or_default()
    }

    /// Waits for the next entries; false at the end.
    async fn fill(&mut self, run: &ExecutionState) -> Result<bool> {
        while self.at >= self.batch.len() {
            match run.wait(self.scanner.next_batch()).await? {
                Some(batch) => (self.batch, self.at) = (batch, 0),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Whether the head of a stream comes before that of another one.
fn is_before(streams: &[Stream], reverse: bool) -> impl Fn(usize, usize) -> bool + '_ {
    move |a, b| {
        let order = streams[a].head().cmp(streams[b].head());
        (if reverse { order.reverse() } else { order }).then(a.cmp(&b)).is_lt()
    }
}

impl MergedScan {
    /// A scan of these spans, the first one last. Each has one value of each of `parts`.
    pub(super) fn new(waiting: Vec<Span>, parts: KeyParts, reverse: bool) -> Self {
        let (streams, heap, rows) = (Vec::new(), Heap::default(), BATCH_ROWS / 16);
        Self { waiting, streams, heap, exhausted: None, parts, reverse, rows }
    }

    /// The next batch, never an empty one; `None` at the end.
    pub(super) async fn next(
        &mut self,
        run: &ExecutionState,
        request: &impl Fn(Span) -> ScanRequest,
        limit_rows: usize,
    ) -> Result<Option<ScanBatch>> {
        if !self.waiting.is_empty() {
            self.open(run, request, limit_rows).await?;
        }
        if let Some(place) = self.exhausted.take() {
            let more = self.streams[place].fill(run).await?;
            let is_before = is_before(&self.streams, self.reverse);
            match more {
                true => self.heap.sink_first(is_before),
                false => self.heap.drop_first(is_before),
            }
        }
        let wanted = if limit_rows > 0 { limit_rows } else { self.rows };
        self.rows = (self.rows * 4).min(BATCH_ROWS);
        let mut out = BatchBuilder::default();
        while out.len() < wanted
            && let Some(first) = self.heap.first()
        {
            let stream = &mut self.streams[first];
            out.push(stream.batch.key(stream.at), stream.batch.value(stream.at));
            stream.at += 1;
            if stream.at >= stream.batch.len() {
                self.exhausted = Some(first);
                break;
            }
            self.heap.sink_first(is_before(&self.streams, self.reverse));
        }
        run.check_interrupts().await?;
        Ok((!out.is_empty()).then(|| out.finish(None)))
    }

    /// Opens all spans; those without entries go.
    async fn open(
        &mut self,
        run: &ExecutionState,
        request: &impl Fn(Span) -> ScanRequest,
        limit_rows: usize,
    ) -> Result<()> {
        let each = (READY_MAX / self.waiting.len()).clamp(BATCH_MIN, BATCH_MAX);
        while !self.waiting.is_empty() {
            let from = self.waiting.len().saturating_sub(SPANS_AT_ONCE);
            let scanners = self.waiting.drain(from..).rev().map(|span| {
                let mut request = request(span);
                request.limit_bytes = BATCH_BYTES;
                request.limit_rows = if limit_rows > 0 { limit_rows.min(each) } else { each };
                run.cx.txn.scanner(run.cx.seq, request)
            });
            for (batch, scanner) in first_batches(run, scanners.collect()).await? {
                let batch = batch.unwrap_or_default();
                let mut stream = Stream { scanner, batch, at: 0, merged_from: 0 };
                if stream.fill(run).await? {
                    stream.merged_from = self.parts.end(stream.batch.key(0))?;
                    self.streams.push(stream);
                }
            }
        }
        let places = (0..self.streams.len()).collect();
        self.heap = Heap::new(places, is_before(&self.streams, self.reverse));
        Ok(())
    }
}
