//! Batches of scanned entries in one flat buffer: one allocation for thousands of rows.
//!
//! Buffer and directory are shared: a store that keeps batches hands out parts of them without
//! copying an entry.

use crate::Span;
use bytes::Bytes;
use std::{ops::Range, sync::Arc};

/// Where one entry is in the buffer: key, then value.
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
    slots: Arc<Vec<Slot>>,
    /// The slots that belong to this batch.
    range: Range<usize>,
    /// What is left to scan; `None` at the end.
    pub resume: Option<Span>,
}

impl ScanBatch {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there is no entry. The scan may go on all the same: see [`ScanBatch::resume`].
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    fn slots(&self) -> &[Slot] {
        &self.slots[self.range.clone()]
    }

    /// How many bytes keys and values take.
    pub fn bytes(&self) -> usize {
        // Entries lie side by side, in one order or the other.
        let ends = |(a, b): (&Slot, &Slot)| a.end.max(b.end) - a.key.min(b.key);
        self.slots().first().zip(self.slots().last()).map_or(0, ends) as usize
    }

    /// How much memory the buffer and its directory take, those of other parts included.
    pub fn memory_bytes(&self) -> usize {
        self.data.len() + self.slots.capacity() * size_of::<Slot>() + size_of::<ScanBatch>()
    }

    /// The key of entry `i`.
    pub fn key(&self, i: usize) -> &[u8] {
        let slot = self.slots()[i];
        &self.data[slot.key as usize..slot.value as usize]
    }

    /// The value of entry `i`. If only keys were asked for, it may be empty.
    pub fn value(&self, i: usize) -> &[u8] {
        let slot = self.slots()[i];
        &self.data[slot.value as usize..slot.end as usize]
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone + '_ {
        let data = &self.data[..];
        self.slots().iter().map(move |slot| {
            let (key, value) = (slot.key as usize, slot.value as usize);
            (&data[key..value], &data[value..slot.end as usize])
        })
    }

    /// Where the first entry at or after `key` is, in a batch in key order.
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        self.lower_bound_in(0..self.len(), key)
    }

    /// The same where it is known to lie in a range: those before are less, and the end is not.
    pub fn lower_bound_in(&self, range: Range<usize>, key: &[u8]) -> usize {
        let is_before = |slot: &Slot| &self.data[slot.key as usize..slot.value as usize] < key;
        range.start + self.slots()[range].partition_point(is_before)
    }

    /// The same for a key that is not before entry `from`; quick if it is near.
    pub fn lower_bound_from(&self, from: usize, key: &[u8]) -> usize {
        let is_before = |i: usize| i < self.len() && self.key(i) < key;
        let (mut low, mut step) = (from, 1);
        while is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        self.lower_bound_in(low..(low + step - 1).min(self.len()), key)
    }

    /// The entries of a range, sharing the buffer; nothing is left to scan after them.
    pub fn part(&self, range: Range<usize>) -> ScanBatch {
        let at = self.range.start;
        let range = at + range.start..(at + range.end).min(self.range.end);
        ScanBatch { data: self.data.clone(), slots: self.slots.clone(), range, resume: None }
    }

    /// The same entries from the last to the first, sharing the buffer.
    pub fn reversed(&self) -> ScanBatch {
        let slots: Vec<Slot> = self.slots().iter().rev().copied().collect();
        let range = 0..slots.len();
        ScanBatch { data: self.data.clone(), slots: Arc::new(slots), range, resume: None }
    }

    /// Keeps the first `rows` entries and returns the others. `resume` stays with the others.
    pub fn split_off(&mut self, rows: usize) -> ScanBatch {
        let mut others = self.part(rows.min(self.len())..self.len());
        others.resume = self.resume.take();
        self.range.end = others.range.start;
        others
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

    /// Gives back the room that is not needed, for a batch that is to be kept.
    pub fn shrink(&mut self) {
        self.data.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    /// The finished batch.
    pub fn finish(self, resume: Option<Span>) -> ScanBatch {
        let (data, range) = (Bytes::from(self.data), 0..self.slots.len());
        ScanBatch { data, slots: Arc::new(self.slots), range, resume }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_from_a_place_is_the_bound_of_all() {
        for len in 0..20_u8 {
            let mut out = BatchBuilder::default();
            (0..len).for_each(|key| out.push(&[key * 2], &[]));
            let batch = out.finish(None);
            for key in 0..=len * 2 + 1 {
                let bound = batch.lower_bound(&[key]);
                for from in 0..=bound {
                    assert_eq!(batch.lower_bound_from(from, &[key]), bound);
                }
            }
        }
    }
}
