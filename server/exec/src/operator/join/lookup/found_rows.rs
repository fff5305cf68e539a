//! The right rows that a lookup join has found, as the store gave them: nothing is decoded before
//! a pair needs it.
//!
//! ```text
//!   places          0    1    2    3          found by their place (whole keys), or by a span
//!   entries         ├─ batch ─┤    ├─ batch      one entry is one row
//!   pairs           k0 v0     k1 –               a value for each key; there may be none
//!   rows            put together of several pairs, or decoded because several left rows use them
//! ```

use std::ops::Range;

use braid_kv::{Key, ScanBatch, Span, Value};
use braid_rows::{Columns, IndexDecoder, RowDecoder};
use braid_types::{Result, Row};

use crate::memory::row_bytes;

/// What decodes the entries of the right side.
#[derive(Clone, Copy)]
pub(super) enum EntryDecoder<'d> {
    OfRows(&'d RowDecoder),
    OfIndex(&'d IndexDecoder),
}

/// Entries of an index in key order, in the batches that scans have given.
#[derive(Default)]
pub(super) struct Entries {
    batches: Vec<ScanBatch>,
    /// The batch of each entry, and the place in it.
    places: Vec<(u32, u32)>,
}

/// Right rows that were read.
#[derive(Default)]
pub(super) struct FoundRows {
    order: Order,
    rows: Rows,
}

/// How the rows are found again.
#[derive(Default)]
enum Order {
    /// By the place of the key that was asked for.
    #[default]
    Asked,
    /// By spans of entries.
    Entries(Entries),
    /// By spans of keys.
    Keys(Vec<Key>),
}

enum Rows {
    /// The entries themselves.
    Entries,
    /// Pairs of the primary index.
    Pairs(Vec<Key>, Vec<Option<Value>>),
    Decoded(Vec<Option<Row>>),
}

impl Default for Rows {
    fn default() -> Self {
        Rows::Decoded(Vec::new())
    }
}

impl EntryDecoder<'_> {
    /// Appends the columns of an entry to a row.
    pub(super) fn append(self, row: &mut Row, (key, value): (&[u8], &[u8])) -> Result<()> {
        match self {
            EntryDecoder::OfRows(decoder) => decoder.append(row, key, value),
            EntryDecoder::OfIndex(decoder) => decoder.append(row, key, value),
        }
    }

    /// Empty columns of the types that are decoded.
    pub(super) fn columns(self) -> Columns {
        match self {
            EntryDecoder::OfRows(decoder) => decoder.columns(),
            EntryDecoder::OfIndex(decoder) => decoder.columns(),
        }
    }

    fn read_columns<'e>(
        self,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone,
        columns: &mut Columns,
    ) -> Result<()> {
        match self {
            EntryDecoder::OfRows(decoder) => decoder.read_columns(entries, columns),
            EntryDecoder::OfIndex(decoder) => decoder.read_columns(entries, columns),
        }
    }
}

impl Entries {
    /// Adds the next batch.
    pub(super) fn add(&mut self, batch: ScanBatch) {
        let number = self.batches.len() as u32;
        self.places.extend((0..batch.len() as u32).map(|i| (number, i)));
        self.batches.push(batch);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// All of them, in key order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone + '_ {
        self.batches.iter().flat_map(ScanBatch::iter)
    }

    fn get(&self, place: usize) -> (&[u8], &[u8]) {
        let (batch, i) = self.places[place];
        let batch = &self.batches[batch as usize];
        (batch.key(i as usize), batch.value(i as usize))
    }

    fn key_at(&self, (batch, i): (u32, u32)) -> &[u8] {
        self.batches[batch as usize].key(i as usize)
    }

    fn places_in(&self, span: &Span) -> Range<usize> {
        let from = self.places.partition_point(|at| self.key_at(*at) < span.start.as_slice());
        let rest = &self.places[from..];
        from..from + rest.partition_point(|at| self.key_at(*at) < span.end.as_slice())
    }
}

impl FoundRows {
    /// Entries, each of which is a row.
    pub(super) fn of_entries(entries: Entries) -> Self {
        Self { order: Order::Entries(entries), rows: Rows::Entries }
    }

    /// The rows that entries have led to.
    pub(super) fn by_entries(entries: Entries, found: FoundRows) -> Self {
        Self { order: Order::Entries(entries), rows: found.rows }
    }

    /// A pair for each key that was asked for.
    pub(super) fn of_pairs(keys: Vec<Key>, values: Vec<Option<Value>>) -> Self {
        Self { order: Order::Asked, rows: Rows::Pairs(keys, values) }
    }

