//! Memory that operators reserve for what they keep.

use std::sync::Arc;

use braid_types::{Error, Result, Row};

use crate::memory::row_bytes;
use crate::operator::ExecutionState;

/// Memory counted for what an operator keeps; given back when the operator ends.
pub struct MemoryReservation {
    run: Arc<ExecutionState>,
    bytes: usize,
    /// Bytes beside the limits, of an operator that spills.
    working: usize,
}

/// Memory for the buffers of an operator that spills, at most.
const BUFFER_BYTES_MAX: usize = 8 << 20;

impl MemoryReservation {
    /// Nothing yet.
    pub fn new(run: &Arc<ExecutionState>) -> Self {
        Self { run: run.clone(), bytes: 0, working: 0 }
    }

    /// Counts bytes; 53200 beyond the limit.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        self.run.cx.memory.take(bytes)
    }

    /// Counts bytes; false if the operator has to spill instead.
    pub fn try_take(&mut self, bytes: usize) -> Result<bool> {
        if self.run.cx.memory.try_take(bytes)? {
            self.bytes += bytes;
            return Ok(true);
        }
        let fits = self.working + bytes <= self.run.cx.memory.working_bytes();
        if fits {
            self.working += bytes;
        }
        Ok(fits)
    }

    /// Counts rows; false if the operator has to spill instead.
    pub fn try_take_rows(&mut self, rows: &[Row]) -> Result<bool> {
        self.try_take(rows.iter().map(|row| row_bytes(row)).sum())
    }

    /// Counts memory for buffers: how many bytes.
    pub fn take_buffers(&mut self) -> Result<usize> {
        let memory = &self.run.cx.memory;
        let wanted = (memory.room() / 2).max(memory.working_bytes() / 2).min(BUFFER_BYTES_MAX);
        self.try_take(wanted)?;
        Ok(wanted)
    }

    /// Counts rows; 53200 beyond the limit.
    pub fn take_rows(&mut self, rows: &[Row]) -> Result<()> {
        self.take(rows.iter().map(|row| row_bytes(row)).sum())
    }

    /// Takes over what another one has counted.
    pub(crate) fn absorb(&mut self, mut other: MemoryReservation) {
        self.bytes += std::mem::take(&mut other.bytes);
        self.working += other.working;
    }

    /// Bytes counted since the last [`MemoryReservation::clear`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.working = 0;
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
