//! Many keys at once. Keys that lie close together in the store are read by walking from one to
//! the next: a step costs a tenth of a search. Rows that an index gives in the order of their
//! primary keys are such keys, and so are the keys of new rows, none of which is there.
//!
//! ```text
//!   wanted     a     c  d        m           a search each, or
//!   store      a b   c  d  e f … m           a walk: a, b, c, d, e, f, …; then a search for m
//! ```
//!
//! Keys that a long scan has read are in the range cache. They are taken from there. So are keys
//! that are read again and again.
//!
//! Whether it pays shows on the way: each key that a walk reaches earns some steps, and every step
//! is paid for. Without credit the rest is searched for, so that keys far apart cost little more.

use super::view::View;
use crate::files::{decode_value, storage_error};
use braid_kv::{BatchBuilder, Key, Result, Span, Value, key_after};
use fjall::Readable;

/// Fewer keys are not looked for in the range cache.
const CACHED_KEYS_MIN: usize = 2;
/// Fewer keys are searched for one by one: finding out whether they are close costs more than it
/// saves.
const KEYS_MIN: usize = 64;
/// Entries that a walk passes on its way to the next key before it gives up.
const STEPS: i64 = 24;
/// The steps that a search takes the time of.
const SEARCH_STEPS: i64 = 8;
/// The steps that opening an iterator takes the time of.
const OPEN_STEPS: i64 = 10;
/// The steps that may be lost before the rest is searched for.
const LOSS_MAX: i64 = 64;

/// Values of several keys in one buffer. They are read and dropped together.
#[derive(Default)]
struct FoundValues {
    bytes: Vec<u8>,
    /// The place of the key, and where its value ends.
    ends: Vec<(usize, usize)>,
}

impl FoundValues {
    fn add(&mut self, at: usize, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push((at, self.bytes.len()));
    }

    /// The values of this number of keys.
    fn finish(self, keys: usize) -> Vec<Option<Value>> {
        let mut values = vec![None; keys];
        let bytes = Value::from(self.bytes);
        let mut start = 0;
        for (at, end) in self.ends {
            values[at] = Some(bytes.slice(start..end));
            start = end;
        }
        values
    }
}

/// An iterator on its way through keys in ascending order.
struct Walk {
    entries: fjall::Iter,
    /// The entry that was read last.
    ahead: Option<(fjall::UserKey, fjall::UserValue)>,
    is_at_end: bool,
}

impl View {
    /// The values of keys, in their order.
    pub(crate) fn read_all(&self, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        if keys.len() < CACHED_KEYS_MIN {
            let mut values = vec![None; keys.len()];
            self.visit_all(keys, |at, _, value| values[at] = Some(Value::copy_from_slice(value)))?;
            return Ok(values);
        }
        let order = in_order(keys);
        let number = self.number();
        let mut found = FoundValues::default();
        let missing = self.range_cache.read(keys, &order, number, |at, value| found.add(at, value));
        let asked: Vec<&Key> = missing.iter().map(|at| &keys[*at]).collect();
        self.visit_all(&asked, |n, _, value| found.add(missing[n], value))?;
        let values = found.finish(keys.len());
        self.keep_lookups(keys, &missing, &values);
        Ok(values)
    }

    /// Keeps those of the keys that were read here whose lookup comes again.
    fn keep_lookups(&self, keys: &[Key], read: &[usize], values: &[Option<Value>]) {
        let again = read.iter().filter(|at| self.range_cache.wants_lookup(&keys[**at]));
        let parts: Vec<_> = again
            .map(|at| {
                let (key, value) = (&keys[*at], &values[*at]);
                let bytes = key.len() + value.as_ref().map_or(0, Value::len);
                let mut entry = BatchBuilder::with_capacity(1, bytes);
                value.iter().for_each(|value| entry.push(key, value));
                (Span::key(key.as_slice()), entry.finish(None))
            })
            .collect();
        if !parts.is_empty() {
            self.range_cache.add_lookups(self.number(), parts);
        }
    }

    /// Calls `found` for each key that has a value: with its place, its commit number and the
    /// value.
    pub(crate) fn visit_all<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut found: impl FnMut(usize, u64, &[u8]),
    ) -> Result<()> {
        if keys.len() < KEYS_MIN {
            return keys.iter().enumerate().try_for_each(|(at, key)| {
                self.visit(key.as_ref(), |number, value| found(at, number, value)).map(drop)
            });
        }
        let order = in_order(keys);
        let Some(last) = order.last() else { return Ok(()) };
        let end = key_after(keys[*last].as_ref());
        let mut walk: Option<Walk> = None;
        let mut credit = 0;
        for at in order {
            let key = keys[at].as_ref();
            if credit > -LOSS_MAX {
                let open = walk.get_or_insert_with(|| {
                    credit -= OPEN_STEPS;
                    Walk::open(self, key, &end)
                });
                if open.step_to(key, &mut credit)? {
                    credit = (credit + SEARCH_STEPS).min(LOSS_MAX);
                    open.visit(self, key, |number, value| found(at, number, value))?;
                    continue;
                }
                walk = None;
            }
            self.visit(key, |number, value| found(at, number, value))?;
        }
        Ok(())
    }
}

/// The places of keys in the order of the keys.
fn in_order<K: AsRef<[u8]>>(keys: &[K]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let is_sorted = keys.windows(2).all(|pair| pair[0].as_ref() <= pair[1].as_ref());
    if !is_sorted {
        order.sort_by(|a, b| keys[*a].as_ref().cmp(keys[*b].as_ref()));
    }
    order
}

impl Walk {
    fn open(view: &View, first: &[u8], end: &[u8]) -> Walk {
        let entries = view.snapshot.range(&view.files.data, first..end);
        Walk { entries, ahead: None, is_at_end: false }
    }

    /// Goes on to a key that is not before the one asked for last; false if it is too far away.
    fn step_to(&mut self, key: &[u8], credit: &mut i64) -> Result<bool> {
        let mut steps = 0;
        while !self.is_at_end && self.ahead.as_ref().is_none_or(|(ahead, _)| **ahead < *key) {
            if steps == STEPS {
                return Ok(false);
            }
            steps += 1;
            *credit -= 1;
            self.ahead = match self.entries.next() {
                Some(entry) => Some(entry.into_inner().map_err(storage_error)?),
                None => None,
            };
            self.is_at_end = self.ahead.is_none();
        }
        Ok(true)
    }

    /// Calls `found` if the entry that was reached is that of a key, and no tombstone hides it.
    fn visit(&self, view: &View, key: &[u8], found: impl FnOnce(u64, &[u8])) -> Result<()> {
        if let Some((_, stored)) = self.ahead.as_ref().filter(|(ahead, _)| **ahead == *key) {
            let (number, value) = decode_value(stored)?;
            if view.tombstones.is_empty() || number >= view.tombstones.number_over(key) {
                found(number, value);
            }
        }
        Ok(())
    }
}
