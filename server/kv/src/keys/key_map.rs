//! A value for each of many keys that mostly come in key order: the ordered map for write buffers
//! and locks.
//!
//! ```text
//!   order                "k65"       "k129"            lower bounds, in a tree
//!               ▼           ▼            ▼
//!   chunks    k1 … k64   k65 … k128   k129 …           entries side by side
//!                 ▲                     ▲
//!                 └────── recent ───────┘              the chunks that were used last
//! ```
//!
//! A bulk statement goes through its keys in order: those of the table, and those of each index.
//! Its next key is nearly always in one of the chunks that it has used last, or just after it. So
//! the map looks there first, which takes a few comparisons; a tree of all keys takes some for each
//! level. A key that is somewhere else costs as much as in a tree.

use std::{cell::Cell, collections::BTreeMap, ops::Bound, sync::Arc};

/// The most entries of a chunk.
const CHUNK_ENTRIES_MAX: usize = 64;
/// How many chunks are looked into before the tree: a table and some indexes.
const RECENT: usize = 4;

/// An entry, with the first bytes of its key: they tell most keys of a chunk apart.
#[derive(Debug)]
struct Entry<V> {
    head: u64,
    key: Arc<[u8]>,
    value: V,
}

/// The entries between two bounds, in key order.
#[derive(Debug)]
struct Chunk<V> {
    /// None: below all keys.
    lower: Option<Arc<[u8]>>,
    /// Where the next chunk begins.
    upper: Option<Arc<[u8]>>,
    entries: Vec<Entry<V>>,
}

/// A map from keys to values, in key order.
#[derive(Debug)]
pub struct KeyMap<V> {
    /// In no order. The first one begins below all keys, and stays.
    chunks: Vec<Chunk<V>>,
    /// The place of every other chunk among `chunks`, by its lower bound.
    order: BTreeMap<Arc<[u8]>, usize>,
    /// The chunks that were used last, the last one first.
    recent: Cell<[usize; RECENT]>,
    len: usize,
}

/// What an insertion has met.
#[derive(Debug)]
pub enum Inserted<'m, V> {
    /// The key was not there; it is now.
    New(&'m Arc<[u8]>),
    /// The key was there: its value, and the one that was not inserted.
    Known(&'m Arc<[u8]>, &'m mut V, V),
}

impl<V> Default for KeyMap<V> {
    fn default() -> KeyMap<V> {
        KeyMap { chunks: Vec::new(), order: BTreeMap::new(), recent: Cell::default(), len: 0 }
    }
}

/// The first bytes of a key as a number that sorts as they do.
fn head_of(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(head)
        }
    }
}

impl<V> Chunk<V> {
    fn covers(&self, key: &[u8]) -> bool {
        self.lower.as_ref().is_none_or(|lower| **lower <= *key)
            && self.upper.as_ref().is_none_or(|upper| *key < **upper)
    }

    /// Where a key is, or where it would be.
    fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let head = head_of(key);
        let compare = |entry: &Entry<V>| entry.head.cmp(&head).then_with(|| (*entry.key).cmp(key));
        match self.entries.last().map(compare) {
            None | Some(std::cmp::Ordering::Less) => Err(self.entries.len()),
            Some(std::cmp::Ordering::Equal) => Ok(self.entries.len() - 1),
            Some(std::cmp::Ordering::Greater) => self.entries.binary_search_by(compare),
        }
    }
}

impl<V> KeyMap<V> {
    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The place of the chunk in which a key belongs; `None` if there are no chunks yet.
    fn place(&self, key: &[u8]) -> Option<usize> {
        let recent = self.recent.get();
        if self.chunks.get(recent[0])?.covers(key) {
            return Some(recent[0]);
        }
        let covers = |place: &usize| self.chunks.get(*place).is_some_and(|c| c.covers(key));
        if let Some(place) = recent[1..].iter().copied().find(covers) {
            self.note_use(place);
            return Some(place);
        }
        let to = (Bound::Unbounded, Bound::Included(key));
        let place = self.order.range::<[u8], _>(to).next_back().map_or(0, |(_, place)| *place);
        self.note_use(place);
        Some(place)
    }

