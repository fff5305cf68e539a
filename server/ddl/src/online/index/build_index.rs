//! An index filled while others write: by one bulk load (`bulk_fill`) or in bounded batches.
//!
//! ```text
//! announce: state Building ─▶ bulk load, or batch ─▶ batch ─▶ … ─▶ state Public
//!   from here on writers maintain the index       from here on readers use it
//! ```
//!
//! Each step is a transaction of its own, and runs again after a conflict. A batch reads rows and
//! puts their entries. If a row changes meanwhile, the batch runs again and locks its rows first,
//! so that it cannot lose for ever. Rows that are inserted meanwhile need no batch, because their
//! writers maintain the index. Transactions that were planned before the announcement cannot commit
//! after it: they require the table's descriptor to be unchanged. If two rows have the same key, or
//! the statement is cancelled, the index is removed again; if the process ends meanwhile, see
//! `unfinished`.
//!
//! Rule: once the announcement has begun, the future must not be dropped. So `run` handles the
//! statement's cancellation itself.

use braid_catalog::{Id, Index, IndexNumber, IndexState, Table};
use braid_exec::from_kv;
use braid_kv::{Database, Key, Record, ScanRequest, Span, TxnOptions};
use braid_types::Result;

use crate::context::DdlContext;
use crate::online::index::builder::{Builder, duplicate, is_mine, vanished};
use crate::online::index::bulk_fill;
use crate::online::replace_index::take_part;
use crate::online::steps::{ATTEMPTS_MAX, batch_options, batch_retries, change, locks_rows, note};
use crate::rows::delete::delete_index_entries;
use crate::rows::reader::{CHECKED, locked_rows, whole_rows};
use crate::table::exprs::index_row;

/// How many pairs one batch reads at most.
const BATCH_PAIRS: usize = 2_000;
/// How often at most a batch is halved after two conflicts with writers.
const BATCH_HALVINGS: usize = 6;
/// How many bytes one batch reads at most; far more than one row has.
const BATCH_BYTES: usize = 64 << 20;

