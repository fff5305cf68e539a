//! The entries of a new index as one bulk load, where the store has that.
//!
//! ```text
//!   load begins ─▶ snapshot ─▶ entries, sorted ─▶ written ─▶ span locked ─▶ visible ─▶ settle
//!        └────── the store notes the keys that writers put or delete ───────────┘
//! ```
//!
//! The entries are those of one snapshot. What writers have put or deleted since then stands. That
//! is right as it is for an index that is not unique: each of its keys belongs to one row, and its
//! writer has maintained it. A unique key may have moved from a row of the snapshot to a row of a
//! concurrent writer. That writer did not see the first entry. [`settle`] looks at all rows that
//! such a key has had, under the rules of an ordinary transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use braid_exec::from_kv;
use braid_kv::{
    BulkLoad, Database, Key, Loaded, LockRequest, Record, ScanRequest, Seq, Span, Transaction,
    TxnOptions, Value,
};
use braid_rows::{IndexEntry, RowAssembler};
use braid_types::{Error, Result, Row};
use tokio::sync::oneshot;

use crate::context::DdlContext;
use crate::online::index::builder::{Builder, duplicate, is_mine, vanished};
use crate::online::steps::{ATTEMPTS_MAX, batch_options, batch_retries};
use crate::rows::reader::CHECKED;
use crate::table::exprs::index_row;

/// Fewer entries than this are not worth a table of the store's own.
const ROWS_MIN: usize = 8_192;
/// Entries that are sorted in memory take this many bytes at most.
const MEMORY_MAX: usize = 128 << 20;
/// How long one try to lock the span waits: those who write there meanwhile wait behind it.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);
/// Between two tries other transactions may go on: this long at first, then longer and longer.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause: writers are held up for a tenth of the time at most.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Keys that one transaction settles.
const SETTLED_KEYS: usize = 500;

/// Fills the index; false if it has to be filled in batches.
pub(super) async fn fill(cx: &DdlContext<'_>, kv: &Database, builder: &Builder) -> Result<bool> {
    let index = builder.descriptor()?;
    if index.interleaving.is_some() || cx.cache.gateway().is_some() {
        return Ok(false);
    }
    let span = builder.index.span();
    let load = kv.store().bulk_load(span.clone()).await.map_err(from_kv)?;
    let Some(mut load) = load else { return Ok(false) };
    let memory = &mut Held { cx, bytes: 0 };
    let entries = add_entries(cx, kv, builder, load.as_mut(), memory).await?;
    if entries < ROWS_MIN {
        return Ok(false);
    }
    match publish(cx, kv, builder, load, span).await? {
        Loaded::Visible(overlapped) if index.unique => settle(cx, kv, builder, overlapped).await?,
        Loaded::Visible(_) => {}
        Loaded::Twice(key, [value, _]) => return Err(twice(cx, kv, builder, &key, &value).await?),
        Loaded::Stopped => return Err(vanished()),
        Loaded::Overtaken => return Ok(false),
    }
    cx.cache.count_backfilled(entries);
    Ok(true)
}

/// Memory of the load, counted against the statement.
struct Held<'a, 'b> {
    cx: &'a DdlContext<'b>,
    bytes: usize,
}

impl Held<'_, '_> {
    /// Counts what the load takes now; it spills if that is too much.
    fn follow(&mut self, load: &mut dyn BulkLoad) -> Result<()> {
        let now = load.memory_bytes();
        let more = now.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        self.bytes = now;
        if self.cx.exec.memory.take(more).is_err() || now > MEMORY_MAX {
            load.spill().map_err(from_kv)?;
            self.cx.exec.memory.give(self.bytes);
            self.bytes = 0;
        }
        Ok(())
    }
}

impl Drop for Held<'_, '_> {
    fn drop(&mut self) {
        self.cx.exec.memory.give(self.bytes);
    }
}

