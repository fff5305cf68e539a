//! The measurement of a session's statements: where it begins, pauses and ends.
//!
//! A statement's time is the time that `statement_timeout` counts: from the first message of its
//! request to its answer, over all attempts. The commit of an implicit transaction belongs to its
//! last statement.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use braid_sql::ast::Statement;
use braid_types::Error;

use super::class::StatementClass;
use super::finish::finish;
use super::running::{Logged, Running, Subject};
use super::traced::statement_span;
use super::traceparent::TraceParent;
use crate::session::Session;
use crate::transaction::machine::Block;

/// A statement begins, unless one runs already. `comment` is the trace that its own text names.
pub(crate) fn begin_statement(
    session: &mut Session,
    statement: &Statement,
    comment: Option<TraceParent>,
    subject: impl FnOnce() -> Subject,
) {
    match &session.observer.running {
        Some(running) if !running.is_paused() => return,
        Some(_) => end_statement(session, None),
        None => {}
    }
    let (threshold, setting) = {
        let state = session.shared.state.lock();
        (state.settings.active().log_min_duration, state.settings.traceparent())
    };
    let class = StatementClass::of(statement);
    let (trace, began) = (comment.or(setting), request_began(session));
    let mut running = Running::new(class, trace, began);
    let is_commented = comment.is_some();
    let span = trace.and_then(|trace| statement_span(session, trace, is_commented, began));
    if threshold.is_some() || span.is_some() {
        running.logged = Some(Logged {
            subject: subject(),
            threshold,
            span,
            retries: session.shared.retries.load(Relaxed),
            lock_micros: 0,
            round_trips: 0,
        });
    }
    session.observer.running = Some(running);
}

fn request_began(session: &Session) -> Instant {
    session.requested.map_or_else(Instant::now, tokio::time::Instant::into_std)
}

/// The running statement has turned out to be an EXECUTE of this one.
pub(crate) fn note_executed(session: &mut Session, statement: Option<&Statement>) {
    if let (Some(running), Some(statement)) = (&mut session.observer.running, statement) {
        running.class = StatementClass::of(statement);
    }
}

/// An Execute has ended. What it did outside of a block is not committed yet: its time goes on at
/// Sync.
pub(crate) fn end_execute(session: &mut Session, error: Option<&Error>) {
    let is_pending = error.is_none() && session.block == Block::None && session.open.is_some();
    match &mut session.observer.running {
        Some(running) if is_pending => running.pause(),
        _ => end_statement(session, error),
    }
}

/// The commit of the statement that was executed last begins, if it is pending.
pub(crate) fn resume_statement(session: &mut Session) {
    let now = request_began(session);
    if let Some(running) = &mut session.observer.running {
        running.resume(now);
    }
}

/// The statement has ended, with this error if it has failed.
pub(crate) fn end_statement(session: &mut Session, error: Option<&Error>) {
    let Some(mut running) = session.observer.running.take() else { return };
    if let Some(logged) = &mut running.logged {
        logged.retries = session.shared.retries.load(Relaxed).wrapping_sub(logged.retries);
    }
    finish(&session.engine, &session.shared.entry, &running, error);
}
