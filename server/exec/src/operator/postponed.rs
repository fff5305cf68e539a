//! Errors of rows that nobody may want.
//!
//! Operators compute rows in batches, PostgreSQL one by one: under a LIMIT it never computes the
//! rows after the last one that is wanted, nor meets their errors. So the rows before an error
//! are given first, and the error waits for the next call.

use braid_types::{Error, Result};

/// An error that waits until the rows before it have been given.
#[derive(Default)]
pub struct Postponed(Option<Error>);

impl Postponed {
    /// Fails if an error was waiting.
    pub fn check(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }

    /// Whether an error waits.
    pub fn is_waiting(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps an error if there are rows to be given before it. Errors of the store are returned at
    /// once, because the statement may run again while none of its rows was sent.
    pub fn keep(&mut self, error: Error, has_rows: bool) -> Result<()> {
        if !has_rows || error.cause::<braid_kv::Error>().is_some() {
            return Err(error);
        }
        self.0.get_or_insert(error);
        Ok(())
    }

    /// Whether a condition holds on a row, and no row before has failed.
    pub fn passes(&mut self, holds: Result<bool>) -> bool {
        match holds {
            Ok(holds) => holds && self.0.is_none(),
            Err(error) => {
                self.0.get_or_insert(error);
                false
            }
        }
    }
}
