//! What is gathered while a table is read: batch by batch, and column by column.

use std::borrow::Cow;
use std::hash::BuildHasher;

use braid_catalog::Table;
use braid_rows::{Column, Columns, IntKind, Values};
use braid_types::{Datum, Row};

use super::distinct::{Distinct, ValueHasher};
use super::sample::Sample;

/// Columns of an index that are counted together.
const PREFIX_COLUMNS_MAX: usize = 8;
/// Sets of columns that are counted together in one table.
const PREFIXES_MAX: usize = 64;
/// Bytes of a value that has the size of its type, as PostgreSQL stores it.
const WORD_BYTES: u64 = 8;
const DATE_BYTES: u64 = 4;

/// What is counted of a column in all rows.
pub(super) struct ColumnCount {
    pub distinct: Distinct,
    pub nulls: u64,
    /// Bytes of the values as PostgreSQL stores them.
    pub bytes: u64,
}

/// Everything that is gathered while a table is read.
pub(super) struct Counts {
    pub columns: Vec<ColumnCount>,
    /// Prefixes of indexes: the places of their columns.
    pub groups: Vec<(Vec<usize>, Distinct)>,
    pub sample: Sample,
    pub rows: u64,
    /// Bytes of all rows in memory.
    pub bytes: u64,
    hasher: ValueHasher,
    /// The hashes of a batch, by columns: buffers that are used again.
    hashes: Vec<Vec<u64>>,
}

impl Counts {
    pub(super) fn new(table: &Table) -> Self {
        let column = |_| ColumnCount { distinct: Distinct::new(), nulls: 0, bytes: 0 };
        Counts {
            columns: (0..table.columns.len()).map(column).collect(),
            groups: prefixes(table).into_iter().map(|places| (places, Distinct::new())).collect(),
            sample: Sample::new(),
            rows: 0,
            bytes: 0,
            hasher: ValueHasher::default(),
            hashes: vec![Vec::new(); table.columns.len()],
        }
    }

    /// Counts a batch of rows with all columns of the table.
    pub(super) fn add(&mut self, batch: &Columns) {
        self.rows += batch.rows as u64;
        for (place, column) in batch.list.iter().enumerate() {
            self.add_column(place, column, batch.rows);
        }
        for (places, distinct) in &mut self.groups {
            for i in 0..batch.rows {
                let mut together = 0;
                for place in places.iter() {
                    together = self.hasher.hash_one((together, self.hashes[*place][i]));
                }
                distinct.add(together);
            }
        }
        for i in 0..batch.rows {
            self.sample.add(|| {
                let mut row = Row::new();
                batch.read_row(i, &mut row);
                row
            });
        }
    }

    fn add_column(&mut self, place: usize, column: &Column, rows: usize) {
        let (count, hashes) = (&mut self.columns[place], &mut self.hashes[place]);
        hashes.clear();
        for i in 0..rows {
            let is_null = column.is_null(i);
            let hash = match &column.values {
                Values::Ints(_, values) if !is_null => self.hasher.hash_one(values[i]),
                _ => self.hasher.hash_one(&*column.value(i)),
            };
            hashes.push(hash);
            if is_null {
                count.nulls += 1;
            } else {
                count.distinct.add(hash);
            }
        }
        let (stored, held) = bytes(column, rows);
        count.bytes += stored;
        self.bytes += held;
    }
}

/// Bytes of a column's values as PostgreSQL stores them, and in memory.
fn bytes(column: &Column, rows: usize) -> (u64, u64) {
    let fixed = match &column.values {
        Values::Ints(IntKind::Date, _) => Some(DATE_BYTES),
        Values::Ints(..) | Values::Floats(_) => Some(WORD_BYTES),
        Values::Decimals(_) | Values::Data(_) => None,
    };
    let (mut stored, mut held) = (0, 0);
    for i in 0..rows {
        let value = match fixed {
            Some(_) => Cow::Owned(Datum::Null),
            None => column.value(i),
        };
        held += value.size_bytes() as u64;
        if !column.is_null(i) {
            stored += fixed.unwrap_or_else(|| width(&value) as u64);
        }
    }
    (stored, held)
}

/// Prefixes of two columns and more of the table's indexes, each set of columns once.
fn prefixes(table: &Table) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    for index in table.all_indexes() {
        let mut places: Vec<usize> = Vec::new();
        for key in index.keys.iter().take(PREFIX_COLUMNS_MAX) {
            let place = table.position_of(key.column);
            // No row has the keys of indexes that are expressions.
            let place = place.filter(|place| !table.columns[*place].is_key_expr);
            let Some(place) = place.filter(|place| !places.contains(place)) else { break };
            places.push(place);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            if sorted.len() > 1 && !found.contains(&sorted) && found.len() < PREFIXES_MAX {
                found.push(sorted);
            }
        }
    }
    found
}

/// Bytes of a value as PostgreSQL stores it, of variable length with its header.
fn width(datum: &Datum) -> usize {
    match datum {
        Datum::Null | Datum::Bool(_) => 1,
        Datum::Int(_) | Datum::Float(_) => 8,
        Datum::Date(_) | Datum::Enum(_) => 4,
        Datum::Time(_) | Datum::Timestamp(_) | Datum::Timestamptz(_) => 8,
        Datum::Uuid(_) | Datum::Interval(_) => 16,
        Datum::Text(value) => headed(value.len()),
        Datum::Bytes(value) => headed(value.len()),
        other => other.size_bytes(),
    }
}

/// The length with the header of a value of variable length.
fn headed(length: usize) -> usize {
    if length < 127 { length + 1 } else { length + 4 }
}
