//! COMMIT and ROLLBACK in the body of a procedure or of DO.
//!
//! ```text
//!   CALL ─ transaction 1 ─ COMMIT ─ transaction 2 ─ ROLLBACK ─ transaction 3 ─ the tag
//!          └ runs again     │        └ a conflict is the client's from here on
//!            from its start │
//!                           └ as at a COMMIT of the client: deferred checks, temporary tables,
//!                             notifications, locks, settings of SET LOCAL, cursors
//! ```
//!
//! Rules: once a transaction of a body has ended, and has not failed with a conflict, nothing
//! before that runs again; the rows of running loops are read before the transaction ends.

use braid_routines::plpgsql::TransactionEnd;
use braid_types::Result;

use super::definitions::lock_catalog;
use crate::retry::reason::is_retryable;
use crate::session::Session;
use crate::transaction::commit::commit_open;
use crate::transaction::commit_attempt::rollback_open;
use crate::transaction::open::{ensure_open, restart_kv};

/// Ends the transaction of a running body. The next one begins with the next statement.
pub(super) async fn end_transaction(session: &mut Session, end: TransactionEnd) -> Result<()> {
    let shared = session.shared.clone();
    shared.cursors.keep_loops(&shared.temp).await?;
    let modes = shared.modes();
    let result = match end.commits {
        true => commit_open(session).await,
        false => {
            rollback_open(session).await;
            Ok(())
        }
    };
    // A commit that has failed with a conflict has not happened. Any other may have.
    if !result.as_ref().is_err_and(is_retryable) {
        session.replay.end_inside();
    }
    result?;
    if end.chains {
        shared.state.lock().modes = modes;
    }
    Ok(())
}

/// A statement of a body runs, so the modes of its transaction stand.
pub(super) fn note_statement(session: &mut Session) {
    let open = ensure_open(session);
    open.statements = open.statements.max(1);
}

/// A definition that begins a transaction inside of a body locks the catalog before it reads it.
/// So it never meets a newer one, which only a rerun could cure.
pub(super) async fn lock_first(session: &mut Session) -> Result<()> {
    let is_first = ensure_open(session).statements == 0;
    if is_first && !session.shared.modes().read_only {
        restart_kv(session).await;
        let txn = ensure_open(session).txn.clone();
        lock_catalog(&txn).await?;
    }
    note_statement(session);
    Ok(())
}
