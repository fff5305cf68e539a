//! Batches of scanned entries in one flat buffer: one allocation for thousands of rows.

use crate::{Span, Value};
use bytes::Bytes;

/// Where one entry lies inside the buffer: key, then value.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u32,
    value: u32,
    end: u32,
}

/// Entries of a scan, in the order of the scan.
#[derive(Clone, Debug, Default)]
pub struct ScanBatch {
    data: Bytes,
    slots: Vec<Slot>,
    /// What is left to scan; `None` at the end.
    pub resume: Option<Span>,
}

impl ScanBatch {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no entry. The scan may go on all the same: see [`ScanBatch::resume`].
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many bytes keys and values take.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The key of entry `i`.
    pub fn key(&self, i: usize) -> &[u8] {
        let slot = self.slots[i];
        &self.data[slot.key as usize..slot.value as usize]
    }

    /// The value of entry `i`; empty if only keys were asked for.
    pub fn value(&self, i: usize) -> &[u8] {
        let slot = self.slots[i];
        &self.data[slot.value as usize..slot.end as usize]
    }

    /// The value of entry `i` as a handle. It keeps the whole batch in memory while it lives.
    pub fn value_handle(&self, i: usize) -> Value {
        let slot = self.slots[i];
        self.data.slice(slot.value as usize..slot.end as usize)
    }

    /// The key of entry `i` as a handle. It keeps the whole batch in memory while it lives.
    pub fn key_handle(&self, i: usize) -> Bytes {
        let slot = self.slots[i];
        self.data.slice(slot.key as usize..slot.value as usize)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + '_ {
        (0..self.len()).map(|i| (self.key(i), self.value(i)))
    }

    /// Keeps the first `rows` entries and returns the others. `resume` stays with the others.
    pub fn split_off(&mut self, rows: usize) -> ScanBatch {
        let slots = self.slots.split_off(rows.min(self.slots.len()));
        ScanBatch { data: self.data.clone(), slots, resume: self.resume.take() }
    }
}

/// Fills a [`ScanBatch`].
#[derive(Debug, Default)]
pub struct BatchBuilder {
    data: Vec<u8>,
    slots: Vec<Slot>,
}

impl BatchBuilder {
    /// A builder with room for `rows` entries of `bytes` in all.
    pub fn with_capacity(rows: usize, bytes: usize) -> BatchBuilder {
        BatchBuilder { data: Vec::with_capacity(bytes), slots: Vec::with_capacity(rows) }
    }

    /// Adds one entry.
    #[inline]
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let at = self.data.len() as u32;
        self.data.extend_from_slice(key);
        let split = self.data.len() as u32;
        self.data.extend_from_slice(value);
        self.slots.push(Slot { key: at, value: split, end: self.data.len() as u32 });
    }

    /// How many entries were added.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many bytes were added.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The finished batch.
    pub fn finish(self, resume: Option<Span>) -> ScanBatch {
        ScanBatch { data: Bytes::from(self.data), slots: self.slots, resume }
    }
}