    /// Decoded rows for the keys that were asked for.
    pub(super) fn of_rows(rows: Vec<Option<Row>>) -> Self {
        Self { order: Order::Asked, rows: Rows::Decoded(rows) }
    }

    /// Decoded rows with their keys, in key order.
    pub(super) fn of_rows_with_keys(keys: Vec<Key>, rows: Vec<Option<Row>>) -> Self {
        Self { order: Order::Keys(keys), rows: Rows::Decoded(rows) }
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        match (&self.rows, &self.order) {
            (Rows::Pairs(keys, _), _) => keys.len(),
            (Rows::Decoded(rows), _) => rows.len(),
            (Rows::Entries, Order::Entries(entries)) => entries.len(),
            (Rows::Entries, _) => 0,
        }
    }

    /// The number of rows that are there.
    pub(super) fn present(&self) -> usize {
        match &self.rows {
            Rows::Pairs(_, values) => values.iter().flatten().count(),
            Rows::Decoded(rows) => rows.iter().flatten().count(),
            Rows::Entries => self.len(),
        }
    }

    /// Whether there is a row at a place.
    pub(super) fn has(&self, place: usize) -> bool {
        match &self.rows {
            Rows::Pairs(_, values) => values[place].is_some(),
            Rows::Decoded(rows) => rows[place].is_some(),
            Rows::Entries => true,
        }
    }

    /// The places of the rows that a span has found.
    pub(super) fn places_in(&self, span: &Span) -> Range<usize> {
        match &self.order {
            Order::Asked => 0..0,
            Order::Entries(entries) => entries.places_in(span),
            Order::Keys(keys) => {
                let from = keys.partition_point(|key| *key < span.start);
                from..from + keys[from..].partition_point(|key| *key < span.end)
            }
        }
    }

    /// Whether all rows of a span have been read, although others may follow them.
    pub(super) fn has_all_of(&self, span: &Span) -> bool {
        let last = match &self.order {
            Order::Asked => None,
            Order::Entries(entries) => entries.places.last().map(|at| entries.key_at(*at)),
            Order::Keys(keys) => keys.last().map(Vec::as_slice),
        };
        last.is_some_and(|last| span.end.as_slice() <= last)
    }

    /// Appends the columns of the row at a place, which is there.
    pub(super) fn append(
        &self,
        place: usize,
        decoder: EntryDecoder<'_>,
        row: &mut Row,
    ) -> Result<()> {
        match (&self.rows, &self.order) {
            (Rows::Pairs(keys, values), _) => match &values[place] {
                Some(value) => decoder.append(row, (&keys[place][..], &value[..])),
                None => Ok(()),
            },
            (Rows::Decoded(rows), _) => {
                row.extend_from_slice(rows[place].as_deref().unwrap_or_default());
                Ok(())
            }
            (Rows::Entries, Order::Entries(entries)) => decoder.append(row, entries.get(place)),
            (Rows::Entries, _) => Ok(()),
        }
    }

    /// Decodes all rows now, because most of them are needed several times. Returns the bytes of
    /// the decoded rows.
    pub(super) fn decode(&mut self, decoder: EntryDecoder<'_>) -> Result<usize> {
        if matches!(self.rows, Rows::Decoded(_)) {
            return Ok(0);
        }
        let mut bytes = 0;
        let mut rows = Vec::with_capacity(self.len());
        for place in 0..self.len() {
            if !self.has(place) {
                rows.push(None);
                continue;
            }
            let mut row = Row::new();
            self.append(place, decoder, &mut row)?;
            bytes += row_bytes(&row);
            rows.push(Some(row));
        }
        self.rows = Rows::Decoded(rows);
        Ok(bytes)
    }

    /// Decodes the rows that are there by columns, in the order of their places.
    pub(super) fn read_columns(
        &self,
        decoder: EntryDecoder<'_>,
        columns: &mut Columns,
    ) -> Result<()> {
        columns.start(self.present());
        match (&self.rows, &self.order) {
            (Rows::Pairs(keys, values), _) => {
                let pairs = keys.iter().zip(values);
                let there = pairs.filter_map(|(key, value)| Some((&key[..], value.as_deref()?)));
                decoder.read_columns(there, columns)
            }
            (Rows::Decoded(rows), _) => {
                for row in rows.iter().flatten() {
                    for (column, value) in columns.list.iter_mut().zip(row) {
                        column.push(value.clone());
                    }
                }
                Ok(())
            }
            (Rows::Entries, Order::Entries(entries)) => {
                decoder.read_columns(entries.iter(), columns)
            }
            (Rows::Entries, _) => Ok(()),
        }
    }
}
