//! Many scans with few waits: the first batches of many spans are asked for side by side.
//!
//! Entries come in the order of the spans. A span that one batch does not exhaust goes on by
//! itself; most spans of lookups are short, so they cost nothing more.

use std::collections::VecDeque;

use braid_kv::{ScanBatch, ScanRequest, Scanner, Span};
use braid_types::Result;
use futures_util::future::try_join_all;

use crate::operator::ExecutionState;

/// How many spans are opened at once.
const SPANS_AT_ONCE: usize = 512;
/// The bytes of a batch while many spans are open, which bounds their memory together.
const BATCH_BYTES: usize = 64 << 10;

/// A scan of many spans.
pub struct MultiScan {
    /// Spans not yet opened, the next one last.
    waiting: Vec<Span>,
    /// Spans that were opened: the batch not yet given, and what goes on behind it.
    open: VecDeque<(Option<ScanBatch>, Scanner)>,
    alone: bool,
    /// How many entries of each span are given; 0: all.
    rows_max: usize,
    /// How many of the first open span have been given.
    given: usize,
}

impl MultiScan {
    /// A scan of these spans, the first one last. With `alone` they are opened one by one, so
    /// that a reader that may stop early reads, and must prove, no more than it needs.
    pub fn new(waiting: Vec<Span>, alone: bool) -> Self {
        Self { waiting, open: VecDeque::new(), alone, rows_max: 0, given: 0 }
    }

    /// The same scan, which leaves each span after about this number of entries, if it is not 0.
    #[must_use]
    pub fn rows_max(mut self, rows: usize) -> Self {
        self.rows_max = rows;
        self
    }

    /// The next batch, never an empty one; `None` at the end. `request` says how a span is read.
    pub async fn next(
        &mut self,
        run: &ExecutionState,
        request: impl Fn(Span) -> ScanRequest,
    ) -> Result<Option<ScanBatch>> {
        loop {
            if let Some((ready, scanner)) = self.open.front_mut() {
                let batch = match ready.take() {
                    Some(batch) => Some(batch),
                    None => run.wait(scanner.next_batch()).await?,
                };
                self.given += batch.as_ref().map_or(0, ScanBatch::len);
                let is_enough = self.rows_max > 0 && self.given >= self.rows_max;
                if is_enough || batch.as_ref().is_none_or(|batch| batch.resume.is_none()) {
                    self.open.pop_front();
                    self.given = 0;
                }
                match batch {
                    Some(batch) if !batch.is_empty() => return Ok(Some(batch)),
                    _ => continue,
                }
            }
            if self.waiting.is_empty() {
                return Ok(None);
            }
            run.check_interrupts().await?;
            self.open_next(run, &request).await?;
        }
    }

    /// Whether all spans have been read.
    pub fn is_at_end(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty()
    }

    /// Whether the next batch is there already.
    pub fn has_ready(&self) -> bool {
        self.open.front().is_some_and(|(batch, _)| batch.is_some())
    }

    async fn open_next(
        &mut self,
        run: &ExecutionState,
        request: &impl Fn(Span) -> ScanRequest,
    ) -> Result<()> {
        let txn = &run.cx.txn;
        if self.alone || self.waiting.len() == 1 {
            if let Some(span) = self.waiting.pop() {
                self.open.push_back((None, txn.scanner(run.cx.seq, request(span))));
            }
            return Ok(());
        }
        let from = self.waiting.len().saturating_sub(SPANS_AT_ONCE);
        let requests = self.waiting.drain(from..).rev().map(|span| {
            let mut request = request(span);
            request.limit_bytes = BATCH_BYTES;
            txn.scanner(run.cx.seq, request)
        });
        let opened = first_batches(run, requests.collect()).await?;
        self.open.extend(opened.into_iter().filter(|(batch, _)| batch.is_some()));
        Ok(())
    }
}

/// The first batch of each scan, all in one wait; `None` where there is nothing.
pub async fn first_batches(
    run: &ExecutionState,
    mut scanners: Vec<Scanner>,
) -> Result<Vec<(Option<ScanBatch>, Scanner)>> {
    let batches = run
        .wait(async {
            let _one_wait = run.cx.txn.round_trips().side_by_side();
            try_join_all(scanners.iter_mut().map(Scanner::next_batch)).await
        })
        .await?;
    Ok(batches.into_iter().zip(scanners).collect())
}
