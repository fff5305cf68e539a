//! Scans of a transaction: the store's entries with the transaction's own writes laid over them.
//!
//! ```text
//!   store    a1 b1    d1        own writes   b2 c2    delete d
//!   scanner  a1 b2 c2           read set     [start, last key the store has shown]
//! ```
//!
//! What is remembered is what the store has shown, before own writes are laid over it, and no
//! more than that: a scan that its reader leaves early ends at the last batch it took. Batches
//! without own writes pass through untouched.

use crate::{
    BatchBuilder, Cursor, KeyShape, LocalKeyspace, Matching, Record, Result, ScanBatch, Seq,
    Snapshot, Span, Transaction, key_after, session::LocalScan, transaction::state::Overlay,
};
use std::sync::Arc;

/// What to scan.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The key range.
    pub span: Span,
    /// From its end to its start.
    pub reverse: bool,
    /// The most entries of one batch; 0 leaves the choice to the scan. Say 1 for LIMIT 1, so
    /// that no more is read (and remembered) than is needed.
    pub limit_rows: usize,
    /// Without `limit_rows`, the most entries of the first batch; the following ones grow. 0 leaves
    /// the choice to the scan.
    pub first_rows: usize,
    /// A batch ends once it has this many bytes; 0 leaves the choice to the scan.
    pub limit_bytes: usize,
    /// Values are not needed.
    pub keys_only: bool,
    /// Whether the read is remembered.
    pub record: Record,
    /// The kind of keys wanted, where others lie between them. They are read all the same as far
    /// as the read set is concerned.
    pub shape: Option<Arc<dyn KeyShape>>,
    /// A forward scan with [`Record::Always`] and values that is about these entries only.
    pub matching: Option<Matching>,
}

impl ScanRequest {
    /// A forward scan with values and the usual batches.
    pub fn new(span: Span) -> ScanRequest {
        ScanRequest {
            span,
            reverse: false,
            limit_rows: 0,
            first_rows: 0,
            limit_bytes: 0,
            keys_only: false,
            record: Record::Default,
            shape: None,
            matching: None,
        }
    }

    /// The same scan from end to start.
    pub fn reverse(mut self, reverse: bool) -> ScanRequest {
        self.reverse = reverse;
        self
    }

    /// The same scan with at most `rows` entries a batch.
    pub fn limit_rows(mut self, rows: usize) -> ScanRequest {
        self.limit_rows = rows;
        self
    }

    /// The same scan, whose first batch has at most `rows` entries.
    pub fn first_rows(mut self, rows: usize) -> ScanRequest {
        self.first_rows = rows;
        self
    }

    /// The same scan without values.
    pub fn keys_only(mut self) -> ScanRequest {
        self.keys_only = true;
        self
    }

    /// The same scan of keys of one kind. One that has all of the span costs nothing.
    pub fn shape(mut self, shape: Option<&Arc<dyn KeyShape>>) -> ScanRequest {
        self.shape = shape.filter(|shape| !shape.has_all_of(&self.span)).cloned();
        self
    }

    /// The same scan, of which only entries of this kind matter.
    pub fn matching(mut self, matching: Option<Matching>) -> ScanRequest {
        self.matching = matching;
        self
    }

    /// The same scan, remembered in this way.
    pub fn record(mut self, record: Record) -> ScanRequest {
        self.record = record;
        self
    }
}

/// The first batch of a scan without a limit is small, the following ones grow up to this.
const ROWS_FIRST: usize = 256;
const ROWS_MAX: usize = 4096;
const BYTES_MAX: usize = 512 << 10;

impl Transaction {
    /// Opens a scan. Nothing is read before the first batch.
    pub fn scanner(self: &Arc<Self>, seq: Seq, request: ScanRequest) -> Scanner {
        Scanner::new(self.clone(), seq, request)
    }
}

/// An open scan. It goes on at the snapshot it began with, even after a refresh.
pub struct Scanner {
    txn: Arc<Transaction>,
    seq: Seq,
    request: ScanRequest,
    open: Option<(Arc<dyn Snapshot>, Box<dyn Cursor>)>,
    rows: usize,
    /// What is left of the request's first rows.
    first_left: usize,
    left: Option<ScanBatch>,
    done: bool,
}

impl Scanner {
    fn new(txn: Arc<Transaction>, seq: Seq, request: ScanRequest) -> Scanner {
        let done = request.span.is_empty();
        let rows = match (request.limit_rows, request.first_rows) {
            (0, 0) => ROWS_FIRST,
            (0, first) => first.min(ROWS_MAX),
            (limit, _) => limit,
        };
        let first_left = request.first_rows.min(ROWS_MAX);
        Scanner { txn, seq, request, open: None, rows, first_left, left: None, done }
    }

