//! Steps of online changes: each is a transaction of its own that runs again after a conflict.

use std::time::Duration;

use braid_catalog::{Backfill, Draft};
use braid_exec::from_kv;
use braid_kv::{Database, Error as Kv, Seq, Span, Transaction, TxnOptions};
use braid_types::{Error, Result};

use crate::context::DdlContext;
use crate::rows::delete::delete_scattered;

/// How long a batch waits for one row's lock before it tries without locks.
const BATCH_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a step is tried again after a conflict.
pub(crate) const ATTEMPTS_MAX: usize = 200;

/// Changes the catalog in a transaction of its own; again after a conflict. `cancellable`: the
/// statement's cancellation ends the wait for other changes, before anything is written.
pub(crate) async fn change(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    cancellable: bool,
    mut step: impl FnMut(&mut DdlContext<'_>) -> Result<()>,
) -> Result<()> {
    let mut attempt = 0;
    loop {
        let outcome = change_once(cx, kv, cancellable, &mut step).await;
        attempt += 1;
        match outcome {
            Err(error) if is_retry(&error) && attempt < ATTEMPTS_MAX => {}
            other => return other,
        }
    }
}

async fn change_once(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    cancellable: bool,
    step: &mut impl FnMut(&mut DdlContext<'_>) -> Result<()>,
) -> Result<()> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let opened = tokio::select! {
        biased;
        draft = cx.cache.draft(&txn, seq) => draft.map_err(from_kv),
        error = cx.exec.cancel.stopped(), if cancellable => Err(error),
    };
    let mut draft: Option<Draft> = Some(opened?.with_temporary_of(&cx.exec.catalog));
    let exec = cx.exec.in_transaction(txn.clone(), seq);
    let mut notices = Vec::new();
    let mut own = cx.in_own(&exec, &mut draft, &mut notices);
    own.implicit = false;
    step(&mut own)?;
    delete_scattered(&mut own).await?;
    let Some(draft) = draft else { return Ok(()) };
    draft.commit(cx.cache, &txn, seq).await.map_err(from_kv)?;
    cx.notices.append(&mut notices);
    Ok(())
}

/// Whether a step is to run again.
pub(crate) fn is_retry(error: &Error) -> bool {
    error.cause::<Kv>().is_some_and(Kv::is_retryable)
}

/// Whether this attempt at a batch locks its rows: one that has lost to writers does. The next one
/// does not again, since a lock may be held by somebody who never ends.
pub(crate) fn locks_rows(attempt: usize) -> bool {
    attempt % 2 == 1
}

/// How the transaction of a batch is to run.
pub(crate) fn batch_options() -> TxnOptions {
    TxnOptions { lock_timeout: Some(BATCH_LOCK_TIMEOUT), ..TxnOptions::default() }
}

/// Whether a batch is to run again.
pub(crate) fn batch_retries(error: &Error) -> bool {
    let lock_refused =
        |error: &Kv| matches!(error, Kv::LockTimeout { .. } | Kv::LockNotAvailable { .. });
    is_retry(error) || error.cause().is_some_and(lock_refused)
}

/// Notes in a batch's transaction what is left, if others may take the backfill over.
pub(crate) fn note(
    cx: &DdlContext<'_>,
    backfill: Backfill,
    txn: &Transaction,
    seq: Seq,
    left: Option<&Span>,
) -> Result<()> {
    match (left, cx.cache.gateway()) {
        (Some(left), Some(_)) => backfill.note(txn, seq, left).map_err(from_kv),
        (None, _) | (_, None) => Ok(()),
    }
}
