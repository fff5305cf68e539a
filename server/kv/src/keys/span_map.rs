//! A value for each key of some spans: the ordered interval map for range deletes, span locks
//! and spans that are known to be empty.
//!
//! ```text
//!   set [a, f) 1    [a ─────────── 1 ─────────── f)
//!   set [c, d) 2    [a ── 1 ── c)[c ─ 2 ─ d)[d 1 f)
//!   set [b, e) 1    [a ─────────── 1 ─────────── f)    equal neighbours are one piece again
//! ```
//!
//! Pieces never overlap. A lookup of one key takes O(log n), a change O(log n) and one step for
//! each piece inside the changed span.

use crate::{Key, Span};
use std::{collections::BTreeMap, ops::Bound};

/// Disjoint spans in key order, each with a value. Neighbours that touch have different values.
#[derive(Clone, Debug)]
pub struct SpanMap<V> {
    /// Start → (end, value).
    pieces: BTreeMap<Key, (Key, V)>,
}

impl<V> Default for SpanMap<V> {
    fn default() -> SpanMap<V> {
        SpanMap { pieces: BTreeMap::new() }
    }
}

impl<V: Clone + PartialEq> SpanMap<V> {
    /// The empty map.
    pub fn new() -> SpanMap<V> {
        SpanMap::default()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        self.piece(key).map(|(_, _, value)| value)
    }

    /// The piece that has `key`: its start, its end and its value.
    pub fn piece(&self, key: &[u8]) -> Option<(&[u8], &[u8], &V)> {
        let to = (Bound::Unbounded, Bound::Included(key));
        let (start, (end, value)) = self.pieces.range::<[u8], _>(to).next_back()?;
        (key < end.as_slice()).then_some((start.as_slice(), end.as_slice(), value))
    }

    /// The pieces that have a key of `span`, in key order: start, end and value of each.
    pub fn overlapping(&self, span: &Span) -> impl DoubleEndedIterator<Item = (&[u8], &[u8], &V)> {
        let start = match self.piece(&span.start) {
            Some((start, _, _)) => start,
            None => span.start.as_slice(),
        };
        // An empty span has no key, wherever it is.
        let end = if span.is_empty() { start } else { span.end.as_slice() };
        let bounds = (Bound::Included(start), Bound::Excluded(end));
        let inside = self.pieces.range::<[u8], _>(bounds);
        inside.map(|(start, (end, value))| (start.as_slice(), end.as_slice(), value))
    }

    /// Whether some key of `span` has a value.
    pub fn touches(&self, span: &Span) -> bool {
        self.overlapping(span).next().is_some()
    }

    /// Gives every key of `span` this value, whatever it had.
    pub fn set(&mut self, span: &Span, value: V) {
        if span.is_empty() {
            return;
        }
        self.cut_out(span);
        self.push(span.start.clone(), span.end.clone(), value);
    }

    /// Takes the values of all keys of `span`.
    pub fn remove(&mut self, span: &Span) {
        if !span.is_empty() {
            self.cut_out(span);
        }
    }

    /// Gives every key of `span` what `change` makes of its value; `None` is no value.
    pub fn update(&mut self, span: &Span, mut change: impl FnMut(Option<&V>) -> Option<V>) {
        if span.is_empty() {
            return;
        }
        let mut at = span.start.clone();
        for (start, end, value) in self.cut_out(span) {
            if at < start
                && let Some(value) = change(None)
            {
                self.push(at, start.clone(), value);
            }
            if let Some(value) = change(Some(&value)) {
                self.push(start, end.clone(), value);
            }
            at = end;
        }
        if at < span.end
            && let Some(value) = change(None)
        {
            self.push(at, span.end.clone(), value);
        }
        self.join_at(&span.end);
    }

