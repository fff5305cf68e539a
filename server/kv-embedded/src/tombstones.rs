//! Range tombstones: a range delete writes one record instead of touching every key.
//!
//! ```text
//!   keys      a   b   c   d   e
//!   stored    3   9   4   5   8        commit number of each value
//!   tombstone     [b ────── e) @ 7     hides c and d, not b, which was put later
//! ```
//!
//! A tombstone hides values inside its span whose number is lower than its own. A snapshot
//! carries the index as it was when it was published, so that it never sees a tombstone above its
//! own number, and the cleaner may drop one for later snapshots while an older one still has it.

use braid_kv::{Span, SpanMap};
use std::{collections::HashSet, sync::Arc};

/// One record: the range delete `index` of commit `number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) number: u64,
    pub(crate) index: u32,
    pub(crate) span: Span,
}

/// For any key, the highest number of the tombstones over it.
///
/// Each commit with a range delete makes another index, and views keep the older ones. So the
/// records are in layers that indexes share, as in a log-structured merge tree: a new one is a
/// layer of its own, and neighbours of like size become one. A copy takes a reference for each
/// of a few layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct TombstoneIndex {
    /// The oldest first. All numbers of a layer are higher than those of the layers before it.
    layers: Vec<Arc<Layer>>,
}

#[derive(Clone, Debug, Default)]
struct Layer {
    /// The highest number over each key.
    numbers: SpanMap<u64>,
    records: Vec<Arc<Tombstone>>,
}

impl Layer {
    fn insert(&mut self, record: Arc<Tombstone>) {
        self.numbers.set(&record.span, record.number);
        self.records.push(record);
    }
}

impl TombstoneIndex {
    pub(crate) fn new(mut records: Vec<Arc<Tombstone>>) -> TombstoneIndex {
        records.sort_by_key(|r| (r.number, r.index));
        let mut layer = Layer::default();
        records.into_iter().for_each(|record| layer.insert(record));
        let layers = if layer.records.is_empty() { Vec::new() } else { vec![Arc::new(layer)] };
        TombstoneIndex { layers }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.layers.iter().map(|layer| layer.records.len()).sum()
    }

    /// All records, the oldest first.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Arc<Tombstone>> {
        self.layers.iter().flat_map(|layer| &layer.records)
    }

    /// Adds a record that is not older than any other.
    pub(crate) fn insert(&mut self, record: Arc<Tombstone>) {
        let mut layer = Arc::new(Layer::default());
        Arc::make_mut(&mut layer).insert(record);
        while let Some(older) = self.layers.pop_if(|o| o.records.len() <= layer.records.len()) {
            let mut both = older;
            let to = Arc::make_mut(&mut both);
            layer.records.iter().for_each(|record| to.insert(record.clone()));
            layer = both;
        }
        self.layers.push(layer);
    }

    /// The index without some records.
    pub(crate) fn without(&self, gone: &[Arc<Tombstone>]) -> TombstoneIndex {
        let gone: HashSet<(u64, u32)> = gone.iter().map(|r| (r.number, r.index)).collect();
        let left = self.records().filter(|r| !gone.contains(&(r.number, r.index)));
        TombstoneIndex::new(left.cloned().collect())
    }

    /// The number below which values of `key` are hidden; 0 if there is none.
    pub(crate) fn number_over(&self, key: &[u8]) -> u64 {
        let newest = self.layers.iter().rev().find_map(|layer| layer.numbers.get(key));
        newest.copied().unwrap_or(0)
    }

    /// Whether some tombstone touches `span`.
    pub(crate) fn touches(&self, span: &Span) -> bool {
        self.layers.iter().any(|layer| layer.numbers.touches(span))
    }
}

/// The key under which a record is stored.
pub(crate) fn tombstone_key(tombstone: &Tombstone) -> Vec<u8> {
    let mut key = tombstone.number.to_be_bytes().to_vec();
    key.extend_from_slice(&tombstone.index.to_be_bytes());
    key
}

/// The value that is stored for a record.
pub(crate) fn tombstone_value(tombstone: &Tombstone) -> Vec<u8> {
    let Span { start, end } = &tombstone.span;
    let mut value = (start.len() as u32).to_be_bytes().to_vec();
    value.extend_from_slice(start);
    value.extend_from_slice(end);
    value
}

/// A record as it was stored; `None` if it is malformed.
pub(crate) fn decode_tombstone(key: &[u8], value: &[u8]) -> Option<Tombstone> {
    let (number, rest) = key.split_first_chunk::<8>()?;
    let index = <[u8; 4]>::try_from(rest).ok()?;
    Some(Tombstone {
        number: u64::from_be_bytes(*number),
        index: u32::from_be_bytes(index),
        span: decode_span(value)?,
    })
}

/// The span of a range tombstone's value.
pub(crate) fn decode_span(value: &[u8]) -> Option<Span> {
    let (length, rest) = value.split_first_chunk::<4>()?;
    let (start, end) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    Some(Span::new(start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, start: &str, end: &str) -> Arc<Tombstone> {
        Arc::new(Tombstone { number, index: 0, span: Span::new(start, end) })
    }

    /// Every order of overlap gives the same as looking at all records, in each index that was
    /// made on the way, and after some records have gone.
    #[test]
    fn index_answers_like_a_list() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let (mut records, mut index) = (Vec::new(), TombstoneIndex::default());
            let mut made = vec![(index.clone(), records.clone())];
            for number in 1..=random(12) {
                let a = random(26) as u8;
                let b = a + 1 + random(6) as u8;
                let letter = |i: u8| ((b'a' + i) as char).to_string();
                records.push(record(number, &letter(a), &letter(b)));
                index.insert(record(number, &letter(a), &letter(b)));
                if random(6) == 0 {
                    let gone = vec![records.remove(random(records.len() as u64) as usize)];
                    index = index.without(&gone);
                }
                made.push((index.clone(), records.clone()));
            }
            made.push((TombstoneIndex::new(records.clone()), records));
            for (index, records) in &made {
                assert_eq!(index.records().cloned().collect::<Vec<_>>(), *records);
                assert_eq!((index.len(), index.is_empty()), (records.len(), records.is_empty()));
                for key in b'a'..=b'z' {
                    let over = records.iter().filter(|r| r.span.contains(&[key]));
                    let expected = over.map(|r| r.number).max().unwrap_or(0);
                    assert_eq!(index.number_over(&[key]), expected, "{records:?}");
                    assert_eq!(index.touches(&Span::key([key])), expected > 0);
                }
            }
        }
    }

    /// A range delete copies an index of few layers, however many there were before.
    #[test]
    fn many_range_deletes_are_in_few_layers() {
        let mut index = TombstoneIndex::default();
        for number in 1..=10_000u32 {
            let (start, end) = (number.to_be_bytes(), (number + 1).to_be_bytes());
            let span = Span::new(start, end);
            index.insert(Arc::new(Tombstone { number: number.into(), index: 0, span }));
            assert!(index.layers.len() <= 14);
        }
        assert_eq!(index.number_over(&77u32.to_be_bytes()), 77);
    }
}
