//! A sorted map whose copies share what was not changed since.
//!
//! ```text
//!   before   [a b c] [d e f] [g h i]
//!                │       │       │
//!   after    [a b c] [d e x f] [g h i]     one chunk is new, the others are shared
//! ```
//!
//! A catalog of thousands of objects is copied by every statement that changes one of them. A copy
//! costs a pointer for each chunk, a change at most one chunk.

use std::cmp::Ordering;
use std::sync::Arc;

/// Entries of a chunk; one with more is cut in two.
const CHUNK_MAX: usize = 64;

/// A sorted map that is cheap to copy.
#[derive(Clone, Debug)]
pub(crate) struct SharedMap<K, V> {
    /// None is empty; each one's keys lie below those of the next.
    chunks: Vec<Arc<Vec<(K, V)>>>,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { chunks: Vec::new() }
    }
}

impl<K, V> SharedMap<K, V> {
    /// Every entry in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(key, value)| (key, value))
    }

    /// Every value in the order of keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The entries from the first key on that is not below what `order` compares with.
    pub(crate) fn iter_from(
        &self,
        order: impl Fn(&K) -> Ordering,
    ) -> impl Iterator<Item = (&K, &V)> {
        let (chunk, place) = self.find(&order).unwrap_or_else(|at| at);
        let first = self.chunks.get(chunk).into_iter().flat_map(move |chunk| &chunk[place..]);
        let rest = self.chunks.get(chunk + 1..).unwrap_or_default();
        let rest = rest.iter().flat_map(|chunk| chunk.iter());
        first.chain(rest).map(|(key, value)| (key, value))
    }

    /// The value of the key that `order` calls equal.
    pub(crate) fn get_by(&self, order: impl Fn(&K) -> Ordering) -> Option<&V> {
        let (chunk, place) = self.find(&order).ok()?;
        Some(&self.chunks[chunk][place].1)
    }

    /// Where a key is, or belongs: its chunk and its place there.
    fn find(&self, order: &impl Fn(&K) -> Ordering) -> Result<(usize, usize), (usize, usize)> {
        let above = self.chunks.partition_point(|chunk| order(&chunk[0].0).is_le());
        let chunk = above.saturating_sub(1);
        let Some(entries) = self.chunks.get(chunk) else { return Err((0, 0)) };
        match entries.binary_search_by(|(key, _)| order(key)) {
            Ok(place) => Ok((chunk, place)),
            Err(place) => Err((chunk, place)),
        }
    }
}

impl<K: Clone + Ord, V: Clone> SharedMap<K, V> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.get_by(|known| known.cmp(key))
    }

    /// Adds or replaces an entry; the value before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let found = self.find(&|known: &K| known.cmp(&key));
        match found {
            Ok((chunk, place)) => {
                let entries = Arc::make_mut(&mut self.chunks[chunk]);
                Some(std::mem::replace(&mut entries[place].1, value))
            }
            Err((chunk, place)) => {
                let Some(shared) = self.chunks.get_mut(chunk) else {
                    self.chunks.push(Arc::new(vec![(key, value)]));
                    return None;
                };
                let entries = Arc::make_mut(shared);
                entries.insert(place, (key, value));
                if entries.len() > CHUNK_MAX {
                    // Objects mostly come in the order of their ids: the front stays full.
                    let is_last = place + 1 == entries.len();
                    let cut = if is_last { CHUNK_MAX } else { CHUNK_MAX / 2 };
                    let behind = entries.split_off(cut);
                    self.chunks.insert(chunk + 1, Arc::new(behind));
                }
                None
            }
        }
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (chunk, place) = self.find(&|known: &K| known.cmp(key)).ok()?;
        let entries = Arc::make_mut(&mut self.chunks[chunk]);
        let (_, value) = entries.remove(place);
        if entries.is_empty() {
            self.chunks.remove(chunk);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn acts_like_a_sorted_map_and_leaves_its_copies_alone() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
        for round in 0..4_000u64 {
            let copy = map.clone();
            let before = model.clone();
            let key = random(500);
            match random(3) {
                0 => assert_eq!(map.remove(&key), model.remove(&key)),
                _ => assert_eq!(map.insert(key, round), model.insert(key, round)),
            }
            assert_eq!(map.get(&key), model.get(&key));
            if round % 97 == 0 {
                let all = |map: &SharedMap<u64, u64>| -> Vec<(u64, u64)> {
                    map.iter().map(|(key, value)| (*key, *value)).collect()
                };
                assert_eq!(all(&copy), before.into_iter().collect::<Vec<_>>());
                assert_eq!(all(&map), model.clone().into_iter().collect::<Vec<_>>());
                let from: Vec<u64> =
                    map.iter_from(|known| known.cmp(&key)).map(|(key, _)| *key).collect();
                let wanted: Vec<u64> = model.range(key..).map(|(key, _)| *key).collect();
                assert_eq!(from, wanted);
            }
        }
    }

    #[test]
    fn a_change_copies_one_chunk() {
        let mut map = SharedMap::default();
        (0..10_000u32).for_each(|key| _ = map.insert(key, ()));
        let copy = map.clone();
        map.insert(5_000, ());
        map.insert(20_000, ());
        let shared =
            |chunk: &Arc<Vec<(u32, ())>>| copy.chunks.iter().any(|other| Arc::ptr_eq(chunk, other));
        assert!(map.chunks.iter().filter(|chunk| !shared(chunk)).count() <= 2);
    }
}