    /// Puts a chunk before the others that were used, once.
    fn note_use(&self, place: usize) {
        let mut recent = self.recent.get();
        let at = recent.iter().position(|used| *used == place).unwrap_or(RECENT - 1);
        recent[..=at].rotate_right(1);
        recent[0] = place;
        self.recent.set(recent);
    }

    /// Whether a key belongs in one of the chunks that were used last, so that it costs little.
    pub fn is_near(&self, key: &[u8]) -> bool {
        let covers = |place: usize| self.chunks.get(place).is_some_and(|chunk| chunk.covers(key));
        self.recent.get().into_iter().any(covers)
    }

    fn found(&self, key: &[u8]) -> Option<(usize, usize)> {
        let place = self.place(key)?;
        Some((place, self.chunks[place].search(key).ok()?))
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        let (place, at) = self.found(key)?;
        Some(&self.chunks[place].entries[at].value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        let (place, at) = self.found(key)?;
        Some(&mut self.chunks[place].entries[at].value)
    }

    /// Inserts a value under a key, unless the key is there; `shared` makes the key.
    pub fn insert(
        &mut self,
        key: &[u8],
        shared: impl FnOnce() -> Arc<[u8]>,
        value: V,
    ) -> Inserted<'_, V> {
        if self.chunks.is_empty() {
            self.chunks.push(Chunk { lower: None, upper: None, entries: Vec::new() });
        }
        let mut place = self.place(key).unwrap_or_default();
        let mut at = match self.chunks[place].search(key) {
            Ok(at) => {
                let entry = &mut self.chunks[place].entries[at];
                return Inserted::Known(&entry.key, &mut entry.value, value);
            }
            Err(at) => at,
        };
        let shared = shared();
        if self.chunks[place].entries.len() >= CHUNK_ENTRIES_MAX {
            (place, at) = self.split(place, at, &shared);
        }
        let entry = Entry { head: head_of(key), key: shared, value };
        self.len += 1;
        let entries = &mut self.chunks[place].entries;
        entries.insert(at, entry);
        Inserted::New(&entries[at].key)
    }

    /// Makes two chunks of a full one. A key that would be its last begins the second one: keys
    /// that come in order leave full chunks. Returns where the entry at `at` belongs now.
    fn split(&mut self, place: usize, at: usize, key: &Arc<[u8]>) -> (usize, usize) {
        let second = self.chunks.len();
        let chunk = &mut self.chunks[place];
        let is_last = at == chunk.entries.len();
        let middle = if is_last { at } else { chunk.entries.len() / 2 };
        let entries = chunk.entries.split_off(middle);
        let lower = entries.first().map_or(key, |first| &first.key).clone();
        let upper = chunk.upper.replace(lower.clone());
        self.order.insert(lower.clone(), second);
        self.chunks.push(Chunk { lower: Some(lower), upper, entries });
        // An entry in the middle may be the last one of the first half.
        let (place, at) = if is_last || at > middle { (second, at - middle) } else { (place, at) };
        self.note_use(place);
        (place, at)
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &[u8]) -> Option<(Arc<[u8]>, V)> {
        self.remove_if(key, |_| true)
    }

