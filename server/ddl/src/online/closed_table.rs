//! ALTER TABLE on its own over a store that cannot lock spans.
//!
//! ```text
//! attempt ─ conflict with writers ─► close: commit ─► attempt ─► commit, which opens it again
//!                                    └────────── writers wait ─────────┘
//! ```
//!
//! A definition that reads or writes all rows loses to writers again and again. After the first
//! conflict it closes the table: the descriptor names its gateway (`Table::closed_by`), and a
//! statement that would change rows waits. Transactions that were planned before cannot commit.
//! The commit of the definition opens the table. If the gateway dies, `unfinished` opens it.
//!
//! Rule: once the table may be closed, the future must not be dropped. So the statement's
//! cancellation is handled here.

use braid_catalog::{Draft, Id, Table};
use braid_exec::from_kv;
use braid_kv::{Database, TxnOptions};
use braid_sql::ast::{AlterTable, Statement};
use braid_types::Result;
use futures_util::future::BoxFuture;

use crate::context::DdlContext;
use crate::online::steps::{ATTEMPTS_MAX, change, is_retry};
use crate::run::run_in_transaction;

/// Whether [`run`] is needed: several gateways share a store that locks no spans.
pub(crate) fn is_needed(cx: &DdlContext<'_>) -> bool {
    cx.cache.gateway().is_some()
}

/// Carries the statement out in transactions of its own; returns its command tag.
pub(crate) async fn run(
    cx: &mut DdlContext<'_>,
    statement: &Statement,
    alter: &AlterTable,
) -> Result<String> {
    let kv = cx.txn().database().clone();
    let mut closed = None;
    let result = attempts(cx, &kv, (statement, alter), &mut closed).await;
    if let (Err(_), Some(table)) = (&result, closed) {
        change(cx, &kv, false, |cx| open(cx, table)).await?;
    }
    result
}

/// Tries until it succeeds; from the second attempt on the table is `closed`.
async fn attempts(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    (statement, alter): (&Statement, &AlterTable),
    closed: &mut Option<Id>,
) -> Result<String> {
    let mut attempt = 0;
    loop {
        let outcome: BoxFuture<'_, Result<String>> = Box::pin(once(cx, kv, statement, *closed));
        let outcome = outcome.await;
        attempt += 1;
        match outcome {
            Err(error) if is_retry(&error) && attempt < ATTEMPTS_MAX => {}
            other => return other,
        }
        if closed.is_none() {
            change(cx, kv, true, |cx| close(cx, alter, closed)).await?;
        }
        cx.exec.cancel.check()?;
    }
}

/// One attempt: a transaction that also opens the table again.
async fn once(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    statement: &Statement,
    closed: Option<Id>,
) -> Result<String> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let exec = cx.exec.in_transaction(txn.clone(), seq);
    let mut draft: Option<Draft> = None;
    let mut notices = Vec::new();
    let mut own = cx.in_own(&exec, &mut draft, &mut notices);
    let cancel = cx.exec.cancel.clone();
    let work = run_in_transaction(statement, &mut own);
    let mut result = cancel.unless_stopped(work).await.flatten();
    if result.is_ok()
        && let Some(table) = closed
        && let Err(error) = open(&mut own, table)
    {
        result = Err(error);
    }
    let tag = match result {
        Ok(tag) => tag,
        Err(error) => {
            txn.rollback().await;
            return Err(error);
        }
    };
    if let Some(draft) = draft {
        draft.commit(cx.cache, &txn, seq).await.map_err(from_kv)?;
    }
    cx.notices.append(&mut notices);
    Ok(tag)
}

/// Closes the table to writers; `closed` says that it may be.
fn close(cx: &mut DdlContext<'_>, alter: &AlterTable, closed: &mut Option<Id>) -> Result<()> {
    if cx.find(&alter.name)?.is_none() {
        return Ok(());
    }
    let table = cx.own_table(&alter.name)?;
    *closed = Some(table.id);
    let closed_by = cx.cache.gateway();
    cx.draft()?.put(Table { closed_by, ..Table::clone(&table) });
    Ok(())
}

/// Opens the table to writers, if this gateway has closed it.
fn open(cx: &mut DdlContext<'_>, table: Id) -> Result<()> {
    let catalog = cx.catalog();
    let Some(table) = catalog.table(table) else { return Ok(()) };
    if table.closed_by.is_some() && table.closed_by == cx.cache.gateway() {
        cx.draft()?.put(Table { closed_by: None, ..Table::clone(table) });
    }
    Ok(())
}