/// Gives the load the entries of all rows of one snapshot; how many rows there were.
async fn add_entries(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    load: &mut dyn BulkLoad,
    memory: &mut Held<'_, '_>,
) -> Result<usize> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let seq = txn.next_statement();
    let places = builder.places_read();
    let decoder = builder.rows.reader(&places);
    let request = ScanRequest::new(builder.rows.primary_span()).record(Record::Never);
    let mut scanner = txn.scanner(seq, request.shape(builder.rows.shape.as_ref()));
    // A row of one column family is complete with its pair.
    let is_one_pair = builder.rows.family_count() == 1;
    let mut assembler = RowAssembler::default();
    let mut full = vec![braid_types::Datum::Null; builder.table.columns.len()];
    let mut count = 0;
    let mut add = |row: Row, load: &mut dyn BulkLoad| {
        for (place, datum) in places.iter().zip(row) {
            full[*place] = datum;
        }
        count += 1;
        let Some(row) = index_row(cx, &builder.exprs, &full)? else { return Ok(()) };
        for entry in builder.index.entries(&builder.table, &row) {
            load.add(&entry.key, &entry.value);
        }
        Ok::<(), Error>(())
    };
    while let Some(batch) = scanner.next_batch().await.map_err(from_kv)? {
        cx.exec.check_interrupts().await?;
        for (key, value) in batch.iter() {
            if is_one_pair {
                add(decoder.row(key, [value])?, load)?;
            } else if let Some((_, row)) = assembler.add(&decoder, key, value)? {
                add(row, load)?;
            }
        }
        memory.follow(load)?;
    }
    if let Some((_, row)) = assembler.finish() {
        add(row, load)?;
    }
    txn.rollback().await;
    Ok(count)
}

/// Stops a load whose statement has gone.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes the load and makes it visible.
///
/// If the statement is cancelled meanwhile, the load stops by itself. If it is about to become
/// visible just then, that does no harm: the range delete that removes the index has a higher
/// commit number and hides it.
async fn publish(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    load: Box<dyn BulkLoad>,
    span: Span,
) -> Result<Loaded> {
    let stop = StopOnDrop(Arc::default());
    let stopped = stop.0.clone();
    let (written, is_written) = oneshot::channel();
    let (go, may_go) = std::sync::mpsc::channel();
    let work = tokio::task::spawn_blocking(move || {
        let mut written = Some(written);
        let mut gate = || {
            let told = written.take().is_some_and(|written| written.send(()).is_ok());
            told && may_go.recv().is_ok()
        };
        load.finish(&stopped, &mut gate)
    });
    let mut locked = None;
    if is_written.await.is_ok() {
        locked = Some(lock(cx, kv, builder, span).await?);
        // If the load has failed, it says so itself.
        let _ = go.send(());
    }
    let loaded = work.await.map_err(|e| Error::internal(format!("a bulk load: {e}")))?;
    if let Some(txn) = locked {
        txn.rollback().await;
    }
    loaded.map_err(from_kv)
}

/// A transaction that has locked the index's span, while the index is still this one's to build.
/// Waits for everybody who has locked a key there, however long, unless it is cancelled.
async fn lock(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    span: Span,
) -> Result<Arc<Transaction>> {
    let options = TxnOptions { lock_timeout: Some(LOCK_TIMEOUT), ..TxnOptions::default() };
    let mut pause = PAUSE;
    loop {
        cx.exec.check_interrupts().await?;
        let txn = kv.begin(options.clone());
        let seq = txn.next_statement();
        let request = LockRequest::spans(vec![span.clone()]);
        let outcome = txn.lock(seq, request).await.map_err(from_kv);
        match outcome {
            Ok(_) => {
                txn.snapshots().renew(seq).await.map_err(from_kv)?;
                check_mine(cx, builder, &txn, seq).await?;
                return Ok(txn);
            }
            Err(error) if batch_retries(&error) => {
                txn.rollback().await;
                tokio::time::sleep(pause).await;
                pause = PAUSE_MAX.min(pause * 2);
            }
            Err(error) => return Err(error),
        }
    }
}