    /// Removes everything inside `span` and returns it; pieces across its bounds are cut.
    fn cut_out(&mut self, span: &Span) -> Vec<(Key, Key, V)> {
        self.split_at(&span.start);
        self.split_at(&span.end);
        let bounds = (Bound::Included(span.start.as_slice()), Bound::Excluded(span.end.as_slice()));
        let inside: Vec<Key> =
            self.pieces.range::<[u8], _>(bounds).map(|(start, _)| start.clone()).collect();
        let take = |start: Key| {
            let (end, value) = self.pieces.remove(&start)?;
            Some((start, end, value))
        };
        inside.into_iter().filter_map(take).collect()
    }

    fn split_at(&mut self, key: &Key) {
        let Some((start, end, value)) = self.piece(key) else { return };
        if start < key.as_slice() {
            let (start, end, value) = (start.to_vec(), end.to_vec(), value.clone());
            if let Some(left) = self.pieces.get_mut(&start) {
                left.0.clone_from(key);
            }
            self.pieces.insert(key.clone(), (end, value));
        }
    }

    /// Adds a piece where nothing is.
    fn push(&mut self, start: Key, end: Key, value: V) {
        self.pieces.insert(start.clone(), (end.clone(), value));
        self.join_at(&start);
        self.join_at(&end);
    }

    /// Makes one of the two pieces that touch at `key`, if their values are equal.
    fn join_at(&mut self, key: &Key) {
        let Some((end, value)) = self.pieces.get(key) else { return };
        let before = (Bound::Unbounded, Bound::Excluded(key.as_slice()));
        let Some((start, left)) = self.pieces.range::<[u8], _>(before).next_back() else { return };
        if left.0 != *key || left.1 != *value {
            return;
        }
        let (start, end) = (start.clone(), end.clone());
        self.pieces.remove(key);
        if let Some(left) = self.pieces.get_mut(&start) {
            left.0 = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u64 = 24;

    fn span(from: u64, to: u64) -> Span {
        Span::new([from as u8], [to as u8])
    }

    fn check(map: &SpanMap<u64>, list: &[Option<u64>]) {
        let mut before: Option<(&[u8], u64)> = None;
        for (start, end, value) in map.overlapping(&span(0, KEYS)) {
            assert!(start < end);
            if let Some((other_end, other)) = before {
                assert!(other_end < start || (other_end == start && other != *value));
            }
            before = Some((end, *value));
        }
        for (key, expected) in list.iter().enumerate() {
            assert_eq!(map.get(&[key as u8]), expected.as_ref());
            // A piece ends before a key, not after it.
            assert_eq!(map.get(&[key as u8, 7]), expected.as_ref());
        }
        for from in 0..KEYS {
            for to in from..KEYS {
                let inside = &list[from as usize..to as usize];
                assert_eq!(map.touches(&span(from, to)), inside.iter().any(Option::is_some));
                let mut values: Vec<u64> =
                    map.overlapping(&span(from, to)).map(|(_, _, value)| *value).collect();
                let mut expected: Vec<u64> = inside.iter().flatten().copied().collect();
                values.sort_unstable();
                values.dedup();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(values, expected);
            }
        }
    }

    #[test]
    fn span_map_answers_like_a_list() {
        let mut seed = 11u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..60 {
            let mut map = SpanMap::new();
            let mut list = vec![None; KEYS as usize];
            for step in 0..30 {
                let from = random(KEYS);
                let to = (from + random(8)).min(KEYS);
                let inside = from as usize..to as usize;
                match random(4) {
                    0 => {
                        map.remove(&span(from, to));
                        list[inside].fill(None);
                    }
                    1 => {
                        // As locks are added and taken away.
                        let change = |value: Option<&u64>| match value.copied() {
                            Some(value) if value % 3 == 0 => None,
                            Some(value) => Some(value + 1),
                            None if step % 2 == 0 => Some(1),
                            None => None,
                        };
                        map.update(&span(from, to), change);
                        for value in &mut list[inside] {
                            *value = change(value.as_ref());
                        }
                    }
                    _ => {
                        let value = random(5);
                        map.set(&span(from, to), value);
                        list[inside].fill(Some(value));
                    }
                }
                check(&map, &list);
            }
        }
    }
}
