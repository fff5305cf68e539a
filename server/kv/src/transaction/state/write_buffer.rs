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
//!
//! A large statement goes through its rows in order, and so through the entries of their indexes
//! without any order. Searching the place of each key would take most of the time. So writes far
//! from the last ones are collected ([`LateWrites`]), and enter the map together, sorted. Nobody
//! sees the difference: they do so before anything is read that may see them.

use super::{arrivals::Arrivals, late_writes::LateWrites};
use crate::{Error, Inserted, KeyMap, NewKey, Result, Seq, Span, SpanMap, SpanSet, Value, Write};
use std::sync::Arc;

/// What bookkeeping costs for one write, roughly.
const ENTRY_BYTES: usize = 112;

/// Keys in the buffer from which on writes may be collected.
const LATE_FROM: usize = 4_096;

/// One write of one statement. `order` distinguishes writes of one statement.
#[derive(Clone, Debug)]
struct Op {
    seq: u32,
    order: u64,
    value: Option<Value>,
}

/// The writes of a key, of which nearly every key has one.
#[derive(Debug)]
struct History {
    newest: Op,
    /// Those before it, in the order of arrival.
    older: Vec<Op>,
}

impl History {
    /// From the newest to the oldest.
    fn iter(&self) -> impl Iterator<Item = &Op> {
        std::iter::once(&self.newest).chain(self.older.iter().rev())
    }

    /// The latest write that a read at `seq` sees. Statements that run side by side may append out
    /// of order, but never to the same key.
    fn visible(&self, seq: Seq) -> Option<&Op> {
        self.iter().find(|op| op.seq < seq.0)
    }

    /// The history without the writes of a statement, and what these took; `None` if nothing is
    /// left.
    fn without(mut self, seq: u32) -> (Option<History>, usize) {
        let mut freed = 0;
        let mut stays = |op: &Op| {
            if op.seq == seq {
                freed += op.bytes();
            }
            op.seq != seq
        };
        self.older.retain(&mut stays);
        let newest = if stays(&self.newest) { Some(self.newest) } else { self.older.pop() };
        (newest.map(|newest| History { newest, older: self.older }), freed)
    }
}

impl Op {
    fn bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Value::len) + ENTRY_BYTES
    }
}

/// A range delete.
#[derive(Debug)]
struct SpanOp {
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
pub(crate) struct BufferMark {
    pub(crate) seq: u32,
    /// Places in the order of writes, of range deletes and of must-not-exist duties.
    writes: u64,
    spans: u64,
    duties: u64,
}

/// The first entries that something is taken back from.
struct Tails {
    writes: usize,
    spans: usize,
    duties: usize,
}

/// All writes of a transaction.
pub(crate) struct WriteBuffer {
    keys: KeyMap<History>,
    /// Writes of one statement that are not in `keys` yet. No later statement has written.
    late: LateWrites,
    late_from: usize,
    /// The highest statement that has written.
    newest: u32,
    /// A statement that puts keys which must not exist: its writes are not collected.
    unlate: Option<u32>,
    /// Range deletes: the numbers and orders of all those over a key, in the order of arrival.
    hidden: SpanMap<Vec<(u32, u64)>>,
    spans: Arrivals<SpanOp>,
    new_keys: Arrivals<NewKey>,
    /// How many must-not-exist duties, from the front, were looked at by a barrier.
    checked: usize,
    /// Every write in the order of its arrival, for taking back.
    log: Arrivals<Arc<[u8]>>,
    next_order: u64,
    bytes: usize,
}

impl Default for WriteBuffer {
    fn default() -> WriteBuffer {
        WriteBuffer {
            keys: KeyMap::default(),
            late: LateWrites::default(),
            late_from: LATE_FROM,
            newest: 0,
            unlate: None,
            hidden: SpanMap::new(),
            spans: Arrivals::default(),
            new_keys: Arrivals::default(),
            checked: 0,
            log: Arrivals::default(),
            next_order: 0,
            bytes: 0,
        }
    }
}

impl WriteBuffer {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the buffer is now; writes of statements after `seq` come after it.
    pub(crate) fn savepoint(&mut self, seq: u32) -> BufferMark {
        self.settle();
        let (writes, spans) = (self.log.place(), self.spans.place());
        BufferMark { seq, writes, spans, duties: self.new_keys.place() }
    }