    /// Changes the value of a key, and takes the key out if the change says so.
    pub fn remove_if(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut V) -> bool,
    ) -> Option<(Arc<[u8]>, V)> {
        let (place, at) = self.found(key)?;
        if !change(&mut self.chunks[place].entries[at].value) {
            return None;
        }
        let chunk = &mut self.chunks[place];
        let entry = chunk.entries.remove(at);
        self.len -= 1;
        if chunk.entries.is_empty() && place > 0 {
            self.drop_chunk(place);
        }
        Some((entry.key, entry.value))
    }

    /// Drops an empty chunk that is not the first one. The one before it takes its span over.
    fn drop_chunk(&mut self, place: usize) {
        let Chunk { lower, upper, .. } = self.chunks.swap_remove(place);
        let Some(lower) = lower else { return };
        self.order.remove(&lower);
        if let Some(moved) = self.chunks.get(place).and_then(|moved| moved.lower.clone()) {
            self.order.insert(moved, place);
        }
        let to = (Bound::Unbounded, Bound::Excluded(&*lower));
        let before = self.order.range::<[u8], _>(to).next_back().map_or(0, |(_, place)| *place);
        self.chunks[before].upper = upper;
        self.note_use(before);
    }

    /// The entries from `from` on, up to `to` or to the last one.
    pub fn range<'m>(
        &'m self,
        from: &[u8],
        to: Option<&'m [u8]>,
    ) -> impl Iterator<Item = (&'m Arc<[u8]>, &'m V)> {
        let mut chunk = self.place(from).map(|place| &self.chunks[place]);
        let mut at = chunk.map_or(0, |chunk| chunk.search(from).unwrap_or_else(|at| at));
        let next = move || loop {
            let here = chunk?;
            if let Some(entry) = here.entries.get(at) {
                at += 1;
                return Some((&entry.key, &entry.value));
            }
            let next = here.upper.as_ref().and_then(|upper| self.order.get(upper));
            chunk = next.map(|place| &self.chunks[*place]);
            at = 0;
        };
        std::iter::from_fn(next).take_while(move |(key, _)| to.is_none_or(|to| ***key < *to))
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<[u8]>, &V)> {
        self.range(&[], None)
    }

    /// All entries; the map goes.
    pub fn into_entries(mut self) -> impl Iterator<Item = (Arc<[u8]>, V)> {
        let first = (!self.chunks.is_empty()).then_some(0);
        let others = std::mem::take(&mut self.order).into_values();
        first.into_iter().chain(others).flat_map(move |place| {
            let entries = std::mem::take(&mut self.chunks[place].entries);
            entries.into_iter().map(|entry| (entry.key, entry.value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u64) -> Arc<[u8]> {
        // Some keys have the same first bytes, and some are short.
        match i % 3 {
            0 => Arc::from(i.to_be_bytes().as_slice()),
            1 => Arc::from([[7; 8], i.to_be_bytes()].concat().as_slice()),
            _ => Arc::from(&i.to_be_bytes()[5..]),
        }
    }

    fn check(map: &KeyMap<u64>, tree: &BTreeMap<Arc<[u8]>, u64>, from: &[u8], to: &[u8]) {
        assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
        assert!(map.iter().eq(tree.iter()));
        assert!(map.chunks.iter().all(|chunk| chunk.entries.len() <= CHUNK_ENTRIES_MAX));
        let expected = tree.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        assert!(map.range(from, Some(to)).eq(expected.take_while(|(key, _)| ***key < *to)));
    }

    #[test]
    fn key_map_answers_like_a_tree() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for round in 0..20 {
            let (mut map, mut tree) = (KeyMap::default(), BTreeMap::new());
            let mut next = 0;
            for step in 0..3_000 {
                // Runs of keys in order among keys from anywhere; later more go than come.
                next = if random(50) == 0 { random(2_000) } else { next + 1 };
                let key = key(if round % 2 == 0 { next } else { random(2_000) });
                if random(10) < if step < 2_000 { 3 } else { 8 } {
                    assert_eq!(map.remove(&key), tree.remove_entry(&key));
                } else {
                    match map.insert(&key, || key.clone(), step) {
                        Inserted::New(shared) => assert_eq!(*shared, key),
                        Inserted::Known(_, value, new) => *value = new,
                    }
                    tree.insert(key.clone(), step);
                }
                let other = self::key(random(2_000));
                assert_eq!(map.get(&other), tree.get(&other));
                assert_eq!(map.get_mut(&key).map(|value| *value), tree.get(&key).copied());
                if step % 100 == 0 {
                    check(&map, &tree, &key, &other);
                }
            }
            assert!(map.into_entries().eq(tree));
        }
    }

    #[test]
    fn keys_in_order_leave_full_chunks_and_none_when_they_go() {
        let mut map = KeyMap::default();
        let keys: Vec<Arc<[u8]>> = (0..1_000).map(|i| key(3 * i)).collect();
        for key in &keys {
            map.insert(key, || key.clone(), ());
        }
        assert_eq!(map.chunks.len(), 1_000usize.div_ceil(CHUNK_ENTRIES_MAX));
        keys.iter().rev().for_each(|key| drop(map.remove(key)));
        assert_eq!((map.chunks.len(), map.order.len(), map.len()), (1, 0, 0));
    }
}
