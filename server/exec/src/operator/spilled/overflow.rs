//! Rows that an operator defers because its hash table is full.
//!
//! ```text
//!   input ──▶ known key ──▶ hash table
//!        └──▶ new key, table full ──▶ partition of its hash ──▶ later: the same operator over it
//! ```
//!
//! The hash table takes no new keys from then on. So every partition has only keys that the table
//! has not, and each can be processed for itself.

use std::sync::Arc;

use braid_plan::explain::DiskUse;
use braid_types::{Datum, Result};

use crate::operator::ExecutionState;
use crate::operator::reservation::{MemoryReservation, broken};
use crate::spill::file::TempFile;
use crate::spill::partitions::{LEVELS_MAX, Partitions};
use crate::spill::stream::RowStream;

/// Rows that are deferred.
#[derive(Default)]
pub(crate) struct Overflow {
    /// How often these rows were divided before.
    level: usize,
    file: Option<Arc<TempFile>>,
    partitions: Option<Partitions>,
}

impl Overflow {
    /// The same for an operator over one of the partitions.
    pub(crate) fn below(&self) -> Self {
        Self { level: self.level + 1, file: self.file.clone(), partitions: None }
    }

    /// Whether the operator is one over a partition.
    pub(crate) fn is_below(&self) -> bool {
        self.level > 0
    }

    /// Whether dividing the rows once more is of no use.
    pub(crate) fn is_deepest(&self) -> bool {
        self.level >= LEVELS_MAX
    }

    /// Whether rows with new keys are deferred.
    pub(crate) fn is_active(&self) -> bool {
        self.partitions.is_some()
    }

    /// From now on rows with new keys are deferred.
    pub(crate) fn begin(
        &mut self,
        run: &ExecutionState,
        held: &mut MemoryReservation,
    ) -> Result<()> {
        if self.partitions.is_none() {
            self.partitions = Some(self.partitions(run, held)?);
        }
        Ok(())
    }

    /// Empty partitions of this level.
    pub(crate) fn partitions(
        &mut self,
        run: &ExecutionState,
        held: &mut MemoryReservation,
    ) -> Result<Partitions> {
        Ok(Partitions::new(&self.file(run)?, self.level, held.take_buffers()?))
    }

    /// The file of the operator, made if there is none.
    pub(crate) fn file(&mut self, run: &ExecutionState) -> Result<Arc<TempFile>> {
        match &self.file {
            Some(file) => Ok(file.clone()),
            None => Ok(self.file.insert(TempFile::create(&run.cx.temp)?).clone()),
        }
    }

    /// Puts a row off.
    pub(crate) fn push<'d>(
        &mut self,
        key: impl IntoIterator<Item = &'d Datum>,
        row: &[Datum],
    ) -> Result<()> {
        match &mut self.partitions {
            Some(partitions) => partitions.push(key, row),
            None => Err(broken("no partitions for a row that is deferred")),
        }
    }

    /// The partitions that have rows.
    pub(crate) fn finish(&mut self) -> Result<std::vec::IntoIter<RowStream>> {
        let mut streams = self.finish_all()?;
        streams.retain(|stream| stream.rows() > 0);
        Ok(streams.into_iter())
    }

    /// All partitions, by their number; none if nothing was deferred.
    pub(crate) fn finish_all(&mut self) -> Result<Vec<RowStream>> {
        let streams = self.partitions.take().map_or(Ok(Vec::new()), Partitions::finish)?;
        self.add_batches(streams.iter().filter(|stream| stream.rows() > 0).count());
        Ok(streams)
    }

    /// Counts partitions that are processed one by one.
    pub(crate) fn add_batches(&self, count: usize) {
        if let Some(file) = &self.file {
            file.add_batches(count);
        }
    }

    /// What was written, partitions of partitions included.
    pub(crate) fn spilled(&self) -> Option<DiskUse> {
        let file = self.file.as_ref()?;
        // The table itself is a batch, too.
        Some(DiskUse { sorts: false, batches: file.batches() + 1, bytes: file.bytes() })
    }
}

/// Whether dividing this partition of rows of that many bytes would not help: nearly all of them
/// are in it, so they have few keys.
pub(crate) fn is_lopsided(overflow: &Overflow, partition: &RowStream, total_bytes: u64) -> bool {
    overflow.level + 1 >= LEVELS_MAX || partition.memory_bytes() > total_bytes / 10 * 9
}
