//! `ALTER TABLE … INTERLEAVE IN PARENT` and `… UNINTERLEAVE`: a table's rows moved to another place
//! in bounded batches while others write.
//!
//! ```text
//! announce ─▶ check parents ─▶ copy ─▶ copy ─▶ … ─▶ switch ─▶ old place removed
//!   from here on writers write both places            from here on the new one is read
//! ```
//!
//! Each step is a transaction of its own, and runs again after a conflict. A batch reads rows and
//! puts them into the new place; a row that changes meanwhile makes the batch run again. Until the
//! switch everybody reads the old place; transactions that planned before a step cannot commit
//! after it, since they require the descriptors to be unchanged. Secondary indexes stay as they
//! are: their entries name rows by the key's values.
//!
//! If a row has no parent, or the statement is cancelled, or the process ends before the switch,
//! the move is undone: what was copied is left over (`left_over`) or removed by one range
//! delete. After the switch the move is done. The rest of the old place is removed in the same two
//! ways.
//!
//! Rules: only a table with nothing interleaved below it is moved; while it moves, no other
//! statement may move it or a table above its two places (`refuse_while_moving`). Once the
//! announcement has begun, the future must not be dropped. So the statement's cancellation is
//! handled here.

use std::sync::Arc;

use braid_catalog::{Backfill, Catalog, Id, Interleaving, Moving, Passing, Table};
use braid_exec::from_kv;
use braid_kv::{Database, Record, ScanRequest, Span, TxnOptions};
use braid_rows::TableRows;
use braid_sql::ast::{AlterAction, AlterTable, Interleave};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::online::steps::{ATTEMPTS_MAX, batch_options, batch_retries, change, locks_rows, note};
use crate::online::vacate::vacate;
use crate::online::{left_over, validate_rows};
use crate::rows::reader::{CHECKED, locked_rows, whole_rows};
use crate::table::descriptor::{change_table, forget_reference};
use crate::table::interleave::{
    check_agreement, check_interleave_clause, interleave_parent, way_down,
};
use crate::table::moving::{refuse_moving, table_in_use};

/// How many pairs one batch copies at most.
const BATCH_PAIRS: usize = 2_000;
/// How many bytes one batch reads at most; far more than one row has.
const BATCH_BYTES: usize = 64 << 20;

/// Whether [`run`] carries this statement out.
pub(crate) fn is_move(alter: &AlterTable) -> bool {
    matches!(alter.actions.as_slice(), [AlterAction::Interleave(_) | AlterAction::Uninterleave])
}

/// What the announcement has come to.
enum Announced {
    /// There is no such table, and IF EXISTS was said.
    Nothing,
    /// Keys of an earlier move are still in the new place.
    InTheWay(Id, Passing),
    /// The same where the new place is a range of its own.
    NotEmpty(Id),
    /// The table is moving; the foreign key of ON DELETE, if it was written.
    Moving(Id, Option<Id>),
}

pub(crate) async fn run(cx: &mut DdlContext<'_>, alter: &AlterTable) -> Result<()> {
    let kv = cx.txn().database().clone();
    let (table, key) = loop {
        cx.exec.check_interrupts().await?;
        let mut found = Announced::Nothing;
        change(cx, &kv, true, |cx| {
            found = announce(cx, alter)?;
            Ok(())
        })
        .await?;
        match found {
            Announced::Nothing => return Ok(()),
            Announced::Moving(table, key) => break (table, key),
            Announced::InTheWay(parent, passing) => {
                left_over::remove(&kv, cx.cache, parent, &passing).await?;
            }
            Announced::NotEmpty(table) => {
                left_over::empty_vacated(&kv, cx.cache, table).await?;
            }
        }
    };
    go_on(cx, &kv, table, key).await
}

/// Copies the rows of a table whose move was announced, and switches or takes the move back; `key`
/// is the clause's foreign key. It begins where others have come; rows that were copied already do
/// no harm.
pub(crate) async fn go_on(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    table: Id,
    key: Option<Id>,
) -> Result<()> {
    let cancel = cx.exec.cancel.clone();
    let mut result = cancel.unless_stopped(fill(cx, kv, table, key)).await.flatten();
    if result.is_ok() {
        result = change(cx, kv, true, |cx| switch(cx, table)).await;
    }
    if result.is_err() {
        change(cx, kv, false, |cx| {
            let table = cx.catalog().table(table).filter(|table| is_mine(cx, table)).cloned();
            table.map_or(Ok(()), |table| take_back(cx, &table))
        })
        .await?;
    }
    result
}

fn announce(cx: &mut DdlContext<'_>, alter: &AlterTable) -> Result<Announced> {
    if alter.if_exists && cx.find(&alter.name)?.is_none() {
        let message =
            format!("relation \"{}\" does not exist, skipping", parts(&alter.name).join("."));
        cx.notice(SqlState::SuccessfulCompletion, message);
        return Ok(Announced::Nothing);
    }
    let table = cx.own_table(&alter.name)?;
    check_movable(&cx.catalog(), &table)?;
    match alter.actions.as_slice() {
        [AlterAction::Interleave(clause)] => announce_into(cx, &table, clause),
        _ => announce_out(cx, &table),
    }
}

