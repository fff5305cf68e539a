//! Spans of statements and transactions, for an exporter of traces.
//!
//! A client decides what is exported: only what belongs to a trace whose `traceparent` has the flag
//! "sampled". A block is a span, and so is each of its statements.
//!
//! ```text
//! span of the client ──► transaction ──► statement
//!                  └──────────────────► statement whose comment names its parent, or without block
//! ```
//!
//! Rule: without an exporter nothing is paid; with one, a queue that is full drops the span and
//! counts it.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::class::StatementClass;

/// What a span is about.
#[derive(Clone, Debug)]
pub enum SpanSubject {
    /// A statement.
    Statement {
        /// What it does.
        class: StatementClass,
        /// Its text, cut to 4 kB, without values of parameters.
        text: String,
        /// How often the server ran it again.
        retries: u32,
    },
    /// A transaction block.
    Transaction {
        /// Whether it had something to write.
        has_written: bool,
        /// Whether it committed.
        is_committed: bool,
    },
}

/// Something that has ended, in a trace.
#[derive(Clone, Debug)]
pub struct Span {
    /// The trace.
    pub trace_id: u128,
    /// Its own number in the trace. Not 0.
    pub span_id: u64,
    /// The span that it is a part of.
    pub parent_id: u64,
    /// When it began, in nanoseconds since 1970.
    pub start_nanos: u64,
    /// When it ended, in nanoseconds since 1970.
    pub end_nanos: u64,
    /// The user who logged in.
    pub user: String,
    /// The database.
    pub database: String,
    /// The session.
    pub pid: i32,
    /// The SQLSTATE of its error.
    pub sqlstate: Option<&'static str>,
    /// What it is about.
    pub subject: SpanSubject,
}

/// Numbers of spans.
#[derive(Debug, Default)]
struct Counts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

/// Where the sessions of a server put their spans.
#[derive(Debug, Default)]
pub struct SpanQueue {
    sender: OnceLock<Sender<Span>>,
    counts: Arc<Counts>,
    made: AtomicU64,
}

impl SpanQueue {
    /// The end that an exporter reads. Only the first call opens the queue.
    pub fn open(&self, spans_max: usize) -> SpanReceiver {
        let (sender, spans) = channel(spans_max);
        self.sender.get_or_init(|| sender);
        SpanReceiver { spans, counts: self.counts.clone() }
    }

    /// How many spans were exported, and how many were dropped.
    pub fn counts(&self) -> (u64, u64) {
        (self.counts.exported.load(Relaxed), self.counts.dropped.load(Relaxed))
    }

    /// Whether an exporter wants spans.
    pub(crate) fn is_open(&self) -> bool {
        self.sender.get().is_some()
    }

    /// Takes a span, unless the queue is full.
    pub(crate) fn put(&self, span: Span) {
        let Some(sender) = self.sender.get() else { return };
        if sender.try_send(span).is_err() {
            self.counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// A number for a span that no other span of the trace has, most likely.
    pub(crate) fn next_id(&self) -> u64 {
        // SplitMix64 over a counter that begins at the time of the first span.
        let seed = || nanos_of(SystemTime::now());
        static SEED: OnceLock<u64> = OnceLock::new();
        let step = self.made.fetch_add(1, Relaxed).wrapping_add(1);
        let mut z = SEED.get_or_init(seed).wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).max(1)
    }
}

/// Nanoseconds since 1970.
pub(crate) fn nanos_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The end of the queue that an exporter reads.
#[derive(Debug)]
pub struct SpanReceiver {
    spans: Receiver<Span>,
    counts: Arc<Counts>,
}

impl SpanReceiver {
    /// Waits for a span and adds it to the batch, with those of the time after it, until the batch
    /// has `spans_max`. A caller that stops waiting loses nothing.
    pub async fn fill(&mut self, batch: &mut Vec<Span>, spans_max: usize, delay: Duration) {
        let Some(first) = self.spans.recv().await else {
            return std::future::pending().await;
        };
        batch.push(first);
        let more = async {
            while batch.len() < spans_max {
                let Some(span) = self.spans.recv().await else { return };
                batch.push(span);
            }
        };
        // Late or full: the batch is there.
        tokio::time::timeout(delay, more).await.ok();
    }

    /// Adds the spans that are there now, until the batch has `spans_max`.
    pub fn fill_now(&mut self, batch: &mut Vec<Span>, spans_max: usize) {
        while batch.len() < spans_max {
            let Ok(span) = self.spans.try_recv() else { return };
            batch.push(span);
        }
    }

    /// Counts spans that were exported, or that could not be.
    pub fn count(&self, spans: usize, is_exported: bool) {
        let counter = if is_exported { &self.counts.exported } else { &self.counts.dropped };
        counter.fetch_add(spans as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(span_id: u64) -> Span {
        let subject = SpanSubject::Transaction { has_written: false, is_committed: true };
        let (user, database) = (String::new(), String::new());
        let (trace_id, parent_id, start_nanos, end_nanos) = (1, 2, 3, 4);
        let (pid, sqlstate) = (1, None);
        Span {
            trace_id,
            span_id,
            parent_id,
            start_nanos,
            end_nanos,
            user,
            database,
            pid,
            sqlstate,
            subject,
        }
    }

    #[tokio::test]
    async fn a_full_queue_drops_and_counts() {
        let queue = SpanQueue::default();
        queue.put(span(1));
        assert!(!queue.is_open() && queue.counts() == (0, 0));
        let mut receiver = queue.open(2);
        (1..=5).for_each(|number| queue.put(span(number)));
        assert_eq!(queue.counts(), (0, 3));
        let mut batch = Vec::new();
        receiver.fill(&mut batch, 8, Duration::from_millis(1)).await;
        receiver.fill_now(&mut batch, 8);
        let numbers: Vec<u64> = batch.iter().map(|span| span.span_id).collect();
        assert_eq!(numbers, [1, 2]);
        receiver.count(2, true);
        assert_eq!(queue.counts(), (2, 3));
    }

    #[test]
    fn numbers_of_spans_differ() {
        let queue = SpanQueue::default();
        let mut all: Vec<u64> = (0..1000).map(|_| queue.next_id()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
    }
}
