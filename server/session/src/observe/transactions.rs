//! The measurement of a session's transactions.
//!
//! A transaction's time begins at BEGIN, without one at its first statement. It ends with the
//! commit or the rollback. Attempts that the server repeats are one transaction.

use std::time::Instant;

use super::traced::end_transaction_span;
use crate::session::Session;
use crate::transaction::machine::Block;
use crate::transaction::state::Open;

/// A transaction begins, unless one has begun.
pub(crate) fn begin_transaction(session: &mut Session) {
    session.observer.began.get_or_insert_with(Instant::now);
}

/// Whether a transaction has something to write, definitions included.
pub(crate) fn has_written(open: &Open) -> bool {
    open.draft.is_open() || open.txn.writes().is_any()
}

/// Counts a transaction that has ended.
pub(crate) fn end_transaction(session: &mut Session, has_written: bool, is_committed: bool) {
    session.shared.count_transaction(is_committed);
    if let Some(began) = session.observer.began.take() {
        let times = &session.engine.counters.times;
        times.transaction(has_written, is_committed, began.elapsed());
        end_transaction_span(session, began, (has_written, is_committed));
    }
}

/// The client has its answer: nothing goes on unless a transaction is open.
pub(crate) fn note_idle(session: &mut Session) {
    if session.block == Block::None && session.open.is_none() {
        session.observer.began = None;
        session.observer.transaction = None;
    }
}
