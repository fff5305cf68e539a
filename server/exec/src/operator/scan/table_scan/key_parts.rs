//! What the keys of an index begin with.

use braid_rows::{KeyColumn, columns_end};
use braid_types::Result;

use crate::operator::scan::reader::KeyBounds;

/// The first columns of an index's keys.
pub(super) struct KeyParts {
    prefix_bytes: usize,
    columns: Vec<KeyColumn>,
}

impl KeyParts {
    /// The first of the columns that bounds are about.
    pub(super) fn new(bounds: &KeyBounds, columns: usize) -> Self {
        let columns = bounds.columns.iter().take(columns).cloned().collect();
        Self { prefix_bytes: bounds.prefix.len(), columns }
    }

    /// Where they end in a key.
    pub(super) fn end(&self, key: &[u8]) -> Result<usize> {
        columns_end(key, self.prefix_bytes, &self.columns)
    }
}
