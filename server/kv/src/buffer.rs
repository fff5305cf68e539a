//! The write buffer of a transaction.
//!
//! Each key has its history inside the transaction, so that a statement sees the writes of lower
//! numbers only, and so that ROLLBACK TO can take writes back:
//!
//! ```text
//!   key a:  put@2   delete@6
//!   key b:          put@4
//!   span:   [a, c)@8              read at 10 sees nothing, read at 8 sees b, read at 2 the store
//! ```
//!
//! Must-not-exist duties lie beside the histories: INSERT x, then DELETE x, still fails if x was
//! there before. The buffer knows nothing of the store.

use crate::{Error, NewKey, Result, Seq, Span, SpanSet, Value, Write};
use std::{collections::BTreeMap, ops::Bound, sync::Arc};

/// What bookkeeping costs for one write, roughly.
const ENTRY_BYTES: usize = 112;

/// One write of one statement. `order` tells writes of one statement apart.
#[derive(Clone, Debug)]
struct Op {
    seq: u32,
    order: u64,
    value: Option<Value>,
}

/// A range delete.
#[derive(Clone, Debug)]
struct SpanOp {
    seq: u32,
    order: u64,
    span: Span,
    /// What the store has there stays: nobody reads it after the commit.
    left: bool,
}

/// What the buffer says about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Buffered {
    /// The transaction has not touched it.
    Untouched,
    /// The transaction has put this value.
    Put(Value),
    /// The transaction has deleted it.
    Deleted,
}

/// The buffer's part of a key range.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// The latest visible write of each key, in key order.
    pub ops: Vec<Write>,
    /// Visible range deletes: they hide what the store has.
    pub deleted: SpanSet,
}

impl Overlay {
    pub(crate) fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.deleted.is_empty()
    }
}

/// A position to which the buffer can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavepointId {
    pub(crate) seq: u32,
    pub(crate) log_len: usize,
}

/// All writes of a transaction.
#[derive(Default)]
pub(crate) struct WriteBuffer {
    keys: BTreeMap<Arc<[u8]>, Vec<Op>>,
    spans: Vec<SpanOp>,
    new_keys: Vec<NewKey>,
    /// Every write in the order of its arrival, for taking back.
    log: Vec<(u32, Arc<[u8]>)>,
    next_order: u64,
    bytes: usize,
}

impl WriteBuffer {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn log_len(&self) -> usize {
        self.log.len()
    }

