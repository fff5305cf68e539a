//! Deferrable unique constraints: equal keys are looked for when a statement or the transaction
//! ends.
//!
//! ```text
//!   TableWriter ──key──▶ kv transaction
//!                           ├──▶ end of the statement: constraints that are immediate now
//!                           └──▶ SET CONSTRAINTS … IMMEDIATE, commit: all others
//! ```
//!
//! The index of such a constraint is laid out like one that is not unique: each entry ends with the
//! row's primary key, so rows with equal keys can be there together. A check scans what begins with
//! the key, and finds at most one entry. The commit proves this scan at every isolation level, so
//! that two transactions cannot both find a key free.
//!
//! Exclusion constraints are checked at the same times (`exclusions`).
//!
//! Keys are left with the transaction under their statement's number, so that they go when its
//! writes are taken back.

use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use braid_catalog::{Catalog, Id, Index, Table};
use braid_exec::{ExecContext, ExecutionState};
use braid_kv::{
    Conflict, Key, Record, Result as KvResult, ScanRequest, Scanner, Seq, Span, Transaction,
};
use braid_rows::{IndexEntry, IndexRows, Violation, duplicate_key};
use braid_types::{Datum, Error, FormatSettings, Result, SqlState};
use futures_util::future::try_join_all;

use crate::exclusions::check_entries;

/// How many keys are looked for in one wait.
const KEYS_AT_ONCE: usize = 1024;

/// A key that a row got, and that is to be checked.
struct DeferredKey {
    table: Id,
    index: Id,
    /// What the index's entries with this key begin with.
    key: Key,
    /// Of an exclusion constraint the row's entry; `key` is what it shares with those that it may
    /// exclude.
    entry: Option<Key>,
}

/// Work that a transaction has deferred.
type Work = Arc<dyn Any + Send + Sync>;

/// Notes the keys of deferrable constraints that a row gets. Keys that it had before are left out.
pub(crate) fn defer_checks(
    cx: &ExecContext,
    table: &Table,
    indexes: &[IndexRows],
    old: Option<&[Datum]>,
    new: &[Datum],
) {
    for rows in indexes.iter().filter(|rows| rows.deferrable) {
        let Some(key) = rows.deferred_key(new) else { continue };
        let stays = old.and_then(|old| rows.deferred_key(old)).is_some_and(|old| old == key);
        let Some(index) = table.index(rows.number).filter(|_| !stays) else { continue };
        let deferred = DeferredKey { table: table.id, index: index.id, key, entry: None };
        cx.txn.deferred().push(cx.seq, Arc::new(deferred));
    }
}

/// Notes the entries that a row gets in the indexes of exclusion constraints.
pub(crate) fn defer_exclusions<'e>(
    cx: &ExecContext,
    table: &Table,
    entries: impl Iterator<Item = (&'e IndexRows, &'e IndexEntry)>,
) -> Result<()> {
    for (rows, entry) in entries.filter(|(rows, _)| !rows.excluded_by.is_empty()) {
        let Some(index) = table.index(rows.number) else { continue };
        let key = rows.exclusion_prefix(&entry.key)?;
        let entry = Some(entry.key.clone());
        let deferred = DeferredKey { table: table.id, index: index.id, key, entry };
        cx.txn.deferred().push(cx.seq, Arc::new(deferred));
    }
    Ok(())
}

/// Whether a table has constraints that are checked at the end of a statement now.
pub(crate) fn is_checked_at_end(cx: &ExecContext, table: &Table) -> bool {
    let is_immediate =
        |index: &Index| index.is_checked_late() && !cx.constraints.is_unique_deferred(index);
    table.indexes.iter().any(is_immediate)
}

/// Whether any key is still to be checked.
pub(crate) fn has_owed_keys(txn: &Transaction) -> bool {
    txn.deferred().has::<DeferredKey>()
}

/// Whether keys of a table are still to be checked.
pub(crate) fn has_owed_keys_on(txn: &Transaction, table: Id) -> bool {
    let left = txn.deferred().all();
    left.iter()
        .any(|(_, what)| what.downcast_ref::<DeferredKey>().is_some_and(|k| k.table == table))
}

/// Checks the keys of a statement whose constraints are immediate now. Its writes have numbers from
/// `since` on.
pub(crate) async fn check_statement_keys(run: &Arc<ExecutionState>, since: Seq) -> Result<()> {
    let cx = &run.cx;
    let is_deferred = |deferred: &DeferredKey| {
        let table = cx.catalog.table(deferred.table);
        let index = table.and_then(|t| t.indexes.iter().find(|index| index.id == deferred.index));
        index.is_some_and(|index| cx.constraints.is_unique_deferred(index))
    };
    let left = cx.txn.deferred().all();
    let own = left.into_iter().filter(|(seq, _)| seq.number() >= since.number());
    let due =
        own.map(|(_, what)| what).filter(|what| is_deferred_key(what, |key| !is_deferred(key)));
    settle(run, due.collect()).await
}

