//! How long a request of the client may take, and when it can be cancelled.
//!
//! ```text
//!   message ──► attempt ──► 40001 ──► attempt ──► wait for a lock ──► answer
//!   └──────────────────────── statement_timeout ────────────────────────┘
//! ```
//!
//! Rules: `statement_timeout` counts from the client's message, over all attempts and all waits;
//! as in PostgreSQL, each statement of a list has its own time, and in the extended protocol the
//! time ends with Execute, Sync and Flush; a statement can be cancelled until its commit has
//! ended.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use braid_types::{Error, Result};
use tokio::time::Instant;

use crate::clock::now_micros;
use crate::entry::SessionEntry;
use crate::retry::reason::is_lock_refused;
use crate::session::Session;
use crate::timer::StatementTimer;

/// While it lives, the statement can be cancelled and its timeout runs.
pub(crate) struct StatementGuard {
    pub entry: Arc<SessionEntry>,
    pub timer: Option<Arc<StatementTimer>>,
}

impl Drop for StatementGuard {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.disarm();
        }
        self.entry.end_statement();
    }
}

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

/// Marks the beginning of a statement for cancel requests, timeouts and the activity view;
/// `None` if it is a part or another attempt of one that is marked.
pub(crate) fn guard_statement(session: &mut Session, text: &Arc<str>) -> Option<StatementGuard> {
    let entry = session.shared.entry.clone();
    if entry.is_running() {
        return None;
    }
    if let Some(waited) = entry.begin_statement(text, now_micros()) {
        session.shared.count_waiting(waited);
    }
    session.engine.counters.statements.here().fetch_add(1, Relaxed);
    Some(StatementGuard { entry, timer: armed(session) })
}

/// The same for the commit of a statement that has ended, and is not counted again.
pub(crate) fn guard_commit(session: &mut Session) -> Option<StatementGuard> {
    let entry = session.shared.entry.clone();
    if session.open.is_none() || entry.is_running() {
        return None;
    }
    entry.resume_statement();
    Some(StatementGuard { entry, timer: armed(session) })
}

/// The timer, if what the client has asked for has a deadline.
fn armed(session: &mut Session) -> Option<Arc<StatementTimer>> {
    let deadline = deadline_of(session)?;
    session.timer.arm(deadline);
    Some(session.timer.clone())
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