/// 55006 or 0A000 for a table whose rows cannot be moved now.
fn check_movable(catalog: &Catalog, table: &Table) -> Result<()> {
    refuse_moving(catalog, table)?;
    let name = &table.name;
    let is_building =
        |index: &braid_catalog::Index| index.state == braid_catalog::IndexState::Building;
    if table.indexes.iter().any(is_building) || table.foreign_keys.iter().any(|k| k.unfinished) {
        let message = format!(
            "cannot move table \"{name}\" while an index or a foreign key is being added to it"
        );
        return Err(table_in_use(message));
    }
    if let Some((child, number)) = table.primary.below.first() {
        let below = catalog.table(*child).and_then(|child| {
            let index = child.index(*number)?;
            Some(match *number == child.primary.number {
                true => ("table", child.name.clone(), format!("ALTER TABLE {}", child.name)),
                false => ("index", index.name.clone(), format!("ALTER INDEX {}", index.name)),
            })
        });
        let (kind, child, command) = below.unwrap_or_default();
        let message =
            format!("cannot move table \"{name}\" while {kind} \"{child}\" is interleaved in it");
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .hint(format!("Use {command} UNINTERLEAVE first.")));
    }
    Ok(())
}

fn announce_into(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    clause: &Interleave,
) -> Result<Announced> {
    if let Some(parent) = table.primary.parent().and_then(|id| cx.catalog().table(id).cloned()) {
        let (name, parent) = (&table.name, &parent.name);
        let message = format!("table \"{name}\" is already interleaved in table \"{parent}\"");
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
            .hint(format!("Use ALTER TABLE {name} UNINTERLEAVE first.")));
    }
    let mut changed = Table::clone(table);
    let parent = interleave_parent(cx, table, clause)?;
    let number = table.primary.number;
    let key = check_interleave_clause(cx, &mut changed, number, clause, &parent)?;
    let mover = cx.cache.gateway();
    if let Some(key) = changed.foreign_keys.iter_mut().find(|known| Some(known.id) == key) {
        (key.validated, key.unfinished, key.adder) = (false, true, mover);
    }
    let to = Interleaving { above: way_down(&parent), foreign_key: key };
    let passing = changed.passing_keys(&changed.primary, &to);
    if parent.primary.passing.contains(&passing) {
        return Ok(Announced::InTheWay(parent.id, passing));
    }
    changed.moving = Some(Moving { to: Some(to), mover });
    check_agreement(&changed.moved().unwrap_or_else(|| changed.clone()))?;
    let id = changed.id;
    cx.draft()?.put(changed);
    change_table(cx, parent.id, |parent| parent.primary.passing.push(passing))?;
    Ok(Announced::Moving(id, key))
}

fn announce_out(cx: &mut DdlContext<'_>, table: &Arc<Table>) -> Result<Announced> {
    if table.primary.interleaving.is_none() {
        let message = format!("table \"{}\" is not interleaved", table.name);
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
    }
    if table.vacated {
        return Ok(Announced::NotEmpty(table.id));
    }
    let mut changed = Table::clone(table);
    changed.moving = Some(Moving { to: None, mover: cx.cache.gateway() });
    cx.draft()?.put(changed);
    Ok(Announced::Moving(table.id, None))
}

/// Whether this gateway moves the table: another one that has taken it for gone may have taken
/// the move back.
fn is_mine(cx: &DdlContext<'_>, table: &Table) -> bool {
    table.moving.as_ref().is_some_and(|moving| moving.mover == cx.cache.gateway())
}

fn vanished() -> Error {
    let message = "the table is not being moved any more";
    Error::new(SqlState::ObjectNotInPrerequisiteState, message)
}

/// The rows lie in the new place now.
fn switch(cx: &mut DdlContext<'_>, id: Id) -> Result<()> {
    let table = cx.catalog().table(id).filter(|table| is_mine(cx, table)).cloned();
    let Some(table) = table else { return Err(vanished()) };
    let Some(mut changed) = table.moved() else { return Err(vanished()) };
    let number = table.primary.number;
    if let Some(from) = &table.primary.interleaving {
        let passing = table.passing_keys(&table.primary, from);
        if let Some(parent) = table.primary.parent() {
            change_table(cx, parent, |parent| {
                parent.primary.below.retain(|below| *below != (id, number));
                parent.primary.passing.push(passing);
            })?;
        }
        // The action went with the clause.
        drop_key(cx, &mut changed, from.foreign_key)?;
    } else {
        vacate(cx.txn(), cx.seq(), &mut changed, &table)?;
    }
    // What others had left below the rows has gone with the old place.
    changed.primary.passing.clear();
    if let Some(to) = changed.primary.interleaving.clone() {
        let passing = changed.passing_keys(&changed.primary, &to);
        for key in changed.foreign_keys.iter_mut().filter(|k| Some(k.id) == to.foreign_key) {
            (key.validated, key.unfinished, key.adder) = (true, false, None);
        }
        if let Some(parent) = changed.primary.parent() {
            change_table(cx, parent, |parent| {
                parent.primary.passing.retain(|known| *known != passing);
                parent.primary.below.push((id, number));
            })?;
        }
    }
    put_changed(cx, changed)
}

