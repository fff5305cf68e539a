//! The hash table of a join: from the key of a row to the first row that has it.
//!
//! ```text
//!   hash of a key ──▶ slot (part of the hash, place of a row) ──▶ the row's key, to be sure
//! ```
//!
//! The table has no keys of its own where they are columns: they are compared in the rows. Integers
//! are beside each other, so that no row is looked at before it is known to match.

use std::hash::{BuildHasher, Hash, Hasher};

use braid_plan::Expr;
use braid_rows::Columns;
use braid_types::{Datum, Result, Row, SqlType};

use crate::operator::key_form::KeyHasher;
use crate::operator::reservation::broken;

/// The place of a slot without a row.
const EMPTY: u32 = u32::MAX;

/// Places of rows by the hashes of their keys, with open addressing.
#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    hasher: KeyHasher,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The upper half of the hash.
    tag: u32,
    place: u32,
}

impl Slots {
    /// Empty slots for a number of keys; at most half of them will be used.
    fn with_room(keys: usize, hasher: KeyHasher) -> Self {
        let count = (keys * 2).next_power_of_two();
        Self { slots: vec![Slot { tag: 0, place: EMPTY }; count], hasher }
    }

    /// The slot of a key: the one that has it, or the empty one where it belongs.
    fn slot_of(&self, hash: u64, is_equal: impl Fn(usize) -> bool) -> usize {
        let (mask, tag) = (self.slots.len() - 1, tag_of(hash));
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.place == EMPTY || (slot.tag == tag && is_equal(slot.place as usize)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn find(&self, hash: u64, is_equal: impl Fn(usize) -> bool) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let place = self.slots[self.slot_of(hash, is_equal)].place;
        (place != EMPTY).then_some(place as usize)
    }

    /// Makes a row the first one of its key; the one that was the first before.
    fn insert(
        &mut self,
        hash: u64,
        place: usize,
        is_equal: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>> {
        let place = u32::try_from(place).ok().filter(|place| *place != EMPTY);
        let place = place.ok_or_else(|| broken("more rows than a hash table has places"))?;
        let at = self.slot_of(hash, is_equal);
        let before = std::mem::replace(&mut self.slots[at], Slot { tag: tag_of(hash), place });
        Ok((before.place != EMPTY).then_some(before.place as usize))
    }
}

fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// A hash table over the rows of the build side.
pub(crate) struct HashTable {
    slots: Slots,
    keys: KeyStore,
}

/// Where the keys of the build side are.
enum KeyStore {
    /// One integer: of each row, by its place. And the column of the row.
    Ints(Vec<i64>, usize),
    /// In the rows.
    Columns(Vec<usize>),
    /// Computed: of each row, by its place.
    Values(Vec<Row>),
}

impl HashTable {
    /// An empty table for keys of a probe and of a build side.
    pub(crate) fn new(probe: &[Expr], build: &[Expr]) -> Self {
        let place = |e: &Expr| match e {
            Expr::Input(place, _) => Some(*place),
            _ => None,
        };
        let places: Option<Vec<usize>> = build.iter().map(place).collect();
        let are_ints = probe.iter().chain(build).all(|e| is_int(&e.ty()));
        let keys = match places.as_deref() {
            Some([place]) if are_ints => KeyStore::Ints(Vec::new(), *place),
            Some(places) => KeyStore::Columns(places.to_vec()),
            None => KeyStore::Values(Vec::new()),
        };
        Self { slots: Slots::default(), keys }
    }

    /// Removes everything and makes room for that many rows.
    pub(crate) fn clear(&mut self, rows: usize) {
        self.slots = Slots::with_room(rows, self.slots.hasher.clone());
        match &mut self.keys {
            KeyStore::Ints(ints, _) => *ints = vec![0; rows],
            KeyStore::Columns(_) => {}
            KeyStore::Values(values) => *values = vec![Row::new(); rows],
        }
    }

    /// Whether keys have to be computed before a row is added.
    pub(crate) fn needs_values(&self) -> bool {
        matches!(self.keys, KeyStore::Values(_))
    }

    /// Adds the row at a place, whose keys are columns. No answer if its key has a NULL; else the
    /// place of the row that had the key before, if there was one.
    pub(crate) fn add(&mut self, rows: &[Row], at: usize) -> Result<Option<Option<usize>>> {
        let hasher = &self.slots.hasher;
        match &mut self.keys {
            KeyStore::Ints(ints, place) => {
                let int = match &rows[at][*place] {
                    Datum::Int(int) => *int,
                    Datum::Null => return Ok(None),
                    _ => return Err(broken("an integer key that is no integer")),
                };
                let hash = hasher.hash_one(int);
                ints[at] = int;
                self.slots.insert(hash, at, |other| ints[other] == int).map(Some)
            }
            KeyStore::Columns(places) => {
                let row = &rows[at];
                if places.iter().any(|place| row[*place].is_null()) {
                    return Ok(None);
                }
                let hash = hash_of(hasher, places.iter().map(|place| &row[*place]));
                let is_equal =
                    |other: usize| places.iter().all(|place| rows[other][*place] == row[*place]);
                self.slots.insert(hash, at, is_equal).map(Some)
            }
            KeyStore::Values(_) => Err(broken("the keys of a hash table were not computed")),
        }
    }

    /// The same for the row at a place with computed keys.
    pub(crate) fn add_values(&mut self, key: Row, at: usize) -> Result<Option<Option<usize>>> {
        let KeyStore::Values(values) = &mut self.keys else {
            return Err(broken("the keys of a hash table are columns"));
        };
        if key.iter().any(Datum::is_null) {
            return Ok(None);
        }
        let hash = hash_of(&self.slots.hasher, key.iter());
        let before = self.slots.insert(hash, at, |other| values[other] == key)?;
        values[at] = key;
        Ok(Some(before))
    }

    /// The first row with a key; its values are at `places` of a row, or all of it.
    pub(crate) fn find(
        &self,
        rows: &[Row],
        key: &[Datum],
        places: Option<&[usize]>,
    ) -> Option<usize> {
        match places {
            Some(places) => self.find_by(rows, places.len(), |n| &key[places[n]]),
            None => self.find_by(rows, key.len(), |n| &key[n]),
        }
    }

    /// The same for row `i` of a batch by columns.
    pub(crate) fn find_column(
        &self,
        rows: &[Row],
        columns: &Columns,
        places: &[usize],
        i: usize,
    ) -> Option<usize> {
        if let (KeyStore::Ints(ints, _), [place]) = (&self.keys, places) {
            let int = columns.list[*place].int(i)?;
            return self.find_int(ints, int);
        }
        if let [place] = places {
            let value = columns.list[*place].value(i);
            return self.find_by(rows, 1, |_| &*value);
        }
        let values: Vec<_> = places.iter().map(|place| columns.list[*place].value(i)).collect();
        self.find_by(rows, values.len(), |n| &*values[n])
    }

    fn find_int(&self, ints: &[i64], int: i64) -> Option<usize> {
        self.slots.find(self.slots.hasher.hash_one(int), |other| ints[other] == int)
    }

    /// The first row with a key of `width` values.
    fn find_by<'v>(
        &self,
        rows: &[Row],
        width: usize,
        value: impl Fn(usize) -> &'v Datum,
    ) -> Option<usize> {
        let hasher = &self.slots.hasher;
        if (0..width).any(|n| value(n).is_null()) {
            return None;
        }
        match &self.keys {
            KeyStore::Ints(ints, _) => match value(0) {
                Datum::Int(int) => self.find_int(ints, *int),
                _ => None,
            },
            KeyStore::Columns(own) => {
                let hash = hash_of(hasher, (0..width).map(&value));
                let is_equal = |other: usize| {
                    own.iter().enumerate().all(|(n, place)| rows[other][*place] == *value(n))
                };
                self.slots.find(hash, is_equal)
            }
            KeyStore::Values(values) => {
                let hash = hash_of(hasher, (0..width).map(&value));
                let is_equal = |other: usize| {
                    values[other].iter().enumerate().all(|(n, known)| known == value(n))
                };
                self.slots.find(hash, is_equal)
            }
        }
    }
}

/// Whether values of the type are [`Datum::Int`].
fn is_int(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
}

fn hash_of<'v>(hasher: &KeyHasher, values: impl Iterator<Item = &'v Datum>) -> u64 {
    let mut state = hasher.build_hasher();
    values.for_each(|value| value.hash(&mut state));
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[Option<i64>]) -> Vec<Row> {
        values.iter().map(|value| vec![value.map_or(Datum::Null, Datum::Int)]).collect()
    }

    fn filled(keys: &[Expr], rows: &[Row]) -> (HashTable, Vec<Option<Option<usize>>>) {
        let mut table = HashTable::new(keys, keys);
        table.clear(rows.len());
        let add = |at| table.add(rows, at).expect("columns");
        let before = (0..rows.len()).map(add).collect();
        (table, before)
    }

    #[test]
    fn the_last_row_added_is_the_first_one_found() {
        for ty in [SqlType::Int4, SqlType::Text] {
            // Of the second type the keys are compared in the rows.
            let rows = ints(&[Some(5), None, Some(7), Some(5)]);
            let (table, before) = filled(&[Expr::Input(0, ty)], &rows);
            assert_eq!(before, [Some(None), None, Some(None), Some(Some(0))]);
            assert_eq!(table.find(&rows, &[Datum::Int(5)], None), Some(3));
            assert_eq!(table.find(&rows, &[Datum::Null, Datum::Int(7)], Some(&[1])), Some(2));
            assert_eq!(table.find(&rows, &[Datum::Int(6)], None), None);
            assert_eq!(table.find(&rows, &[Datum::Null], None), None);
        }
    }

    #[test]
    fn many_keys_are_all_found() {
        let rows = ints(&(0..5000).map(|n| Some(n * 1024)).collect::<Vec<_>>());
        for ty in [SqlType::Int8, SqlType::Text] {
            let (table, _) = filled(&[Expr::Input(0, ty)], &rows);
            for (at, row) in rows.iter().enumerate() {
                assert_eq!(table.find(&rows, row, None), Some(at));
            }
            assert_eq!(table.find(&rows, &[Datum::Int(1)], None), None);
        }
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let table = HashTable::new(&[], &[]);
        assert_eq!(table.find(&[], &[Datum::Int(1)], None), None);
    }
}
