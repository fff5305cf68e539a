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

use std::sync::Arc;

use braid_cluster::{PreparedInfo, Token};
use braid_kv::StatementWaits;
use braid_types::{Error, Result};

use crate::client::Client;
use crate::groups::ParallelStatements;
use crate::observe::transactions::{end_transaction, has_written};
use crate::retry::driver::{Repeat, rerun};
use crate::retry::limits::Limits;
use crate::retry::reason::is_restart;
use crate::session::Session;
use crate::transaction::commit_attempt::{
    Ending, commit_kv, materialize_held, rollback_open, transaction_ended,
};
use crate::transaction::machine::Block;
use crate::transaction::open::ensure_open;
use crate::transaction::state::Open;

/// A commit that has met a conflict: the transaction as a whole runs again, if it may.
struct CommitAgain<'a> {
    session: &'a mut Session,
    token: Option<Token>,
    ending: &'a Ending,
}

impl Repeat for CommitAgain<'_> {
    type Output = Open;
    const LIMITS: Limits = Limits::TRANSACTION;

    async fn attempt(&mut self) -> Result<Open> {
        let open = self.session.open.take();
        let mut open = open.ok_or_else(|| Error::internal("nothing is open to commit"))?;
        match commit_kv(self.session, &mut open, self.token, self.ending).await {
            Ok(()) => Ok(open),
            Err(error) => {
                self.session.open = Some(open);
                Err(error)
            }
        }
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        self.session.can_rerun_group(error)
    }

    // Here the error is counted, and others get their chance.
    async fn begin_again(&mut self, error: Error, _: u32) -> Result<()> {
        self.session.rerun_group(error).await
    }
}

/// Commits before the last message, the command tag, can leave: it must not be sent if the
/// commit fails.
pub(crate) async fn commit_before_tag(
    session: &mut Session,
    client: &mut dyn Client,
) -> Result<()> {
    let tag = client.detach(session.tag_mark);
    commit_open(session).await?;
    if let Some(tag) = tag {
        client.attach(tag.messages());
    }
    Ok(())
}

/// Commits what is open, if anything is. However it ends, nothing is open afterwards.
pub(crate) async fn commit_open(session: &mut Session) -> Result<()> {
    let result = commit_work(session, &Ending::Commit).await;
    result.map_err(|error| session.replay.explain(error))
}

/// The same, but after a retry error that is not a deadlock the transaction stays open, begun
/// again with its locks.
pub(crate) async fn commit_keeping_locks(session: &mut Session) -> Result<()> {
    commit_work(session, &Ending::CommitOrRestart).await
}

/// Prepares what is open, be it nothing. However it ends, nothing is open afterwards.
pub(crate) async fn prepare_open(session: &mut Session, info: PreparedInfo) -> Result<()> {
    ensure_open(session);
    commit_work(session, &Ending::Prepare(info)).await
}

/// The first attempt of a commit. One that no COMMIT asks for counts its waits for the statement
/// that it belongs to.
async fn commit_watched(
    session: &mut Session,
    open: &mut Open,
    token: Option<Token>,
    ending: &Ending,
) -> Result<()> {
    if session.block != Block::None || !session.observer.is_logged() {
        return commit_kv(session, open, token, ending).await;
    }
    let waits = Arc::new(StatementWaits::default());
    let commit = commit_kv(session, open, token, ending);
    let result = Box::pin(waits.watch(commit)).await;
    session.observer.waited(waits.lock_micros(), waits.round_trips());
    result
}

async fn commit_work(session: &mut Session, ending: &Ending) -> Result<()> {
    let keep_locks = *ending == Ending::CommitOrRestart;
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
            end_transaction(session, false, true);
        }
        session.shared.state.lock().settings.commit();
        transaction_ended(session);
        return Ok(());
    };
    let written = has_written(&open);
    let first = commit_watched(session, &mut open, token, ending).await;
    let (open, result) = match first {
        Err(error) => {
            session.open = Some(open);
            let mut again = CommitAgain { session, token, ending };
            match Box::pin(rerun(&mut again, error)).await {
                Ok(open) => (Some(open), Ok(())),
                Err(error) => (session.open.take(), Err(error)),
            }
        }
        Ok(()) => (Some(open), Ok(())),
    };
    if let Some(open) = &open {
        session.shared.state.lock().round_trips = open.txn.round_trips().count();
    }
    match &result {
        Ok(()) => {
            end_transaction(session, written, true);
            if let Some(open) = &open {
                session.temporary.keep(open.draft.get().as_ref(), &session.engine.catalog);
            }
            session.shared.state.lock().settings.commit();
            transaction_ended(session);
        }
        Err(error) if keep_locks && is_restart(error) => session.open = open,
        Err(_) => {
            end_transaction(session, written, false);
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
