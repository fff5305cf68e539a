//! Puts the pairs of rows back together.

use braid_kv::Key;
use braid_types::{Error, Result, Row};

use crate::row_decoder::RowDecoder;

/// Assembles rows from their pairs, one pair a column family.
///
/// The pairs of a row follow each other, so a row is complete when a pair of another row comes.
/// A scan of one table calls [`RowAssembler::add`]. The other methods are its steps, for a caller
/// that reads several tables at once or goes on after a pair that cannot be read.
#[derive(Default)]
pub struct RowAssembler {
    /// The row whose pairs are being read, by its key without the family.
    current: Option<(Key, Row)>,
}

impl RowAssembler {
    /// Adds a pair. Returns the row before it, if this pair begins another row.
    pub fn add(
        &mut self,
        decoder: &RowDecoder,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<(Key, Row)>> {
        let row_key = decoder.row_key(key)?;
        if self.is_at(row_key) {
            self.fill(decoder, value)?;
            return Ok(None);
        }
        let complete = self.finish();
        self.begin(decoder, row_key, key)?;
        self.fill(decoder, value)?;
        Ok(complete)
    }

    /// Whether the pairs being read are of this row.
    pub fn is_at(&self, row_key: &[u8]) -> bool {
        self.current.as_ref().is_some_and(|(known, _)| known.as_slice() == row_key)
    }

    /// Begins a row with the columns of its key. The row before must have been finished.
    pub fn begin(&mut self, decoder: &RowDecoder, row_key: &[u8], key: &[u8]) -> Result<()> {
        debug_assert!(self.current.is_none(), "a row was not finished before the next one began");
        self.current = Some((row_key.to_vec(), decoder.start(key)?));
        Ok(())
    }

    /// Adds the columns that a pair's value has to the row that was begun.
    pub fn fill(&mut self, decoder: &RowDecoder, value: &[u8]) -> Result<()> {
        match &mut self.current {
            Some((_, row)) => decoder.fill(row, value),
            None => Err(Error::broken("a pair's value came before its row was begun")),
        }
    }

    /// Returns the last row, when there are no more pairs.
    pub fn finish(&mut self) -> Option<(Key, Row)> {
        self.current.take()
    }
}

/// Recognizes where the pairs of another row begin, by their keys alone.
#[derive(Default)]
pub struct RowKeys {
    /// The row of the last pair, by its key without the family.
    last: Key,
}

impl RowKeys {
    /// The row's key without the family, if this pair is the first one of its row.
    pub fn next<'k>(&mut self, decoder: &RowDecoder, key: &'k [u8]) -> Result<Option<&'k [u8]>> {
        let row_key = decoder.row_key(key)?;
        if self.last == row_key {
            return Ok(None);
        }
        self.last.clear();
        self.last.extend_from_slice(row_key);
        Ok(Some(row_key))
    }
}
