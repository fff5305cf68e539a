//! How scans read a table: layouts, decoders and key bounds.

use std::sync::Arc;

use braid_catalog::{Index, Table};
use braid_kv::{Key, KeyShape, Span, Value};
use braid_plan::{Bound, Scan};
use braid_rows::{IndexDecoder, IndexRows, KeyColumn, RowDecoder, TableRows};
use braid_types::{Error, Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::scan::spans::spans;

/// How a table is read: layouts and decoders for the columns wanted.
pub struct Reader {
    /// The layout.
    pub rows: TableRows,
    /// Decodes the columns wanted.
    pub decoder: RowDecoder,
    /// The families to be read for them, ascending.
    pub families: Vec<usize>,
}

impl Reader {
    /// A reader of these columns.
    pub fn new(table: &Arc<Table>, places: &[usize], all_families: bool) -> Result<Self> {
        let rows = TableRows::new(table)?;
        let decoder = rows.reader(places);
        let mut families = rows.families_of(places);
        if all_families {
            families = (0..rows.family_count()).collect();
        } else if !families.contains(&0) {
            families.insert(0, 0);
        }
        Ok(Self { rows, decoder, families })
    }

    /// A reader of these columns from these families alone; the others' are NULL.
    pub fn of_families(table: &Arc<Table>, places: &[usize], families: &[usize]) -> Result<Self> {
        let rows = TableRows::new(table)?;
        let decoder = rows.reader(places);
        let mut families = families.to_vec();
        families.sort_unstable();
        Ok(Self { rows, decoder, families })
    }

    /// Decodes of `jsonb` columns only what a scan reads of them.
    pub fn only_members(mut self, scan: &Scan) -> Self {
        for (slot, names) in &scan.members {
            if let Some(at) = scan.columns.iter().position(|(known, _)| known == slot) {
                self.decoder.only_members(at, names.clone());
            }
        }
        self
    }

    /// Whether family 0, which every row has, is read.
    fn reads_first(&self) -> bool {
        self.families.contains(&0)
    }

    /// The key of the pair that every row has.
    pub fn first_key(&self, primary_key: &[u8]) -> Key {
        self.rows.family_key(primary_key, 0)
    }

    /// Rows of which no pair was found, though that does not mean that there is none.
    pub fn unproved(&self, values: &[Option<Value>]) -> Vec<usize> {
        if self.reads_first() {
            return Vec::new();
        }
        let chunks = values.chunks(self.families.len().max(1)).enumerate();
        let empty = chunks.filter(|(_, values)| values.iter().all(Option::is_none));
        empty.map(|(at, _)| at).collect()
    }

    /// Rows from the values of [`Reader::keys_of`]; where these do not tell whether there is a
    /// row, that is read.
    pub async fn rows(
        &self,
        evaluator: &Evaluator,
        primary_keys: &[Key],
        keys: &[Key],
        values: &[Option<Value>],
    ) -> Result<Vec<Option<Row>>> {
        let empty = self.unproved(values);
        if empty.is_empty() {
            return self.decode(keys, values);
        }
        let first: Vec<Key> = empty.iter().map(|at| self.first_key(&primary_keys[*at])).collect();
        let cx = &evaluator.run.cx;
        let found = evaluator.run.wait(cx.txn.reads().multi_get(cx.seq, &first)).await?;
        let there = empty.into_iter().zip(&found).filter(|(_, value)| value.is_some());
        let proved: Vec<usize> = there.map(|(at, _)| at).collect();
        self.decode_proved(keys, values, &proved)
    }

    /// The keys to be read for a row.
    pub fn keys_of(&self, primary_key: &[u8], into: &mut Vec<Key>) {
        into.extend(self.families.iter().map(|place| self.rows.family_key(primary_key, *place)));
    }

    /// Rows from the values of [`Reader::keys_of`], one chunk a row; `None` where there is none.
    pub fn decode(&self, keys: &[Key], values: &[Option<Value>]) -> Result<Vec<Option<Row>>> {
        self.decode_proved(keys, values, &[])
    }

    /// The same; the rows at `proved` are known to be there whatever their values say.
    pub fn decode_proved(
        &self,
        keys: &[Key],
        values: &[Option<Value>],
        proved: &[usize],
    ) -> Result<Vec<Option<Row>>> {
        let first_tells = self.reads_first();
        let width = self.families.len();
        let mut result = Vec::with_capacity(keys.len() / width.max(1));
        for (at, (keys, values)) in keys.chunks(width).zip(values.chunks(width)).enumerate() {
            // Family 0 says whether the row exists; so does a value in any other.
            let there = match first_tells {
                true => values[0].is_some(),
                false => values.iter().any(Option::is_some) || proved.contains(&at),
            };
            if !there {
                result.push(None);
                continue;
            }
            let found = values.iter().flatten().map(|value| &value[..]);
            result.push(Some(self.decoder.row(&keys[0], found)?));
        }
        Ok(result)
    }
}

/// The bounds and key columns of an access.
pub struct KeyBounds {
    /// What the index's keys start with.
    pub prefix: Vec<u8>,
    /// Its key columns.
    pub columns: Vec<KeyColumn>,
    /// Conditions on the first of them.
    pub bounds: Vec<Bound>,
    /// Distinguishes the index's keys from others between them, if there are any.
    pub shape: Option<Arc<dyn KeyShape>>,
}

impl KeyBounds {
    /// The bounds of a scan's access. An inverted index leads to rows of the whole primary index.
    pub fn new(scan: &Scan) -> Result<Self> {
        let table = &scan.table;
        let index = index_of(scan)?;
        if index.is_inverted() {
            let (bounds, primary) = (Vec::new(), &table.primary);
            let columns = KeyColumn::all(table, primary);
            let shape = table.key_shape_among(primary, scan.gap_keys);
            return Ok(Self { prefix: table.key_prefix(primary), columns, shape, bounds });
        }
        Ok(Self {
            prefix: table.key_prefix(index),
            columns: KeyColumn::all(table, index),
            shape: table.key_shape_among(index, scan.gap_keys),
            bounds: scan.access.bounds.clone(),
        })
    }

    /// Whether every key column has one or more single values.
    pub fn are_points(&self) -> bool {
        self.bounds.len() == self.columns.len() && self.bounds.iter().all(Bound::is_of_values)
    }

    /// The spans.
    pub async fn spans(&self, evaluator: &Evaluator) -> Result<Vec<Span>> {
        spans(&self.prefix, &self.columns, &self.bounds, evaluator).await
    }
}

/// A secondary index on the way to rows.
pub(crate) struct Secondary {
    /// Decodes the columns wanted, if the index has them all.
    pub covering: Option<IndexDecoder>,
    /// Decodes the primary key.
    pub primary: IndexDecoder,
}

impl Secondary {
    /// The index that a scan reads, if it is not the primary one. Rows that are locked are read
    /// by their primary keys.
    pub(crate) fn new(
        scan: &Scan,
        places: &[usize],
        reader: &Reader,
        locking: bool,
    ) -> Result<Option<Self>> {
        let table = &scan.table;
        let index = index_of(scan)?;
        if index.number == table.primary.number || index.is_inverted() {
            return Ok(None);
        }
        let rows = IndexRows::new(table, index)?;
        let covers = !locking && places.iter().all(|place| rows.has(table, *place));
        Ok(Some(Self {
            covering: covers.then(|| rows.reader(table, places)),
            primary: rows.reader(table, &reader.rows.primary_places()),
        }))
    }
}

/// The index that a scan reads.
pub(crate) fn index_of(scan: &Scan) -> Result<&Index> {
    let (table, number) = (&scan.table, scan.access.index);
    let found = table.all_indexes().find(|index| index.number == number);
    found.ok_or_else(|| Error::broken(format!("table \"{}\" has no index {number}", table.name)))
}

/// The entries of the index that a scan reads.
pub(crate) fn index_rows(scan: &Scan) -> Result<IndexRows> {
    IndexRows::new(&scan.table, index_of(scan)?)
}