/// Checks the keys that are deferred for some constraints, known by their indexes.
pub(crate) async fn check_owed_keys(
    cx: &Arc<ExecContext>,
    which: &impl Fn(Id) -> bool,
) -> Result<()> {
    if !has_owed_keys(&cx.txn) {
        return Ok(());
    }
    let left = cx.txn.deferred().all().into_iter().map(|(_, what)| what);
    let due: Vec<Work> =
        left.filter(|what| is_deferred_key(what, |key| which(key.index))).collect();
    let run = Arc::new(ExecutionState::new(cx.clone(), Arc::default()));
    settle(&run, due).await
}

fn is_deferred_key(what: &Work, wanted: impl Fn(&DeferredKey) -> bool) -> bool {
    what.downcast_ref::<DeferredKey>().is_some_and(wanted)
}

/// Checks keys, and takes them off what the transaction has deferred.
async fn settle(run: &Arc<ExecutionState>, due: Vec<Work>) -> Result<()> {
    if due.is_empty() {
        return Ok(());
    }
    run.wait(run.cx.txn.snapshots().renew(run.cx.seq)).await?;
    let mut seen: HashSet<&Key> = HashSet::with_capacity(due.len());
    let deferred = due.iter().filter_map(|what| what.downcast_ref::<DeferredKey>());
    let (excluded, unique): (Vec<&DeferredKey>, Vec<&DeferredKey>) =
        deferred.partition(|deferred| deferred.entry.is_some());
    let keys: Vec<&DeferredKey> =
        unique.into_iter().filter(|deferred| seen.insert(&deferred.key)).collect();
    for keys in keys.chunks(KEYS_AT_ONCE) {
        run.check_interrupts().await?;
        check(run, keys).await?;
    }
    check_excluded(run, &excluded).await?;
    let done: HashSet<*const ()> = due.iter().map(|done| Arc::as_ptr(done).cast()).collect();
    run.cx.txn.deferred().retain(|what| !done.contains(&Arc::as_ptr(what).cast()));
    Ok(())
}

/// 23P01 if an exclusion constraint does not allow one of the entries.
async fn check_excluded(run: &ExecutionState, deferred: &[&DeferredKey]) -> Result<()> {
    let mut groups: BTreeMap<&Key, Vec<&DeferredKey>> = BTreeMap::new();
    for deferred in deferred {
        groups.entry(&deferred.key).or_default().push(deferred);
    }
    for (prefix, deferred) in groups {
        run.check_interrupts().await?;
        let Some(first) = deferred.first() else { continue };
        // A table that was dropped meanwhile has no entries.
        let Some(table) = run.cx.catalog.table(first.table) else { continue };
        let found = table.indexes.iter().find(|index| index.id == first.index);
        let Some(index) = found else { continue };
        let own: HashSet<&Key> =
            deferred.iter().filter_map(|deferred| deferred.entry.as_ref()).collect();
        check_entries(run, (table, index), prefix, &own).await?;
    }
    Ok(())
}

/// 23505 if one of the keys has two entries.
async fn check(run: &ExecutionState, keys: &[&DeferredKey]) -> Result<()> {
    let cx = &run.cx;
    let scan = |deferred: &&DeferredKey| {
        // A table that was dropped meanwhile has no keys.
        let table = cx.catalog.table(deferred.table)?;
        let index = table.indexes.iter().find(|index| index.id == deferred.index)?;
        let request =
            ScanRequest::new(Span::prefix(deferred.key.clone())).keys_only().limit_rows(2);
        let request = request.record(Record::Always { tag: index.id });
        let request = request.shape(table.key_shape(index).as_ref());
        Some((deferred.key.clone(), cx.txn.scanner(cx.seq.after(), request)))
    };
    let mut scans: Vec<(Key, Scanner)> = keys.iter().filter_map(scan).collect();
    let work = async {
        let _one_wait = (scans.len() > 1).then(|| cx.txn.round_trips().side_by_side());
        try_join_all(scans.iter_mut().map(|(_, scanner)| has_two(scanner))).await
    };
    let twice = run.wait(work).await?;
    match scans.iter().zip(twice).find(|(_, twice)| *twice) {
        Some(((key, _), _)) => Err(duplicate_key(key, &cx.catalog, cx.env.settings())),
        None => Ok(()),
    }
}

/// Whether a scan shows more than one entry.
async fn has_two(scanner: &mut Scanner) -> KvResult<bool> {
    let mut found = 0;
    while let Some(batch) = scanner.next_batch().await? {
        found += batch.len();
        if found > 1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// 23505 of a deferrable constraint whose key was free when it was checked, and has changed before
/// the commit; `None` if the conflict is of something else.
pub fn unique_key_changed(
    conflict: &Conflict,
    catalog: &Catalog,
    settings: &FormatSettings,
) -> Option<Error> {
    let (table, index) = catalog.tables().iter().find_map(|table| {
        let mut indexes = table.indexes.iter();
        let index =
            indexes.find(|index| index.is_deferrable_unique() && index.id == conflict.tag)?;
        Some((table, index))
    })?;
    if let Some(key) = &conflict.key {
        return Some(duplicate_key(key, catalog, settings));
    }
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
    let error = Error::new(SqlState::UniqueViolation, message)
        .table(&catalog.schema_name(table.schema), &table.name)
        .constraint(&index.name);
    Some(error.caused_by(Violation::Unique))
}