    /// Whether a commit has something to write or to check.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
            && self.late.is_empty()
            && self.spans.is_empty()
            && self.new_keys.is_empty()
    }

    fn order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Adds a put or a delete.
    ///
    /// [`Error::WrittenInside`] if a statement with a higher number has written the key:
    /// that statement ran inside of this one, and its write must not get lost.
    pub(crate) fn write(&mut self, seq: Seq, key: &[u8], value: Option<Value>) -> Result<()> {
        let number = seq.before().0;
        if self.late.is_of_other(number) {
            self.settle();
        }
        // A statement that another one has run inside of is not collected: its writes can fail.
        let is_far = || self.keys.len() >= self.late_from && !self.keys.is_near(key);
        let is_late = number >= self.newest
            && self.unlate != Some(number)
            && (self.late_from == 0 || is_far());
        if !is_late {
            return self.write_now(seq, key, value).map(drop);
        }
        self.newest = number;
        let order = self.order();
        self.bytes += key.len() + value.as_ref().map_or(0, Value::len) + ENTRY_BYTES;
        if self.late.push(number, order, key, value) {
            self.settle();
        }
        Ok(())
    }

    /// Enters what was collected into the map.
    fn settle(&mut self) {
        for (seq, order, key, value) in self.late.take_sorted() {
            let op = Op { seq, order, value };
            let history = History { newest: op, older: Vec::new() };
            match self.keys.insert(&key, || key.clone(), history) {
                Inserted::New(_) => {}
                Inserted::Known(_, known, History { newest: op, .. }) => {
                    let mut freed = key.len();
                    let is_again = known.newest.seq == op.seq;
                    if is_again && known.newest.order > op.order {
                        freed += op.bytes();
                    } else {
                        let before = std::mem::replace(&mut known.newest, op);
                        if is_again {
                            freed += before.bytes();
                        } else {
                            known.older.push(before);
                        }
                    }
                    self.bytes = self.bytes.saturating_sub(freed);
                    if is_again {
                        continue;
                    }
                }
            }
            self.log.push(Seq(seq), key);
        }
    }

    /// The same if a read at `seq` may see any of it.
    fn settle_for(&mut self, seq: Seq) {
        if self.late.is_seen_from(seq) {
            self.settle();
        }
    }

    fn write_now(&mut self, seq: Seq, key: &[u8], value: Option<Value>) -> Result<Arc<[u8]>> {
        let op = Op { seq: seq.before().0, order: self.order(), value };
        self.newest = self.newest.max(op.seq);
        let bytes = op.bytes();
        let history = History { newest: op, older: Vec::new() };
        let shared = match self.keys.insert(key, || Arc::from(key), history) {
            Inserted::New(shared) => {
                self.bytes += key.len();
                shared.clone()
            }
            Inserted::Known(shared, history, History { newest: op, .. }) => {
                if history.newest.seq > op.seq {
                    return Err(Error::WrittenInside { key: key.to_vec() });
                }
                let before = std::mem::replace(&mut history.newest, op);
                if before.seq == history.newest.seq {
                    // A savepoint starts a new statement number, so this cannot be needed any more.
                    self.bytes = self.bytes.saturating_sub(before.bytes()) + bytes;
                    return Ok(shared.clone());
                }
                history.older.push(before);
                shared.clone()
            }
        };
        self.bytes += bytes;
        self.log.push(seq, shared.clone());
        Ok(shared)
    }

