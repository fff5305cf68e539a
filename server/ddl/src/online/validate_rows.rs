//! A foreign key validated in bounded batches while others write: ADD CONSTRAINT and VALIDATE
//! CONSTRAINT outside of a transaction block.
//!
//! ```text
//! announce: NOT VALID ─▶ batch ─▶ batch ─▶ … ─▶ valid
//!   from here on every change is checked
//! ```
//!
//! Once the key is announced, every statement that writes a child or removes a parent checks it.
//! Transactions that were planned before cannot commit any more. So a row that a batch has checked
//! stays valid, and each batch may read at a snapshot of its own. If a row has no parent, or the
//! statement is cancelled, an added key is removed; if the process ends meanwhile, see
//! `unfinished`.
//!
//! Rule: once the announcement has begun, the future must not be dropped. So the statement's
//! cancellation is handled here.

use std::sync::Arc;

use braid_catalog::{ForeignKey, Id, Table};
use braid_exec::from_kv;
use braid_kv::{Database, ScanRequest, Span, TxnOptions};
use braid_rows::TableRows;
use braid_sql::ast::{AlterAction, AlterTable, TableConstraint, TableConstraintKind};
use braid_sql::fold;
use braid_types::{Error, Result};

use crate::context::DdlContext;
use crate::names::lookup::folded;
use crate::online::steps::change;
use crate::rows::reader::whole_rows;
use crate::rows::validate::check_parents;
use crate::table::descriptor::forget_reference;
use crate::table::foreign_keys::define_foreign_key;
use crate::table::interleave::check_agreement;

/// How many pairs one batch reads at most.
const BATCH_PAIRS: usize = 4_000;

/// Whether this is a statement that [`run`] may carry out: it validates one foreign key.
pub(crate) fn is_alone(alter: &AlterTable) -> bool {
    match alter.actions.as_slice() {
        [AlterAction::AddConstraint(constraint)] => {
            let is_key = matches!(constraint.kind, TableConstraintKind::ForeignKey(_));
            is_key && !constraint.not_valid
        }
        [AlterAction::ValidateConstraint(_)] => true,
        _ => false,
    }
}

/// Carries the statement out; false if it is to be done in the usual way.
pub(crate) async fn run(cx: &mut DdlContext<'_>, alter: &AlterTable) -> Result<bool> {
    let kv = cx.txn().database().clone();
    let mut found: Option<(Id, Id)> = None;
    change(cx, &kv, true, |cx| {
        found = None;
        if cx.find(&alter.name)?.is_none() {
            return Ok(());
        }
        let table = cx.own_table(&alter.name)?;
        found = match alter.actions.as_slice() {
            [AlterAction::AddConstraint(constraint)] => announce(cx, &table, constraint)?,
            [AlterAction::ValidateConstraint(name)] => {
                let name = fold(name);
                let key = table.foreign_keys.iter().find(|key| key.name == name);
                key.filter(|key| !key.validated).map(|key| (table.id, key.id))
            }
            _ => None,
        };
        Ok(())
    })
    .await?;
    let Some((table, key)) = found else { return Ok(false) };
    let adds = matches!(alter.actions.as_slice(), [AlterAction::AddConstraint(_)]);
    go_on(cx, &kv, table, key, adds).await.map(|()| true)
}

/// Validates a key that was announced; one that this `adds` goes again if that fails.
pub(crate) async fn go_on(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    table: Id,
    key: Id,
    adds: bool,
) -> Result<()> {
    let cancel = cx.exec.cancel.clone();
    let mut result = cancel.unless_stopped(validate(cx, kv, table, key)).await.flatten();
    if result.is_ok() {
        result = change(cx, kv, true, |cx| settle(cx, table, key, false)).await;
    }
    if result.is_err() && adds {
        change(cx, kv, false, |cx| settle(cx, table, key, true)).await?;
    }
    result
}

/// Adds the key as one that holds for what is written from now on.
fn announce(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    constraint: &TableConstraint,
) -> Result<Option<(Id, Id)>> {
    let TableConstraintKind::ForeignKey(key) = &constraint.kind else { return Ok(None) };
    let mut changed = Table::clone(table);
    let name = constraint.name.as_ref().map(fold);
    define_foreign_key(cx, &mut changed, name, key, folded(&key.columns))?;
    check_agreement(&changed)?;
    let Some(added) = changed.foreign_keys.last_mut() else {
        return Err(Error::broken("the foreign key that was defined is missing"));
    };
    (added.validated, added.unfinished) = (false, true);
    added.adder = cx.cache.gateway();
    let id = added.id;
    cx.draft()?.put(changed);
    Ok(Some((table.id, id)))
}

/// Whether this gateway adds the key: another one that has taken it for gone may do so now.
fn is_mine(cx: &DdlContext<'_>, key: &ForeignKey) -> bool {
    key.unfinished && key.adder == cx.cache.gateway()
}

/// The key is valid now, or goes again.
fn settle(cx: &mut DdlContext<'_>, table: Id, key: Id, remove: bool) -> Result<()> {
    let catalog = cx.catalog();
    let Some(table) = catalog.table(table) else { return Ok(()) };
    let mut changed = Table::clone(table);
    let Some(place) = changed.foreign_keys.iter().position(|known| known.id == key) else {
        return if remove { Ok(()) } else { Err(vanished()) };
    };
    if remove {
        if !is_mine(cx, &changed.foreign_keys[place]) {
            return Ok(());
        }
        let gone = changed.foreign_keys.remove(place);
        forget_reference(cx, &mut changed, gone.parent)?;
    } else {
        let key = &mut changed.foreign_keys[place];
        (key.validated, key.unfinished, key.adder) = (true, false, None);
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// Somebody has dropped it, or another gateway has taken this one for gone.
fn vanished() -> Error {
    let message = "the constraint was dropped while it was being validated";
    Error::new(braid_types::SqlState::UndefinedObject, message)
}

/// Looks at every row, some at a time; each batch at the newest snapshot.
pub(crate) async fn validate(cx: &DdlContext<'_>, kv: &Database, table: Id, key: Id) -> Result<()> {
    let mut next: Option<Span> = None;
    loop {
        cx.exec.check_interrupts().await?;
        let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let seq = txn.next_statement();
        let catalog = cx.cache.at(&txn, seq).await.map_err(from_kv)?;
        let Some(table) = catalog.table(table) else { return Ok(()) };
        let Some(key) = table.foreign_keys.iter().find(|known| known.id == key) else {
            return Err(vanished());
        };
        let rows = TableRows::new(table)?;
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let decoder = rows.reader(&all);
        let whole = rows.primary_span();
        // A table that was rewritten meanwhile is checked from its start.
        let span = next.take().filter(|span| whole.contains_span(span)).unwrap_or(whole);
        let request = ScanRequest::new(span).limit_rows(BATCH_PAIRS);
        let (found, left) = whole_rows(&txn, seq, &rows, &decoder, request).await?;
        next = left;
        check_parents(&txn, seq, &catalog, table, key, &found).await?;
        txn.rollback().await;
        if next.is_none() {
            return Ok(());
        }
    }
}
