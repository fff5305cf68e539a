//! The rows that a function of a user has given, before its caller reads them.

use std::sync::Arc;

use braid_types::{Datum, Result};

use crate::Memory;

/// What a value takes besides what it says itself, roughly, in bytes.
const VALUE_BYTES: usize = 32;
/// Bytes that are counted at a time.
const COUNTED_BYTES: usize = 4096;

/// The rows that a function of a user has given: a value each, which may be a record. They count
/// for the memory of the statement that has called it.
pub struct RoutineRows {
    values: std::collections::VecDeque<Datum>,
    memory: Arc<Memory>,
    taken: usize,
    pending: usize,
}

impl RoutineRows {
    /// No rows yet.
    pub fn new(memory: Arc<Memory>) -> Self {
        Self { values: std::collections::VecDeque::new(), memory, taken: 0, pending: 0 }
    }

    /// Adds a row. 53200 beyond the limit of memory.
    pub fn push(&mut self, value: Datum) -> Result<()> {
        self.pending += value.size_bytes() + VALUE_BYTES;
        if self.pending >= COUNTED_BYTES {
            let counted = std::mem::take(&mut self.pending);
            self.taken += counted;
            self.memory.take(counted)?;
        }
        self.values.push_back(value);
        Ok(())
    }

    /// The next row.
    pub fn pop(&mut self) -> Option<Datum> {
        self.values.pop_front()
    }
}

impl Drop for RoutineRows {
    fn drop(&mut self) {
        self.memory.give(self.taken);
    }
}