/// Takes a move back that has not come to the switch. What was put below a parent's rows is left
/// over from now on.
pub(crate) fn take_back(cx: &mut DdlContext<'_>, table: &Table) -> Result<()> {
    let Some(moving) = &table.moving else { return Ok(()) };
    let mut changed = table.clone();
    changed.moving = None;
    match &moving.to {
        Some(to) => drop_key(cx, &mut changed, to.foreign_key)?,
        None => {
            if let Some(moved) = table.moved() {
                vacate(cx.txn(), cx.seq(), &mut changed, &moved)?;
            }
        }
    }
    put_changed(cx, changed)
}

/// Drops the foreign key that ON DELETE of the clause has made.
fn drop_key(cx: &mut DdlContext<'_>, table: &mut Table, key: Option<Id>) -> Result<()> {
    let Some(place) = table.foreign_keys.iter().position(|known| Some(known.id) == key) else {
        return Ok(());
    };
    let gone = table.foreign_keys.remove(place);
    forget_reference(cx, table, gone.parent)
}

fn put_changed(cx: &mut DdlContext<'_>, table: Table) -> Result<()> {
    cx.draft()?.put(table);
    Ok(())
}

async fn fill(cx: &DdlContext<'_>, kv: &Database, table: Id, key: Option<Id>) -> Result<()> {
    let rest = rest(cx, kv, table).await?;
    // Copying begins when all rows have their parents.
    if let (Some(key), None) = (key, &rest) {
        validate_rows::validate(cx, kv, table, key).await?;
    }
    let mut next = Next { span: rest, pairs_max: BATCH_PAIRS, is_done: false };
    let mut attempt = 0;
    while !next.is_done {
        cx.exec.check_interrupts().await?;
        match batch(cx, kv, table, &mut next, locks_rows(attempt)).await {
            Ok(()) => {
                attempt = 0;
                next.pairs_max = BATCH_PAIRS.min(next.pairs_max * 2);
            }
            // Fewer rows meet fewer writers.
            Err(error) if batch_retries(&error) && attempt < ATTEMPTS_MAX => {
                attempt += 1;
                next.pairs_max = (next.pairs_max / 2).max(1);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where another gateway has come with the copying, if this is taken over.
async fn rest(cx: &DdlContext<'_>, kv: &Database, table: Id) -> Result<Option<Span>> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let seq = txn.next_statement();
    let catalog = cx.cache.at(&txn, seq).await.map_err(from_kv)?;
    let Some(table) = catalog.table(table) else { return Err(vanished()) };
    let whole = table.index_span(&table.primary);
    let rest = backfill(table).rest(&txn, seq, &whole).await.map_err(from_kv)?;
    txn.rollback().await;
    Ok(rest)
}

fn backfill(table: &Table) -> Backfill {
    Backfill { table: table.id, index: table.primary.number }
}

/// Where the copying goes on.
struct Next {
    span: Option<Span>,
    pairs_max: usize,
    is_done: bool,
}

async fn batch(
    cx: &DdlContext<'_>,
    kv: &Database,
    table: Id,
    next: &mut Next,
    locks: bool,
) -> Result<()> {
    let txn = kv.begin(batch_options());
    let seq = txn.next_statement();
    let catalog = cx.cache.at(&txn, seq).await.map_err(from_kv)?;
    let table = catalog.table(table).filter(|table| is_mine(cx, table));
    let Some((table, moved)) = table.and_then(|table| Some((table, table.moved()?))) else {
        return Err(vanished());
    };
    txn.commit_terms().require_unchanged(braid_catalog::descriptor_key(table.id));
    let (from, to) = (TableRows::new(table)?, TableRows::new(&Arc::new(moved))?);
    let span = next.span.clone().unwrap_or_else(|| from.primary_span());
    let places: Vec<usize> = (0..table.columns.len()).collect();
    let decoder = from.reader(&places);
    let record = if locks { Record::Never } else { CHECKED };
    let mut request = ScanRequest::new(span).limit_rows(next.pairs_max).record(record);
    request.limit_bytes = BATCH_BYTES;
    let (mut rows, left) = whole_rows(&txn, seq, &from, &decoder, request).await?;
    if locks {
        rows = locked_rows(&txn, seq, &from, &decoder, &rows).await?;
    }
    for (key, value) in rows.iter().flat_map(|row| to.pairs(row)) {
        if let Some(value) = value {
            txn.put(seq, key, value).map_err(from_kv)?;
        }
    }
    note(cx, backfill(table), &txn, seq, left.as_ref())?;
    txn.commit_or_error().await.map_err(from_kv)?;
    cx.cache.count_backfilled(rows.len());
    (next.is_done, next.span) = (left.is_none(), left);
    Ok(())
}