    /// Adds a put of a key that must not exist. An own visible put is a duplicate at once; after
    /// an own delete it is a plain put, since what was there before is known and gone.
    pub(crate) fn write_new(&mut self, seq: Seq, key: &[u8], value: Value) -> Result<bool> {
        self.settle();
        self.unlate = Some(seq.before().0);
        self.newest = self.newest.max(seq.before().0);
        // Nearly always the transaction has not touched the key: one look finds that out.
        let op = Op { seq: seq.before().0, order: self.order(), value: Some(value) };
        let bytes = op.bytes();
        let history = History { newest: op, older: Vec::new() };
        let value = match self.keys.insert(key, || Arc::from(key), history) {
            Inserted::New(shared) => {
                let shared = shared.clone();
                self.bytes += key.len() + bytes;
                self.log.push(seq, shared.clone());
                if self.hidden_at(seq.after(), key).is_some() {
                    return Ok(false);
                }
                self.new_keys.push(seq, NewKey { key: shared, seq: seq.before() });
                self.bytes += 24;
                return Ok(true);
            }
            Inserted::Known(_, _, history) => history.newest.value,
        };
        match self.get(seq.after(), key) {
            Buffered::Put(_) => Err(self
                .overtaken(seq, key)
                .unwrap_or_else(|| Error::Duplicate { key: key.to_vec(), seq })),
            Buffered::Deleted => {
                self.write_now(seq, key, value)?;
                Ok(false)
            }
            Buffered::Untouched => {
                let key = self.write_now(seq, key, value)?;
                self.new_keys.push(seq, NewKey { key, seq: seq.before() });
                self.bytes += 24;
                Ok(true)
            }
        }
    }

    /// See [`WriteBuffer::write`].
    fn overtaken(&self, seq: Seq, key: &[u8]) -> Option<Error> {
        let newest = &self.keys.get(key)?.newest;
        (newest.seq > seq.before().0).then(|| Error::WrittenInside { key: key.to_vec() })
    }

    /// Adds a range delete. With `left` it counts inside the transaction only.
    pub(crate) fn write_span(&mut self, seq: Seq, span: Span, left: bool) {
        if span.is_empty() {
            return;
        }
        self.settle();
        self.newest = self.newest.max(seq.before().0);
        self.bytes += span.start.len() + span.end.len() + ENTRY_BYTES;
        let op = (seq.before().0, self.order());
        self.hidden.update(&span, |ops| {
            let mut ops = ops.cloned().unwrap_or_default();
            ops.retain(|(seq, _)| *seq != op.0);
            ops.push(op);
            Some(ops)
        });
        self.spans.push(seq, SpanOp { span, left });
    }

    /// What the transaction itself says about `key`, seen from `seq`.
    pub(crate) fn get(&mut self, seq: Seq, key: &[u8]) -> Buffered {
        self.settle_for(seq);
        if self.keys.is_empty() && self.hidden.is_empty() {
            return Buffered::Untouched;
        }
        let op = self.keys.get(key).and_then(|history| history.visible(seq));
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
        self.hidden.get(key).and_then(|ops| latest(ops, seq))
    }

    /// Whether anything visible from `seq` is inside `span`.
    pub(crate) fn touches(&mut self, seq: Seq, span: &Span) -> bool {
        if span.is_empty() {
            return false;
        }
        self.settle_for(seq);
        self.hidden.overlapping(span).any(|(_, _, ops)| latest(ops, seq).is_some())
            || self.range(span).any(|(_, history)| history.visible(seq).is_some())
    }