    /// Whether a commit has something to write or to check.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.spans.is_empty() && self.new_keys.is_empty()
    }

    fn order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Adds a put or a delete.
    pub(crate) fn write(&mut self, seq: Seq, key: &[u8], value: Option<Value>) -> Arc<[u8]> {
        let op = Op { seq: seq.before().0, order: self.order(), value };
        let value_bytes = op.value.as_ref().map_or(0, Value::len);
        // Most keys are written once: the key is made before it is looked for.
        let entry = self.keys.entry(Arc::from(key));
        let shared = entry.key().clone();
        let history = entry.or_default();
        self.bytes += value_bytes + ENTRY_BYTES;
        match history.last_mut() {
            // A savepoint starts a new statement number, so this cannot be needed any more.
            Some(last) if last.seq == op.seq => {
                let old = last.value.as_ref().map_or(0, Value::len) + ENTRY_BYTES;
                self.bytes = self.bytes.saturating_sub(old);
                *last = op;
            }
            _ => {
                self.bytes += if history.is_empty() { key.len() } else { 0 };
                self.log.push((op.seq, shared.clone()));
                // Most keys are written once: room for more is made for those that are not.
                if history.is_empty() {
                    history.reserve_exact(1);
                }
                history.push(op);
            }
        }
        shared
    }

    /// Adds a put of a key that must not exist. An own visible put is a duplicate at once; after
    /// an own delete it is a plain put, since what was there before is known and gone.
    pub(crate) fn write_new(&mut self, seq: Seq, key: &[u8], value: Value) -> Result<bool> {
        match self.get(seq.after(), key) {
            Buffered::Put(_) => Err(Error::Duplicate { key: key.to_vec(), seq }),
            Buffered::Deleted => {
                self.write(seq, key, Some(value));
                Ok(false)
            }
            Buffered::Untouched => {
                let key = self.write(seq, key, Some(value));
                self.new_keys.push(NewKey { key, seq: seq.before() });
                self.bytes += 24;
                Ok(true)
            }
        }
    }

    /// Adds a range delete. With `left` it counts inside the transaction only.
    pub(crate) fn write_span(&mut self, seq: Seq, span: Span, left: bool) {
        if span.is_empty() {
            return;
        }
        self.bytes += span.start.len() + span.end.len() + ENTRY_BYTES;
        let order = self.order();
        self.spans.push(SpanOp { seq: seq.before().0, order, span, left });
    }

    /// What the transaction itself says about `key`, seen from `seq`.
    pub(crate) fn get(&self, seq: Seq, key: &[u8]) -> Buffered {
        if self.keys.is_empty() && self.spans.is_empty() {
            return Buffered::Untouched;
        }
        let op = self.keys.get(key).and_then(|history| visible(history, seq));
        let hidden = self.hidden_at(seq, key);
        match op {
            Some(op) if hidden.is_none_or(|at| (op.seq, op.order) > at) => match &op.value {
                Some(value) => Buffered::Put(value.clone()),
                None => Buffered::Deleted,
            },
            _ if hidden.is_some() => Buffered::Deleted,
            _ => Buffered::Untouched,
        }
    }

    /// The latest visible range delete over `key`.
    fn hidden_at(&self, seq: Seq, key: &[u8]) -> Option<(u32, u64)> {
        self.spans
            .iter()
            .filter(|op| op.seq < seq.0 && op.span.contains(key))
            .map(|op| (op.seq, op.order))
            .max()
    }

    /// Whether anything visible from `seq` lies inside `span`.
    pub(crate) fn touches(&self, seq: Seq, span: &Span) -> bool {
        if span.is_empty() {
            return false;
        }
        self.spans.iter().any(|op| op.seq < seq.0 && op.span.overlaps(span))
            || self.range(span).any(|(_, history)| visible(history, seq).is_some())
    }

    fn range(&self, span: &Span) -> impl DoubleEndedIterator<Item = (&Arc<[u8]>, &Vec<Op>)> {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&span.start), Bound::Excluded(&span.end));
        self.keys.range::<[u8], _>(bounds)
    }

    /// The writes inside `span` that are visible from `seq`.
    pub(crate) fn overlay(&self, seq: Seq, span: &Span) -> Overlay {
        let mut overlay = Overlay::default();
        if span.is_empty() || (self.keys.is_empty() && self.spans.is_empty()) {
            return overlay;
        }
        overlay.deleted = self
            .spans
            .iter()
            .filter(|op| op.seq < seq.0 && op.span.overlaps(span))
            .map(|op| op.span.clone())
            .collect();
        for (key, history) in self.range(span) {
            let Some(op) = visible(history, seq) else { continue };
            let hidden = !overlay.deleted.is_empty()
                && self.hidden_at(seq, key).is_some_and(|at| at > (op.seq, op.order));
            if !hidden {
                overlay.ops.push((key.clone(), op.value.clone()));
            }
        }
        overlay
    }

    /// Takes back every write of statements after the savepoint.
    pub(crate) fn rollback_to(&mut self, savepoint: SavepointId) {
        self.take_back(savepoint.log_len, |seq| seq > savepoint.seq);
    }

    /// Takes back the writes of one statement.
    pub(crate) fn forget_statement(&mut self, seq: Seq) {
        let number = seq.before().0;
        self.take_back(0, |s| s == number);
    }

    fn take_back(&mut self, from: usize, gone: impl Fn(u32) -> bool) {
        let tail = self.log.split_off(from.min(self.log.len()));
        for (seq, key) in tail {
            if !gone(seq) {
                self.log.push((seq, key));
                continue;
            }
            if let Some(history) = self.keys.get_mut(&key) {
                let mut freed = 0;
                history.retain(|op| {
                    let keep = op.seq != seq;
                    if !keep {
                        freed += op.value.as_ref().map_or(0, Value::len) + ENTRY_BYTES;
                    }
                    keep
                });
                if history.is_empty() {
                    self.keys.remove(&key);
                    freed += key.len();
                }
                self.bytes = self.bytes.saturating_sub(freed);
            }
        }
        self.spans.retain(|op| !gone(op.seq));
        self.new_keys.retain(|new| !gone(new.seq.0));
    }

    /// What one statement has written.
    pub(crate) fn of_statement(&self, seq: Seq) -> Vec<Span> {
        let number = seq.before().0;
        let keys = self.log.iter().filter(|(seq, _)| *seq == number);
        let spans = self.spans.iter().filter(|op| op.seq == number);
        keys.map(|(_, key)| Span::key(key.as_ref()))
            .chain(spans.map(|op| op.span.clone()))
            .collect()
    }

    /// Keys that must not exist, of every statement.
    pub(crate) fn new_keys(&self) -> &[NewKey] {
        &self.new_keys
    }

    /// Empties the buffer into what a commit writes.
    pub(crate) fn drain(&mut self) -> (Vec<NewKey>, SpanSet, Vec<Write>) {
        let everything = Seq(u32::MAX);
        self.log = Vec::new();
        let mut writes = Vec::with_capacity(self.keys.len());
        let keys = std::mem::take(&mut self.keys);
        for (key, mut history) in keys {
            let Some(op) = history.pop() else { continue };
            let hidden = self.hidden_at(everything, &key);
            if hidden.is_none_or(|at| (op.seq, op.order) > at) {
                writes.push((key, op.value));
            }
        }
        let spans = self.spans.drain(..).filter(|op| !op.left).map(|op| op.span).collect();
        self.bytes = 0;
        // The first statement that has met an existing key is the one to be told.
        let mut new_keys = std::mem::take(&mut self.new_keys);
        new_keys.sort_by_key(|new| new.seq);
        (new_keys, spans, writes)
    }
}

/// The latest write that a read at `seq` sees. Statements that run side by side may append out
/// of order, but never to the same key.
fn visible(history: &[Op], seq: Seq) -> Option<&Op> {
    history.iter().rev().find(|op| op.seq < seq.0)
}
