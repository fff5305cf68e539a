//! What decodes the entries of a scan by columns.

use braid_rows::{Columns, IndexDecoder, RowDecoder};
use braid_types::Result;

use super::Layout;

/// Decodes pairs by columns.
pub(super) enum Decoder {
    Rows(RowDecoder),
    Entries(IndexDecoder),
}

impl Decoder {
    /// What decodes all columns.
    pub(super) fn of(layout: &Layout) -> Self {
        match layout.covering() {
            Some(decoder) => Decoder::Entries(decoder.clone()),
            None => Decoder::Rows(layout.reader.decoder.clone()),
        }
    }

    /// Two decoders: of the columns at places that are wanted first, and of the others.
    pub(super) fn split(&self, first: impl Fn(usize) -> bool) -> (Self, Self) {
        match self {
            Decoder::Rows(decoder) => {
                let (first, rest) = decoder.split(first);
                (Decoder::Rows(first), Decoder::Rows(rest))
            }
            Decoder::Entries(decoder) => {
                let (first, rest) = decoder.split(first);
                (Decoder::Entries(first), Decoder::Entries(rest))
            }
        }
    }

    pub(super) fn read_columns<'e>(
        &self,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone,
        columns: &mut Columns,
    ) -> Result<()> {
        match self {
            Decoder::Rows(decoder) => decoder.read_columns(entries, columns),
            Decoder::Entries(decoder) => decoder.read_columns(entries, columns),
        }
    }
}

impl Layout {
    /// Empty columns of the types that are decoded.
    pub(super) fn columns(&self) -> Columns {
        match self.covering() {
            Some(decoder) => decoder.columns(),
            None => self.reader.decoder.columns(),
        }
    }

    /// What decodes the entries of a secondary index that has all columns.
    fn covering(&self) -> Option<&IndexDecoder> {
        self.secondary.as_ref()?.covering.as_ref()
    }
}
