//! Memory that a function holds while it computes one value.

use crate::{Datum, Result, work};

/// Bytes that are counted at a time, so that most additions cost one comparison.
const PORTION_BYTES: usize = 64 << 10;

/// Counts what a function collects against the memory of the statement, and gives it back when it
/// is dropped. A function that holds less than one portion counts nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    held: usize,
    counted: usize,
}

impl Scratch {
    /// Counts bytes; 53200 if the statement's memory does not suffice.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.held = self.held.saturating_add(bytes);
        if self.held - self.counted > PORTION_BYTES { self.count() } else { Ok(()) }
    }

    /// Counts a value, and returns it.
    pub fn keep(&mut self, value: Datum) -> Result<Datum> {
        self.add(value.size_bytes())?;
        Ok(value)
    }

    #[cold]
    fn count(&mut self) -> Result<()> {
        let missing = self.held - self.counted;
        self.counted = self.held;
        work::take(missing)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.counted > 0 {
            work::give(self.counted);
        }
    }
}
