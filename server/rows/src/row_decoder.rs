//! Decodes the key/value pairs of rows.

use std::sync::Arc;

use braid_catalog::ColumnId;
use braid_codec::value::{Cell, RowReader, decode_cell, decode_members};
use braid_types::{Datum, Result, Row, SqlType};

use crate::errors::from_codec;
use crate::key_part::{KeyPart, after_prefix};

/// Decodes chosen columns of primary pairs.
#[derive(Clone)]
pub struct RowDecoder {
    pub(crate) prefix_bytes: usize,
    pub(crate) parts: Vec<KeyPart>,
    /// Key part and place in the output, ascending.
    pub(crate) from_key: Vec<(usize, usize)>,
    pub(crate) from_value: Vec<(ColumnId, SqlType, usize)>,
    pub(crate) template: Row,
    /// The members that are wanted of some `jsonb` columns, by the place in the output.
    pub(crate) members: Vec<(usize, Arc<[Box<str>]>)>,
}

impl RowDecoder {
    /// Decodes of the `jsonb` column at a place of the output these members alone, where its value
    /// is an object.
    pub fn only_members(&mut self, out: usize, names: Arc<[Box<str>]>) {
        self.members.push((out, names));
    }

    /// The members that are wanted of the column at a place, if these are not all.
    pub(crate) fn members_at(&self, out: usize) -> Option<&Arc<[Box<str>]>> {
        self.members.iter().find(|(at, _)| *at == out).map(|(_, names)| names)
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.template.len()
    }

    /// Whether values are needed at all.
    pub fn needs_values(&self) -> bool {
        !self.from_value.is_empty()
    }

    /// The bytes of a pair's key that name its row (everything but the family).
    pub fn row_key<'k>(&self, key_bytes: &'k [u8]) -> Result<&'k [u8]> {
        let mut rest = after_prefix(key_bytes, self.prefix_bytes)?;
        for part in &self.parts {
            part.skip(&mut rest)?;
        }
        Ok(&key_bytes[..key_bytes.len() - rest.len()])
    }

    /// A row with the key's columns; the values' columns are as if no pair had them.
    pub(crate) fn start(&self, key_bytes: &[u8]) -> Result<Row> {
        let mut row = self.template.clone();
        self.read_key(&mut row, key_bytes)?;
        Ok(row)
    }

    /// A row of which the pairs' values are known; `key_bytes` is the key of any of its pairs.
    pub fn row<'v>(
        &self,
        key_bytes: &[u8],
        values: impl IntoIterator<Item = &'v [u8]>,
    ) -> Result<Row> {
        let mut row = self.start(key_bytes)?;
        values.into_iter().try_for_each(|value| self.fill(&mut row, value))?;
        Ok(row)
    }

    /// Appends the columns of a row that has one pair.
    pub fn append(&self, row: &mut Row, key_bytes: &[u8], value: &[u8]) -> Result<()> {
        let from = row.len();
        row.extend_from_slice(&self.template);
        self.read_key(&mut row[from..], key_bytes)?;
        self.fill(&mut row[from..], value)
    }

    fn read_key(&self, row: &mut [Datum], key_bytes: &[u8]) -> Result<()> {
        let mut rest = after_prefix(key_bytes, self.prefix_bytes)?;
        let mut wanted = self.from_key.iter().peekable();
        for (i, part) in self.parts.iter().enumerate() {
            if wanted.peek().is_none() {
                break;
            }
            if wanted.peek().is_some_and(|(place, _)| *place == i) {
                let datum = part.decode(&mut rest)?;
                while let Some((_, out)) = wanted.next_if(|(place, _)| *place == i) {
                    row[*out] = datum.clone();
                }
            } else {
                part.skip(&mut rest)?;
            }
        }
        Ok(())
    }

    /// Adds the columns that a pair's value has.
    pub(crate) fn fill(&self, row: &mut [Datum], value: &[u8]) -> Result<()> {
        if self.from_value.is_empty() {
            return Ok(());
        }
        let reader = RowReader::new(value).map_err(from_codec)?;
        for (id, ty, out) in &self.from_value {
            match reader.column(*id) {
                None => {}
                Some(Cell::Null) => row[*out] = Datum::Null,
                Some(Cell::Bytes(bytes)) => {
                    let decoded = match self.members_at(*out) {
                        Some(names) => decode_members(bytes, names),
                        None => decode_cell(bytes, ty),
                    };
                    row[*out] = decoded.map_err(from_codec)?;
                }
            }
        }
        Ok(())
    }
}