async fn check_mine(
    cx: &DdlContext<'_>,
    builder: &Builder,
    txn: &Arc<Transaction>,
    seq: Seq,
) -> Result<()> {
    let catalog = cx.cache.at(txn, seq).await.map_err(from_kv)?;
    let index = catalog.table(builder.table.id).and_then(|table| table.index(builder.number));
    if index.is_none_or(|index| !is_mine(cx, index)) {
        return Err(vanished());
    }
    Ok(())
}

/// 23505 of two rows with the same key, of which one has this entry.
async fn twice(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    key: &[u8],
    value: &[u8],
) -> Result<Error> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let seq = txn.next_statement();
    let entry = IndexEntry { key: key.to_vec(), value: value.to_vec(), must_be_unique: true };
    let row = match row_of(builder, &txn, seq, &entry, Record::Never).await? {
        Some(row) => row,
        // It has gone meanwhile; what the entry has is what there is to be shown.
        None => builder.entry_columns(key, value)?,
    };
    txn.rollback().await;
    let shown = index_row(cx, &builder.exprs, &row)?.map(|row| row.into_owned());
    Ok(duplicate(cx, builder, &shown.unwrap_or(row)))
}

/// The row to which an entry belongs, if it exists.
async fn row_of(
    builder: &Builder,
    txn: &Arc<Transaction>,
    seq: Seq,
    entry: &IndexEntry,
    record: Record,
) -> Result<Option<Row>> {
    let columns = builder.entry_columns(&entry.key, &entry.value)?;
    let keys = builder.rows.family_keys(&builder.rows.primary_key(&columns));
    let values = txn.reads().multi_get_recorded(seq, &keys, record).await.map_err(from_kv)?;
    // Family 0 says whether the row exists.
    let Some(Some(_)) = values.first() else { return Ok(None) };
    let found = values.iter().flatten().map(|value| value.as_ref());
    builder.decoder.row(&keys[0], found).map(Some)
}

/// Gives each unique key that others have written meanwhile the entry of its row; 23505 if there
/// are two.
async fn settle(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    overlapped: Vec<(Key, Vec<Value>)>,
) -> Result<()> {
    for keys in overlapped.chunks(SETTLED_KEYS) {
        cx.exec.check_interrupts().await?;
        let mut attempt = 0;
        loop {
            let outcome = settle_once(cx, kv, builder, keys).await;
            attempt += 1;
            match outcome {
                Err(error) if batch_retries(&error) && attempt < ATTEMPTS_MAX => {}
                other => break other?,
            }
        }
    }
    Ok(())
}

async fn settle_once(
    cx: &DdlContext<'_>,
    kv: &Database,
    builder: &Builder,
    keys: &[(Key, Vec<Value>)],
) -> Result<()> {
    let txn = kv.begin(batch_options());
    let seq = txn.next_statement();
    check_mine(cx, builder, &txn, seq).await?;
    txn.commit_terms().require_unchanged(braid_catalog::descriptor_key(builder.table.id));
    for (key, values) in keys {
        let now = txn.reads().get_recorded(seq, key, CHECKED).await.map_err(from_kv)?;
        let mut owner: Option<IndexEntry> = None;
        for value in values.iter().chain(&now) {
            let had = IndexEntry { key: key.clone(), value: value.to_vec(), must_be_unique: true };
            let Some(row) = row_of(builder, &txn, seq, &had, CHECKED).await? else { continue };
            let Some(row) = index_row(cx, &builder.exprs, &row)? else { continue };
            let entry = builder.index.entry(&builder.table, &row);
            if entry.key != *key {
                continue;
            }
            if owner.as_ref().is_some_and(|other| other.value != entry.value) {
                return Err(duplicate(cx, builder, &row));
            }
            owner = Some(entry);
        }
        if let Some(entry) = owner
            && now.is_none_or(|now| now != entry.value)
        {
            txn.put(seq, key, entry.value).map_err(from_kv)?;
        }
    }
    txn.commit_or_error().await.map_err(from_kv).map(drop)
}
