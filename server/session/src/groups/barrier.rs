//! Waiting for a group, and its error.

use braid_exec::from_kv;
use braid_sql::ast::Statement;
use braid_types::{Error, Result};

use crate::entry::QueuedStatements;
use crate::groups::again::{can_run_again, run_again};
use crate::groups::new_keys::{add_existing, begin_new_key_check};
use crate::groups::report::barrier_error;
use crate::retry::reason::is_retryable;
use crate::session::Session;
use crate::statement::kinds::{completes_block, is_planned};
use crate::transaction::commit_attempt::{end_block, rollback_open};
use crate::transaction::savepoints::release_commits;

/// Before a statement that is no part of the group: everything queued has finished.
pub(super) async fn pass_barrier(session: &mut Session, statement: &Statement) -> Result<()> {
    if !session.group.is_engaged {
        return Ok(());
    }
    Box::pin(end_group(session, statement)).await
}

async fn end_group(session: &mut Session, statement: &Statement) -> Result<()> {
    match statement {
        Statement::Rollback { .. } => {
            session.group.stop().await;
            Ok(())
        }
        statement if completes_block(statement) => {
            let result = resolve_group(session, false).await;
            if result.is_err() {
                rollback_open(session).await;
                end_block(session);
            }
            result
        }
        // It commits; what fails here fails as any statement does.
        Statement::Release(name) if release_commits(session, name) => {
            resolve_group(session, false).await
        }
        statement if is_planned(statement) => {
            resolve_group(session, false).await?;
            begin_new_key_check(session).await;
            Ok(())
        }
        _ => resolve_group(session, true).await,
    }
}

/// Waits for the group and reports what has failed. Without a failure, new keys are looked
/// at only if that is asked for.
pub(super) async fn resolve_group(session: &mut Session, look_at_keys: bool) -> Result<()> {
    drain_group(session).await;
    session.group.is_engaged = false;
    let has_failed = session.group.queue.with_ledger(|ledger| ledger.has_failed());
    if !has_failed && !look_at_keys {
        return Ok(());
    }
    let result = collect_failures(session).await;
    match result {
        Err(error) if is_retryable(&error) && can_run_again(session, &error) => {
            run_again(session, error).await?;
            if look_at_keys { collect_failures(session).await } else { Ok(()) }
        }
        result => result,
    }
}

/// Waits until nothing queued is left; a cancel request or a timeout stops what runs.
async fn drain_group(session: &mut Session) {
    let queue = session.group.queue.clone();
    let cancel = session.shared.entry.cancel.clone();
    let mut changes = queue.changes();
    let mut is_stopped = false;
    while queue.unfinished() > 0 {
        tokio::select! {
            biased;
            _ = changes.changed() => {}
            error = cancel.stopped(), if !is_stopped => {
                is_stopped = true;
                queue.stop(&error);
            }
        }
    }
}

/// The error of everything that has failed, existing keys included. Forgets the group.
async fn collect_failures(session: &mut Session) -> Result<()> {
    let queue = session.group.queue.clone();
    let mut failures = queue.with_ledger(|ledger| ledger.take_failures());
    // After a retry error nothing that was read counts.
    let is_void = failures.iter().any(|failure| is_retryable(&failure.error));
    let txn = session.open.as_ref().map(|open| open.txn.clone());
    let mut result = Ok(());
    if let Some(txn) = txn.filter(|_| !is_void) {
        match txn.writes().check_new_keys().await {
            Ok(existing) => add_existing(session, existing, &mut failures),
            Err(error) if failures.is_empty() => result = Err(from_kv(error)),
            Err(_) => {}
        }
        // A statement that read during the refresh of another may have failed for what never
        // was there at the same time.
        if !failures.is_empty()
            && let Err(error) = txn.snapshots().prove_reads().await
        {
            queue.clear();
            return Err(from_kv(error));
        }
    }
    queue.clear();
    barrier_error(&failures).map_or(result, Err)
}

/// The error to report: errors of statements that were queued before go first.
pub(super) async fn error_after_group(session: &mut Session, error: Error) -> Error {
    if !session.group.is_engaged {
        return error;
    }
    drain_group(session).await;
    session.group.is_engaged = false;
    collect_failures(session).await.err().unwrap_or(error)
}
