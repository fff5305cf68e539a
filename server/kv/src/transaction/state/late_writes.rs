//! Writes of one statement that enter the write buffer together, in key order.

use crate::{Seq, Value};
use std::sync::Arc;

/// As many writes are collected; more would not make sorting cheaper for each.
const LATE_MAX: usize = 65_536;
/// Bytes of a key that are compared as a number.
const HEAD_BYTES: usize = 16;

#[derive(Debug)]
struct Late {
    order: u64,
    key: Arc<[u8]>,
    value: Option<Value>,
}

/// A statement, the place of a write in the order of all writes, its key and its value.
pub(crate) type SortedWrite = (u32, u64, Arc<[u8]>, Option<Value>);

/// The collected writes, in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct LateWrites {
    /// The statement of all of them.
    seq: u32,
    writes: Vec<Late>,
}

impl LateWrites {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Whether there are any, of another statement.
    pub(crate) fn is_of_other(&self, seq: u32) -> bool {
        !self.writes.is_empty() && self.seq != seq
    }

    /// Whether a read at `seq` sees any.
    pub(crate) fn is_seen_from(&self, seq: Seq) -> bool {
        !self.writes.is_empty() && self.seq < seq.0
    }

    /// Adds a write; whether there are enough of them.
    pub(crate) fn push(&mut self, seq: u32, order: u64, key: &[u8], value: Option<Value>) -> bool {
        debug_assert!(!self.is_of_other(seq), "late writes of two statements");
        self.seq = seq;
        self.writes.push(Late { order, key: Arc::from(key), value });
        self.writes.len() >= LATE_MAX
    }

    /// All of them, sorted by key, those of one key in the order of their arrival; nothing is left.
    pub(crate) fn take_sorted(&mut self) -> impl Iterator<Item = SortedWrite> + use<> {
        let (seq, mut writes) = (self.seq, std::mem::take(&mut self.writes));
        let mut places: Vec<(u128, usize)> =
            writes.iter().enumerate().map(|(at, late)| (head_of(&late.key), at)).collect();
        places.sort_unstable_by(|(a, at), (b, bt)| {
            a.cmp(b).then_with(|| writes[*at].key.cmp(&writes[*bt].key)).then(at.cmp(bt))
        });
        places.into_iter().map(move |(_, at)| {
            let late = &mut writes[at];
            (seq, late.order, late.key.clone(), late.value.take())
        })
    }
}

/// The first bytes of a key as a number that sorts as they do.
fn head_of(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(head) => u128::from_be_bytes(*head),
        None => {
            let mut head = [0; HEAD_BYTES];
            head[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(head)
        }
    }
}
