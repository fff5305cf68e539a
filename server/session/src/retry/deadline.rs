//! How long a request of the client may take.
//!
//! ```text
//!   message ──► attempt ──► 40001 ──► attempt ──► wait for a lock ──► answer
//!   └──────────────────────── statement_timeout ────────────────────────┘
//! ```
//!
//! Rules: `statement_timeout` counts from the client's message, over all attempts and all waits;
//! as in PostgreSQL, each statement of a list has its own time, and in the extended protocol the
//! time ends with Execute, Sync and Flush.

use std::time::Duration;

use braid_types::{Error, Result};
use tokio::time::Instant;

use crate::retry::reason::is_lock_refused;
use crate::session::Session;

/// A message that is part of a request is here: its time runs, unless it runs already.
pub(crate) fn begin_request(session: &mut Session) {
    session.requested.get_or_insert_with(Instant::now);
}

/// 57014 for the next message of a request whose time is over: a slow client uses it up too.
pub(crate) fn check_request(session: &mut Session) -> Result<()> {
    if session.requested.is_none() {
        return Ok(());
    }
    let is_late = deadline_of(session).is_some_and(|at| at <= Instant::now());
    if is_late { Err(session.engine.statement_timeout()) } else { Ok(()) }
}

/// What the client has asked for has been answered.
pub(crate) fn end_request(session: &mut Session) {
    session.requested = None;
}

/// When what the client has asked for has to be done.
pub(crate) fn deadline_of(session: &mut Session) -> Option<Instant> {
    let after = session.active().statement_timeout?;
    session.requested.unwrap_or_else(Instant::now).checked_add(after)
}

/// How long the commit may wait for a lock: `lock_timeout`, or what is left of the time.
pub(crate) fn commit_lock_timeout(session: &mut Session) -> Option<Duration> {
    let left = deadline_of(session).map(|at| at.saturating_duration_since(Instant::now()));
    let timeout = session.active().lock_timeout;
    timeout.into_iter().chain(left).min()
}

/// The error of a commit that has waited for a lock until there was no time left.
pub(crate) fn late_commit(session: &mut Session, error: Error) -> Error {
    let is_late = deadline_of(session).is_some_and(|at| at <= Instant::now());
    if is_late && is_lock_refused(&error) { session.engine.statement_timeout() } else { error }
}
