//! Commits: one attempt, and more while the transaction can run again.
//!
//! ```text
//! commit_open ─ commit_kv ──► committed
//!                  │ 40001 or 40P01, and the client knows of acknowledgements only
//!                  └──► the group runs again in order ──► commit_kv …
//! ```
//!
//! Rules: however a commit ends, nothing is open afterwards; only the release of the restart
//! savepoint keeps a transaction that met a retry error, for its locks.

use braid_cluster::Token;
use braid_types::{Error, Result};

use crate::client::Client;
use crate::groups::again::{can_run_again, run_again};
use crate::retry::reason::{is_restart, is_retryable};
use crate::retry::reruns::Reruns;
use crate::session::Session;
use crate::transaction::commit::{commit_kv, materialize_held, rollback_open, transaction_ended};
use crate::transaction::machine::Block;
use crate::transaction::open::ensure_open;
use crate::transaction::state::Open;

/// The commit has met a conflict: the transaction as a whole runs again, if it may.
async fn commit_again(
    session: &mut Session,
    open: Open,
    token: Option<Token>,
    mut error: Error,
) -> (Option<Open>, Result<()>) {
    session.open = Some(open);
    let mut reruns = Reruns::new();
    while reruns.next().is_some() {
        if !is_retryable(&error) || !can_run_again(session, &error) {
            break;
        }
        if let Err(error) = run_again(session, error.clone()).await {
            return (session.open.take(), Err(error));
        }
        let Some(mut open) = session.open.take() else { break };
        match commit_kv(session, &mut open, token, false).await {
            Err(again) => {
                error = again;
                session.open = Some(open);
            }
            Ok(()) => return (Some(open), Ok(())),
        }
    }
    (session.open.take(), Err(error))
}

/// Commits before the last message, the command tag, can leave: it must not be sent if the
/// commit fails.
pub(crate) async fn commit_before_tag(
    session: &mut Session,
    client: &mut dyn Client,
) -> Result<()> {
    let tag = client.take_after(session.tag_position);
    commit_open(session).await?;
    if let Some(tag) = tag {
        client.put_back(&tag);
    }
    Ok(())
}

/// Commits what is open, if anything is. However it ends, nothing is open afterwards.
pub(crate) async fn commit_open(session: &mut Session) -> Result<()> {
    commit_work(session, false).await
}

/// The same, but after a retry error that is not a deadlock the transaction stays open, begun
/// again with its locks.
pub(crate) async fn commit_keeping_locks(session: &mut Session) -> Result<()> {
    commit_work(session, true).await
}

async fn commit_work(session: &mut Session, keep_locks: bool) -> Result<()> {
    if let Err(error) = materialize_held(session).await {
        if !(keep_locks && is_restart(&error)) {
            rollback_open(session).await;
        }
        return Err(error);
    }
    let token = session.shared.state.lock().settings.commit_token();
    if token.is_some() {
        ensure_open(session);
    }
    let Some(mut open) = session.open.take() else {
        if session.block != Block::None {
            session.shared.count_transaction(true);
        }
        session.shared.state.lock().settings.commit();
        transaction_ended(session);
        return Ok(());
    };
    let (open, result) = match commit_kv(session, &mut open, token, keep_locks).await {
        Err(error) => commit_again(session, open, token, error).await,
        Ok(()) => (Some(open), Ok(())),
    };
    if let Some(open) = &open {
        session.shared.state.lock().round_trips = open.txn.round_trips();
    }
    match &result {
        Ok(()) => {
            session.shared.count_transaction(true);
            if let Some(open) = &open {
                session.temporary.keep(open.draft.as_ref(), &session.engine.catalog);
            }
            session.shared.state.lock().settings.commit();
            transaction_ended(session);
        }
        Err(error) if keep_locks && is_restart(error) => session.open = open,
        Err(_) => {
            session.shared.count_transaction(false);
            if let Some(open) = &open {
                open.txn.rollback().await;
            }
            session.shared.state.lock().settings.rollback();
            session.portals.retain(|_, portal| portal.is_held());
            transaction_ended(session);
        }
    }
    result
}
