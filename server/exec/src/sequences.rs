//! Values of sequences: from the store, or of the session for temporary ones.

use braid_catalog::{Sequence, SequenceError, is_temporary};
use braid_types::{Error, Result};

use crate::{ExecContext, from_kv};

/// A sequence's failure as the client sees it.
fn from_sequence(error: SequenceError) -> Error {
    match error {
        SequenceError::Kv(error) => from_kv(error),
        SequenceError::Sql(error) => error,
    }
}

impl ExecContext {
    /// The next value. 2200H at the end of a sequence that does not cycle.
    pub async fn nextval(&self, sequence: &Sequence) -> Result<i64> {
        if is_temporary(sequence.id) {
            return self.services.sequence_values().lock().next_temporary(sequence);
        }
        self.sequences.nextval(sequence).await.map_err(from_sequence)
    }

    /// Sets the counter. 22003 outside of the sequence's bounds.
    pub async fn setval(&self, sequence: &Sequence, value: i64, called: bool) -> Result<()> {
        if is_temporary(sequence.id) {
            return self.services.sequence_values().lock().set_temporary(sequence, value, called);
        }
        self.sequences.setval(sequence, value, called).await.map_err(from_sequence)
    }

    /// `last_value` and `is_called`.
    pub async fn sequence_state(&self, sequence: &Sequence) -> Result<(i64, bool)> {
        if is_temporary(sequence.id) {
            return Ok(self.services.sequence_values().lock().state_temporary(sequence));
        }
        self.sequences.state(sequence).await.map_err(from_sequence)
    }
}