    fn range<'b>(&'b self, span: &'b Span) -> impl Iterator<Item = (&'b Arc<[u8]>, &'b History)> {
        self.keys.range(&span.start, Some(&span.end))
    }

    /// The writes inside `span` that are visible from `seq`.
    pub(crate) fn overlay(&mut self, seq: Seq, span: &Span) -> Overlay {
        self.settle_for(seq);
        let mut overlay = Overlay::default();
        if span.is_empty() || (self.keys.is_empty() && self.hidden.is_empty()) {
            return overlay;
        }
        overlay.deleted = self
            .hidden
            .overlapping(span)
            .filter(|(_, _, ops)| latest(ops, seq).is_some())
            .map(|(start, end, _)| Span::new(start, end))
            .collect();
        for (key, history) in self.range(span) {
            let Some(op) = history.visible(seq) else { continue };
            let hidden = !overlay.deleted.is_empty()
                && self.hidden_at(seq, key).is_some_and(|at| at > (op.seq, op.order));
            if !hidden {
                overlay.ops.push((key.clone(), op.value.clone()));
            }
        }
        overlay
    }

    /// Takes back every write of statements after the savepoint.
    pub(crate) fn rollback_to(&mut self, savepoint: BufferMark) {
        self.settle();
        let from = Tails {
            writes: self.log.index_of(savepoint.writes),
            spans: self.spans.index_of(savepoint.spans),
            duties: self.new_keys.index_of(savepoint.duties),
        };
        self.take_back(from, |seq| seq > savepoint.seq);
    }

    /// Takes back the writes of one statement.
    pub(crate) fn forget_statement(&mut self, seq: Seq) {
        self.settle();
        let number = seq.before().0;
        let (writes, spans) = (self.log.first_of(seq), self.spans.first_of(seq));
        let duties = self.new_keys.first_of(seq);
        self.take_back(Tails { writes, spans, duties }, |s| s == number);
    }

    fn take_back(&mut self, from: Tails, gone: impl Fn(u32) -> bool + Copy) {
        let mut freed = 0;
        for (seq, key) in self.log.take_back(from.writes, gone) {
            let Some((key, history)) = self.keys.remove(&key) else { continue };
            let (left, bytes) = history.without(seq);
            freed += bytes;
            match left {
                Some(history) => drop(self.keys.insert(&key, || key.clone(), history)),
                None => freed += key.len(),
            }
        }
        for (seq, op) in self.spans.take_back(from.spans, gone) {
            freed += op.span.start.len() + op.span.end.len() + ENTRY_BYTES;
            self.hidden.update(&op.span, |ops| {
                let left: Vec<_> = ops?.iter().copied().filter(|(s, _)| *s != seq).collect();
                (!left.is_empty()).then_some(left)
            });
        }
        let checked_since = self.checked.saturating_sub(from.duties);
        let kept = self.new_keys.since(from.duties).take(checked_since);
        let kept = kept.filter(|duty| !gone(duty.seq.0)).count();
        self.checked = self.checked.min(from.duties) + kept;
        self.new_keys.take_back(from.duties, gone);
        self.bytes = self.bytes.saturating_sub(freed);
    }

    /// What one statement has written.
    pub(crate) fn of_statement(&mut self, seq: Seq) -> Vec<Span> {
        self.settle();
        let keys = self.log.of_statement(seq).map(|key| Span::key(key.as_ref()));
        keys.chain(self.spans.of_statement(seq).map(|op| op.span.clone())).collect()
    }

    /// Keys that must not exist, as far as no barrier has looked at them.
    pub(crate) fn unchecked(&self) -> impl Iterator<Item = &NewKey> {
        self.new_keys.since(self.checked)
    }

    /// Adds to the number of duties that barriers have checked.
    pub(crate) fn add_checked(&mut self, more: usize) {
        self.checked = (self.checked + more).min(self.new_keys.len());
    }

    /// Empties the buffer into what a commit writes.
    pub(crate) fn drain(&mut self) -> (Vec<NewKey>, SpanSet, Vec<Write>) {
        let everything = Seq(u32::MAX);
        self.settle();
        self.log = Arrivals::default();
        let mut writes = Vec::with_capacity(self.keys.len());
        let keys = std::mem::take(&mut self.keys);
        for (key, history) in keys.into_entries() {
            let op = history.newest;
            let hidden = self.hidden_at(everything, &key);
            if hidden.is_none_or(|at| (op.seq, op.order) > at) {
                writes.push((key, op.value));
            }
        }
        let spans = self.spans.drain().filter(|op| !op.left).map(|op| op.span).collect();
        self.hidden = SpanMap::new();
        self.bytes = 0;
        // The first statement that has met an existing key is the one to be told.
        let mut new_keys: Vec<NewKey> = self.new_keys.drain().collect();
        self.checked = 0;
        new_keys.sort_by_key(|new| new.seq);
        (new_keys, spans, writes)
    }
}

/// The latest range delete that a read at `seq` sees.
fn latest(ops: &[(u32, u64)], seq: Seq) -> Option<(u32, u64)> {
    // Statements that run side by side may have added theirs out of order.
    ops.iter().copied().filter(|(number, _)| *number < seq.0).max()
}

#[cfg(test)]
mod tests;