/// Builds the index that `prepare` adds to a table's descriptor.
pub(crate) async fn run(
    cx: &mut DdlContext<'_>,
    mut prepare: impl FnMut(&mut DdlContext<'_>) -> Result<Option<(Table, IndexNumber)>>,
) -> Result<()> {
    let kv = cx.txn().database().clone();
    let mut found = None;
    change(cx, &kv, true, |cx| {
        found = None;
        let Some((mut table, number)) = prepare(cx)? else { return Ok(()) };
        for index in table.indexes.iter_mut().filter(|index| index.number == number) {
            (index.state, index.builder) = (IndexState::Building, cx.cache.gateway());
        }
        found = Some((table.id, number));
        cx.draft()?.put(table);
        Ok(())
    })
    .await?;
    let Some((table, number)) = found else { return Ok(()) };
    go_on(cx, &kv, table, number).await
}

/// Fills an index that was announced, from where others have come, and makes it public or removes
/// it again. Entries that are there already do no harm.
pub(crate) async fn go_on(
    cx: &mut DdlContext<'_>,
    kv: &Database,
    table: Id,
    number: IndexNumber,
) -> Result<()> {
    let cancel = cx.exec.cancel.clone();
    let mut built = cancel.unless_stopped(fill(cx, kv, table, number)).await.flatten();
    if built.is_ok() {
        built = change(cx, kv, true, |cx| publish(cx, table, number)).await;
    }
    if built.is_err() {
        change(cx, kv, false, |cx| remove(cx, table, number)).await?;
    }
    built
}

/// The index is complete now.
fn publish(cx: &mut DdlContext<'_>, table: Id, number: IndexNumber) -> Result<()> {
    let catalog = cx.catalog();
    let Some(table) = catalog.table(table) else { return Err(vanished()) };
    let mut table = Table::clone(table);
    let index = table.indexes.iter_mut().find(|index| index.number == number);
    let Some(index) = index.filter(|index| is_mine(cx, index)) else {
        return Err(vanished());
    };
    (index.state, index.builder) = (IndexState::Public, None);
    if let Some(old) = index.replaces.take() {
        take_part(cx, &mut table, old, number)?;
    }
    cx.draft()?.put(table);
    Ok(())
}

/// The index goes again.
fn remove(cx: &mut DdlContext<'_>, table: Id, number: IndexNumber) -> Result<()> {
    let catalog = cx.catalog();
    let Some(table) = catalog.table(table) else { return Ok(()) };
    let mut table = Table::clone(table);
    let is_it = |index: &Index| index.number == number && is_mine(cx, index);
    let Some(place) = table.indexes.iter().position(is_it) else { return Ok(()) };
    let index = table.indexes.remove(place);
    delete_index_entries(cx, &table, &index)?;
    cx.draft()?.put(table);
    Ok(())
}

async fn fill(cx: &DdlContext<'_>, kv: &Database, table: Id, number: IndexNumber) -> Result<()> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let seq = txn.next_statement();
    let catalog = cx.cache.at(&txn, seq).await.map_err(from_kv)?;
    let Some(table) = catalog.table(table).cloned() else { return Ok(()) };
    let Some(builder) = Builder::new(cx, table, number)? else { return Ok(()) };
    let whole = builder.rows.primary_span();
    let rest = builder.backfill().rest(&txn, seq, &whole).await.map_err(from_kv)?;
    txn.rollback().await;
    if rest.is_none() && bulk_fill::fill(cx, kv, &builder).await? {
        return Ok(());
    }
    let mut next = Some(rest.unwrap_or(whole));
    while let Some(span) = next {
        cx.exec.check_interrupts().await?;
        next = batch(cx, kv, &builder, span).await?;
    }
    Ok(())
}

/// One batch, again after a conflict; the span that is left.
async fn batch(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    span: Span,
) -> Result<Option<Span>> {
    let mut attempt = 0;
    loop {
        // Fewer rows meet fewer writers.
        let pairs_max = (BATCH_PAIRS >> (attempt / 2).min(BATCH_HALVINGS)).max(1);
        let locks = locks_rows(attempt);
        let outcome = batch_once(cx, kv, builder, span.clone(), (pairs_max, locks)).await;
        attempt += 1;
        match outcome {
            Err(error) if batch_retries(&error) && attempt < ATTEMPTS_MAX => {}
            other => return other,
        }
    }
}

async fn batch_once(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    span: Span,
    (pairs_max, locks): (usize, bool),
) -> Result<Option<Span>> {
    let txn = kv.begin(batch_options());
    let seq = txn.next_statement();
    let catalog = cx.cache.at(&txn, seq).await.map_err(from_kv)?;
    let index = catalog.table(builder.table.id).and_then(|table| table.index(builder.number));
    if index.is_none_or(|index| !is_mine(cx, index)) {
        txn.rollback().await;
        return Err(vanished());
    }
    txn.commit_terms().require_unchanged(braid_catalog::descriptor_key(builder.table.id));
    let record = if locks { Record::Never } else { CHECKED };
    let mut request = ScanRequest::new(span).limit_rows(pairs_max).record(record);
    request.limit_bytes = BATCH_BYTES;
    let (mut rows, left) = whole_rows(&txn, seq, &builder.rows, &builder.decoder, request).await?;
    if locks {
        rows = locked_rows(&txn, seq, &builder.rows, &builder.decoder, &rows).await?;
    }
    let mut keyed = Vec::with_capacity(rows.len());
    for row in &rows {
        keyed.extend(index_row(cx, &builder.exprs, row)?);
    }
    let mut entries = Vec::with_capacity(keyed.len());
    for row in &keyed {
        let of_row = builder.index.entries(&builder.table, row).into_iter();
        entries.extend(of_row.map(|entry| (row, entry)));
    }
    let keys: Vec<Key> = entries.iter().map(|(_, entry)| entry.key.clone()).collect();
    let found = txn.reads().multi_get_recorded(seq, &keys, CHECKED).await.map_err(from_kv)?;
    let mut own = std::collections::HashMap::new();
    for ((row, entry), before) in entries.iter().zip(found) {
        let other = before.is_some_and(|before| before != entry.value);
        let twice = own.insert(&entry.key, ()).is_some();
        if entry.must_be_unique && (other || twice) {
            return Err(duplicate(cx, builder, row));
        }
        txn.put(seq, &entry.key, entry.value.clone()).map_err(from_kv)?;
    }
    note(cx, builder.backfill(), &txn, seq, left.as_ref())?;
    txn.commit_or_error().await.map_err(from_kv)?;
    cx.cache.count_backfilled(rows.len());
    Ok(left)
}