    /// The next entries; `None` at the end. A batch may be empty although more follows.
    pub async fn next_batch(&mut self) -> Result<Option<ScanBatch>> {
        if let Some(left) = self.left.take() {
            return Ok(Some(self.cut(left)));
        }
        if self.done {
            return Ok(None);
        }
        let bytes =
            if self.request.limit_bytes == 0 { BYTES_MAX } else { self.request.limit_bytes };
        let txn = self.txn.clone();
        if let Some(local) = txn.core.local_over(&self.request.span) {
            return Ok(Some(self.next_local(local, bytes)));
        }
        let (snapshot, mut cursor) = match self.open.take() {
            Some(open) => open,
            None => {
                let snapshot = txn.snapshots().snapshot_for(self.seq).await?;
                let request = &self.request;
                let (span, reverse) = (request.span.clone(), request.reverse);
                let cursor = match &request.shape {
                    None => snapshot.scan(span, reverse, request.keys_only),
                    Some(shape) => {
                        snapshot.scan_shaped(span, reverse, request.keys_only, shape.clone())
                    }
                };
                (snapshot, cursor)
            }
        };
        let batch = txn.core.round_trip(cursor.next_batch(self.rows, bytes)).await?;
        self.grow(batch.len());
        let examined = self.examined(&batch);
        match (&self.request.matching, self.request.record) {
            (Some(matching), Record::Always { tag }) => {
                let shown = (matching, &batch);
                txn.core.record_matching(self.seq, &snapshot, examined.clone(), tag, shown)?;
            }
            (_, record) => txn.core.record(self.seq, &snapshot, || examined.clone(), record)?,
        }
        if batch.resume.is_some() {
            self.open = Some((snapshot, cursor));
        }
        Ok(Some(self.lay_own_over(batch, &examined)))
    }

    /// The first entries only. For more than one batch, [`Scanner::next_batch`] is cheaper than
    /// another scan of what its `resume` names.
    pub async fn first_batch(mut self) -> Result<ScanBatch> {
        Ok(self.next_batch().await?.unwrap_or_default())
    }

    /// The next entries of the session's own keys.
    fn next_local(&mut self, local: &LocalKeyspace, bytes: usize) -> ScanBatch {
        let request = &self.request;
        let batch = local.scan(&LocalScan {
            span: &request.span,
            reverse: request.reverse,
            keys_only: request.keys_only,
            shape: request.shape.as_ref(),
            rows: self.rows,
            bytes,
        });
        self.grow(batch.len());
        let examined = self.examined(&batch);
        self.lay_own_over(batch, &examined)
    }

    /// The batches of a scan without a limit grow. But a store may give fewer rows than it was
    /// asked for: what is left of the first rows is asked for before more.
    fn grow(&mut self, given: usize) {
        let missing = self.first_left.saturating_sub(given);
        self.first_left = missing;
        if self.request.limit_rows == 0 {
            self.rows = if missing > 0 { missing } else { (self.rows * 4).min(ROWS_MAX) };
        }
    }

    /// Own writes over what a batch has shown; the scan goes on after it.
    fn lay_own_over(&mut self, batch: ScanBatch, examined: &Span) -> ScanBatch {
        let mut overlay = self.txn.reads().overlay(self.seq, examined);
        if let Some(shape) = &self.request.shape {
            overlay.ops.retain(|(key, _)| shape.gap(key).is_none());
        }
        match &batch.resume {
            Some(rest) => self.request.span = rest.clone(),
            None => self.done = true,
        }
        if overlay.is_empty() {
            return batch;
        }
        let merged = merge(&batch, &overlay, self.request.reverse, self.request.keys_only);
        self.cut(merged)
    }

    /// The part of the span that the store has looked at for this batch.
    fn examined(&self, batch: &ScanBatch) -> Span {
        let span = &self.request.span;
        match &batch.resume {
            None => span.clone(),
            Some(rest) if self.request.reverse => Span::new(rest.end.clone(), span.end.clone()),
            Some(rest) => Span::new(span.start.clone(), rest.start.clone()),
        }
    }

    /// Own writes can make a batch longer than the limit: what is too much waits.
    fn cut(&mut self, mut batch: ScanBatch) -> ScanBatch {
        let rest = (!self.done).then(|| self.request.span.clone());
        batch.resume = rest.clone();
        let limit = self.request.limit_rows;
        if limit == 0 || batch.len() <= limit {
            return batch;
        }
        let left = batch.split_off(limit);
        let next = left.key(0);
        let end = match rest {
            Some(rest) if self.request.reverse => rest.start,
            Some(rest) => rest.end,
            None if self.request.reverse => self.request.span.start.clone(),
            None => self.request.span.end.clone(),
        };
        batch.resume = Some(if self.request.reverse {
            Span::new(end, key_after(next))
        } else {
            Span::new(next, end)
        });
        self.left = Some(left);
        batch
    }
}

/// Lays own writes over what the store has shown.
fn merge(batch: &ScanBatch, overlay: &Overlay, reverse: bool, keys_only: bool) -> ScanBatch {
    let rows = batch.len() + overlay.ops.len();
    let mut out = BatchBuilder::with_capacity(rows, batch.bytes() + 64 * overlay.ops.len());
    let own = |i: usize| &overlay.ops[if reverse { overlay.ops.len() - 1 - i } else { i }];
    let push_own = |out: &mut BatchBuilder, i: usize| {
        let (key, value) = own(i);
        if let Some(value) = value {
            out.push(key, if keys_only { &[] } else { value });
        }
    };
    let mut next = 0;
    for (key, value) in batch.iter() {
        let mut replaced = false;
        while next < overlay.ops.len() {
            let order = own(next).0.as_ref().cmp(key);
            let order = if reverse { order.reverse() } else { order };
            if order.is_gt() {
                break;
            }
            replaced |= order.is_eq();
            push_own(&mut out, next);
            next += 1;
        }
        if !replaced && !overlay.deleted.contains(key) {
            out.push(key, value);
        }
    }
    for i in next..overlay.ops.len() {
        push_own(&mut out, i);
    }
    out.finish(batch.resume.clone())
}
