//! Rows divided by a hash of their keys: equal keys are in the same partition.
//!
//! Each level of partitions uses another hash, so that a partition can be divided again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use braid_types::{Datum, Result};

use crate::spill::file::TempFile;
use crate::spill::stream::{RowStream, RowWriter, block_bytes};

/// How many partitions there are.
pub(crate) const PARTITIONS: usize = 32;
/// How often rows are divided. Rows that do not fit after that have few different keys.
pub(crate) const LEVELS_MAX: usize = 6;

/// Writes rows into partitions.
pub(crate) struct Partitions {
    level: usize,
    writers: Vec<RowWriter>,
}

impl Partitions {
    /// Empty partitions. Their buffers take about that much memory.
    pub(crate) fn new(file: &Arc<TempFile>, level: usize, memory: usize) -> Self {
        let block = block_bytes(memory, PARTITIONS);
        let writers = (0..PARTITIONS).map(|_| RowWriter::new(file, block)).collect();
        Self { level, writers }
    }

    /// Adds a row to the partition of its key.
    pub(crate) fn push<'d>(
        &mut self,
        key: impl IntoIterator<Item = &'d Datum>,
        row: &[Datum],
    ) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        self.level.hash(&mut hasher);
        for datum in key {
            datum.hash(&mut hasher);
        }
        let place = (hasher.finish() % PARTITIONS as u64) as usize;
        self.writers[place].push(row)
    }

    /// The partitions, empty ones as well.
    pub(crate) fn finish(self) -> Result<Vec<RowStream>> {
        self.writers.into_iter().map(RowWriter::finish).collect()
    }
}
