//! One attempt of a commit, rollbacks, and what ends with every transaction.
//!
//! Rules: deferred checks come before the commit writes anything; the catalog's draft, the settings
//! and the write buffer go back together; a commit ends as committed, retry or unknown.

use std::sync::Arc;

use braid_catalog::PendingChange;
use braid_cluster::{PreparedInfo, ReserveRefusal, Token, token_key};
use braid_exec::from_kv;
use braid_kv::{CommitOutcome, Error as Kv, Preparation, Result as KvResult, Transaction};
use braid_types::{Error, Result, SqlState, work};

use crate::groups::ParallelStatements;
use crate::notify::commit::{announce, announced};
use crate::observe::transactions::{end_transaction, has_written};
use crate::session::Session;
use crate::statement::cursor_rows::{Rows, forget_cursors};
use crate::statement::deadline::{commit_lock_timeout, late_commit};
use crate::transaction::deferred_constraints::{check_changed, check_deferred};
use crate::transaction::machine::Event;
use crate::transaction::state::{BlockState, Open};
use crate::transaction::temporary_objects::end_temporary;

/// Reads cursors WITH HOLD to their end, before their transaction commits.
pub(crate) async fn materialize_held(session: &mut Session) -> Result<()> {
    let cancel = session.shared.entry.cancel.clone();
    for portal in session.portals.values_mut() {
        let Some(state) = portal.cursor.as_deref_mut() else { continue };
        if !state.hold || portal.held {
            continue;
        }
        let scroll = state.scroll.replace(true);
        let mut rows = Rows { run: &mut portal.run, state, cancel: &cancel };
        let result = rows.read_to(i64::MAX).await;
        rows.state.scroll = scroll;
        result?;
        portal.held = true;
    }
    Ok(())
}

pub(crate) fn end_block(session: &mut Session) {
    session.block.follow(Event::Forget);
    session.block_state = BlockState::default();
}

/// How a transaction that has done its work ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It commits.
    Commit,
    /// It commits, but a retry leaves it open, begun again with its locks.
    CommitOrRestart,
    /// It is prepared.
    Prepare(PreparedInfo),
}

pub(crate) async fn commit_kv(
    session: &mut Session,
    open: &mut Open,
    token: Option<Token>,
    ending: &Ending,
) -> Result<()> {
    check_deferred(session, open).await?;
    end_temporary(session, open).await?;
    let mut pending: Option<PendingChange> = None;
    if let Some(draft) = open.draft.get() {
        let seq = open.txn.next_statement();
        pending = draft.flush(&session.engine.catalog, &open.txn, seq).await.map_err(from_kv)?;
    }
    if let Some(token) = token {
        Box::pin(session.shared.record_token(&open.txn, token)).await?;
    }
    open.txn.locks().set_timeout(commit_lock_timeout(session));
    let announcement = announce(session, &open.txn).await?;
    // Others may wait for this commit, or be part of the same one.
    work::return_home().await;
    let outcome = match ending {
        Ending::Commit => open.txn.commit().await.and_then(CommitOutcome::into_result).map(drop),
        Ending::CommitOrRestart => {
            open.txn.commit_or_restart().await.and_then(CommitOutcome::into_result).map(drop)
        }
        Ending::Prepare(info) => Box::pin(prepare_kv(session, &open.txn, info)).await?,
    };
    drop(pending);
    if let (Ok(()), Some(announcement)) = (&outcome, announcement) {
        announced(session, announcement).await;
    }
    match (outcome, token) {
        (Err(Kv::Duplicate { key, .. }), Some(token)) if key == token_key(token) => {
            Err(Box::pin(session.shared.token_used(token)).await)
        }
        (Err(Kv::CheckChanged(conflict)), _) => {
            Err(Box::pin(check_changed(session, &conflict)).await)
        }
        (outcome, _) => outcome.map_err(|error| {
            let error = session.commit_error(error, open.unchecked.as_ref());
            late_commit(session, error)
        }),
    }
}

/// Prepares the transaction under its identifier. The outer error is one of the identifier.
///
/// Once the record may be stored, the attempt runs to its end in a task of its own. The list of
/// prepared transactions has to know how it ends.
async fn prepare_kv(
    session: &Session,
    txn: &Arc<Transaction>,
    info: &PreparedInfo,
) -> Result<KvResult<()>> {
    let prepared = &session.engine.prepared;
    let reservation = prepared.reserve(info.clone()).map_err(|refusal| match refusal {
        ReserveRefusal::InUse => {
            let message = format!("transaction identifier \"{}\" is already in use", info.gid);
            Error::new(SqlState::DuplicateObject, message)
        }
        ReserveRefusal::TooMany => {
            let message = "maximum number of prepared transactions reached";
            let max = prepared.max();
            let hint = format!("Increase max_prepared_transactions (currently {max}).");
            Error::new(SqlState::OutOfMemory, message).hint(hint)
        }
    })?;
    let preparation = tokio::select! {
        biased;
        locked = Preparation::begin(txn) => match locked {
            Ok(preparation) => preparation,
            Err(error) => return Ok(Err(error)),
        },
        error = session.shared.entry.cancel.stopped() => return Err(error),
    };
    let task = tokio::spawn(reservation.prepare(preparation));
    Ok(task.await.unwrap_or(Err(Kv::Unknown)))
}

/// Rolls back what is open. The block, if there is one, goes on as it is.
pub(crate) async fn rollback_open(session: &mut Session) {
    if let Some(written) = session.open.as_ref().map(has_written) {
        end_transaction(session, written, false);
    }
    roll_back_work(session).await;
}

async fn roll_back_work(session: &mut Session) {
    session.stop_group().await;
    if let Some(open) = session.open.take() {
        open.txn.rollback().await;
        session.shared.state.lock().round_trips = open.txn.round_trips().count();
    }
    session.shared.state.lock().settings.rollback();
    session.portals.retain(|_, portal| portal.is_held());
    transaction_ended(session);
}

/// Rolls back what is open, to run it again.
pub(crate) async fn take_back_open(session: &mut Session) {
    session.shared.advisory.undo_transaction();
    roll_back_work(session).await;
}

/// What ends with every transaction.
pub(crate) fn transaction_ended(session: &mut Session) {
    session.shared.advisory.end_transaction();
    session.shared.cursors.close_all();
    session.shared.exports.lock().clear();
    session.block_state.snapshot = None;
    session.portals.retain(|_, portal| portal.is_held());
    session.shared.sequences.lock().retain_temporary(session.temporary.sequences());
    forget_cursors(session);
    session.end_group();
    session.block_state.constraints = Arc::default();
    session.shared.reset_modes();
    let mut activity = session.shared.entry.activity.lock();
    activity.transaction_start = None;
    activity.transaction = None;
}
