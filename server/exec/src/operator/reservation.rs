//! Memory that operators reserve for what they keep.

use std::sync::Arc;

use braid_types::{Error, Result, Row};

use crate::memory::row_bytes;
use crate::operator::ExecutionState;

/// Memory counted for what an operator keeps; given back when the operator ends.
pub struct MemoryReservation {
    run: Arc<ExecutionState>,
    bytes: usize,
}

impl MemoryReservation {
    /// Nothing yet.
    pub fn new(run: &Arc<ExecutionState>) -> Self {
        Self { run: run.clone(), bytes: 0 }
    }

    /// Counts bytes; 53200 beyond the limit.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        self.run.cx.memory.take(bytes)
    }

    /// Counts rows; 53200 beyond the limit.
    pub fn take_rows(&mut self, rows: &[Row]) -> Result<()> {
        self.take(rows.iter().map(|row| row_bytes(row)).sum())
    }

    /// Bytes counted since the last [`MemoryReservation::clear`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.run.cx.memory.give(std::mem::take(&mut self.bytes));
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A bug: an operator was asked for something it cannot have.
pub(crate) fn broken(what: &str) -> Error {
    Error::internal(what)
}
