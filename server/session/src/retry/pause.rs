//! The pauses between the attempts that the server makes by itself.
//!
//! ```text
//!   pause = attempt × (1 to 7 ms, by the session), at most 50 ms; none before the first three
//!   a table that is closed to writers: attempt × 20 ms more, at most 500 ms
//! ```

use std::time::Duration;

use braid_types::{Error, Result};

use crate::retry::reason::is_closed;
use crate::session::Session;

/// This number of attempts begins without a pause.
const UNPAUSED: u32 = 3;
/// Sessions that met each other pause for different times: this many.
const SPREAD: u32 = 7;
/// The longest pause, in milliseconds.
const PAUSE_MILLIS_MAX: u64 = 50;
/// The pause before a statement looks again whether its table is open to writers, times the number
/// of the attempt.
const CLOSED_PAUSE: Duration = Duration::from_millis(20);
/// The longest such pause. The failed attempt may hold its locks meanwhile.
const CLOSED_PAUSE_MAX: Duration = Duration::from_millis(500);

/// The pause before an attempt, none before the first three. Fails if the client, or its timeout,
/// has stopped the request.
pub(crate) async fn pause(session: &Session, attempt: u32) -> Result<()> {
    let cancel = &session.shared.entry.cancel;
    if attempt > UNPAUSED {
        let spread = u64::from(session.shared.entry.pid.unsigned_abs() % SPREAD) + 1;
        let millis = (u64::from(attempt) * spread).min(PAUSE_MILLIS_MAX);
        tokio::select! {
            biased;
            error = cancel.stopped() => return Err(error),
            () = tokio::time::sleep(Duration::from_millis(millis)) => {}
        }
    }
    cancel.check()
}

/// Counts an error that the server retries itself, and pauses before the next attempt.
pub(crate) async fn note_rerun(session: &Session, error: &Error, attempt: u32) -> Result<()> {
    session.shared.count_server_retry(error);
    if is_closed(error) {
        let cancel = &session.shared.entry.cancel;
        tokio::select! {
            biased;
            error = cancel.stopped() => return Err(error),
            () = tokio::time::sleep((CLOSED_PAUSE * attempt).min(CLOSED_PAUSE_MAX)) => {}
        }
    }
    pause(session, attempt).await
}
