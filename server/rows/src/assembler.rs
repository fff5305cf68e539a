//! Puts the pairs of rows back together.

use braid_kv::Key;
use braid_types::{Result, Row};

use crate::row_decoder::RowDecoder;

/// Assembles rows from their pairs, one pair a column family.
///
/// The pairs of a row follow each other, so a row is complete when a pair of another row comes.
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
        if let Some((known, row)) = &mut self.current
            && known.as_slice() == row_key
        {
            decoder.fill(row, value)?;
            return Ok(None);
        }
        let mut row = decoder.start(key)?;
        decoder.fill(&mut row, value)?;
        Ok(self.current.replace((row_key.to_vec(), row)))
    }

    /// Returns the last row, when there are no more pairs.
    pub fn finish(&mut self) -> Option<(Key, Row)> {
        self.current.take()
    }
}
