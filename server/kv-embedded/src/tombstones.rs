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

use braid_kv::{Key, Span};
use std::{collections::BTreeMap, ops::Bound, sync::Arc};

/// One record: the range delete `index` of commit `number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) number: u64,
    pub(crate) index: u32,
    pub(crate) span: Span,
}

/// For any key, the highest number of the tombstones over it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TombstoneIndex {
    /// Pieces that do not overlap: start → (end, number).
    pieces: BTreeMap<Key, (Key, u64)>,
    records: Vec<Arc<Tombstone>>,
}

impl TombstoneIndex {
    pub(crate) fn new(mut records: Vec<Arc<Tombstone>>) -> TombstoneIndex {
        records.sort_by_key(|r| (r.number, r.index));
        let mut index = TombstoneIndex::default();
        for record in records {
            index.insert(record);
        }
        index
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(crate) fn records(&self) -> &[Arc<Tombstone>] {
        &self.records
    }

    /// Adds a record that is newer than all others.
    pub(crate) fn insert(&mut self, record: Arc<Tombstone>) {
        let Span { start, end } = record.span.clone();
        let number = record.number;
        self.records.push(record);
        // The piece that reaches into the new one from the left keeps its left part, and if it
        // reaches beyond it, its right part too.
        let left = self.pieces.range::<Key, _>(..&start).next_back();
        if let Some((left_start, (left_end, left_number))) = left
            && *left_end > start
        {
            let (left_start, left_end, left_number) =
                (left_start.clone(), left_end.clone(), *left_number);
            if left_end > end {
                self.pieces.insert(end.clone(), (left_end, left_number));
            }
            self.pieces.insert(left_start, (start.clone(), left_number));
        }
        let covered: Vec<Key> = self
            .pieces
            .range::<Key, _>((Bound::Included(&start), Bound::Excluded(&end)))
            .map(|(key, _)| key.clone())
            .collect();
        for key in covered {
            let Some((piece_end, piece_number)) = self.pieces.remove(&key) else { continue };
            if piece_end > end {
                self.pieces.insert(end.clone(), (piece_end, piece_number));
            }
        }
        self.pieces.insert(start, (end, number));
    }

    /// The number below which values of `key` are hidden; 0 if there is none.
    pub(crate) fn number_over(&self, key: &[u8]) -> u64 {
        match self.pieces.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back() {
            Some((_, (end, number))) if key < end.as_slice() => *number,
            _ => 0,
        }
    }

    /// Whether some tombstone touches `span`.
    pub(crate) fn touches(&self, span: &Span) -> bool {
        !self.pieces.is_empty()
            && !span.is_empty()
            && self
                .pieces
                .range::<[u8], _>((Bound::Unbounded, Bound::Excluded(span.end.as_slice())))
                .next_back()
                .is_some_and(|(_, (end, _))| *end > span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, start: &str, end: &str) -> Arc<Tombstone> {
        Arc::new(Tombstone { number, index: 0, span: Span::new(start, end) })
    }

    /// Every order of overlap gives the same as looking at all records.
    #[test]
    fn index_answers_like_a_list() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let mut records = Vec::new();
            for number in 1..=random(8) {
                let a = random(26) as u8;
                let b = a + 1 + random(6) as u8;
                let letter = |i: u8| ((b'a' + i) as char).to_string();
                records.push(record(number, &letter(a), &letter(b)));
            }
            let index = TombstoneIndex::new(records.clone());
            for key in b'a'..=b'z' {
                let key = [key];
                let expected = records
                    .iter()
                    .filter(|r| r.span.contains(&key))
                    .map(|r| r.number)
                    .max()
                    .unwrap_or(0);
                assert_eq!(index.number_over(&key), expected, "{records:?}");
                assert_eq!(index.touches(&Span::key(key)), expected > 0);
            }
        }
    }
}
