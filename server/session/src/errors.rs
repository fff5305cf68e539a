//! Which errors running again may cure.

use braid_types::{Error, SqlState};

/// Whether running the statement or the transaction again may help.
pub(crate) fn is_retryable(error: &Error) -> bool {
    matches!(error.state(), SqlState::SerializationFailure | SqlState::DeadlockDetected)
}
