//! Keys that a table or an index has left below others' rows: removed in the background, in
//! bounded batches.
//!
//! What is interleaved has no range of its own, so that it cannot go in one range delete. Who drops
//! or moves it only notes what stays behind with the parent (`Index::passing`), in the transaction
//! that changes the catalog; from its commit on nobody reads these keys. They are removed here, and
//! then the note.
//!
//! The same happens, on a store that cannot lock spans, to the range of its own from which a
//! table's rows have moved away (`Table::vacated`): they may come back to it, so it cannot be
//! destroyed later as a dropped one is (`dropped`).
//!
//! Rules: a batch commits only if the descriptor with the note is unchanged, so that no key is
//! removed that is in use again. Keys of a running move (`Catalog::is_arriving`) are left alone.
//! Several gateways may remove the same keys. The note may be replaced meanwhile by another one,
//! for newer keys. So a gateway that finds the descriptor changed begins again. The note is removed
//! only after the whole range was removed under one descriptor. A process that ends meanwhile
//! continues at its next start.

use std::sync::Arc;

use braid_catalog::{Catalog, CatalogCache, Dropped, Id, Passing, Table, descriptor_key};
use braid_exec::from_kv;
use braid_kv::{Database, ScanRequest, Span, TxnOptions};
use braid_types::Result;

use crate::online::steps::is_retry;

/// How many keys one batch removes at most.
const BATCH_KEYS: usize = 2_000;

/// Removes what is left over, of every table; whether all of it is gone. It may be dropped at any
/// time.
pub async fn remove_left_over(kv: &Database, cache: &Arc<CatalogCache>) -> Result<bool> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let catalog = cache.at(&txn, txn.next_statement()).await.map_err(from_kv)?;
    txn.rollback().await;
    let mut is_done = true;
    for table in catalog.tables().iter() {
        if table.vacated {
            is_done &= empty_vacated(kv, cache, table.id).await?;
        }
        for passing in &table.primary.passing {
            if !catalog.interleaving().is_arriving(passing) {
                is_done &= remove(kv, cache, table.id, passing).await?;
            }
        }
    }
    Ok(is_done)
}

/// Removes the keys that one index has left below a table's rows, and the note of them; false if
/// others were in the way.
pub(crate) async fn remove(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    parent: Id,
    passing: &Passing,
) -> Result<bool> {
    let left = Left { table: parent, span: passing.span(), passing: Some(passing) };
    remove_keys(kv, cache, &left).await
}

/// Empties the range of its own from which a table's rows have moved away; false if others were in
/// the way.
pub(crate) async fn empty_vacated(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    table: Id,
) -> Result<bool> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let catalog = cache.at(&txn, txn.next_statement()).await.map_err(from_kv)?;
    txn.rollback().await;
    let Some(found) = catalog.table(table).filter(|found| found.vacated) else { return Ok(true) };
    let range = Dropped::index(found.data_id, found.primary.number);
    remove_keys(kv, cache, &Left { table, span: range.span(), passing: None }).await
}

/// Keys that are left over.
struct Left<'a> {
    /// The table with the note.
    table: Id,
    /// Where they lie.
    span: Span,
    /// Which they are among others; without it all of the span, which the table has left.
    passing: Option<&'a Passing>,
}

impl Left<'_> {
    /// The table, if it still says so.
    fn table(&self, catalog: &Catalog) -> Option<Table> {
        let table = catalog.table(self.table)?;
        let known = match self.passing {
            Some(passing) => {
                table.primary.passing.contains(passing)
                    && !catalog.interleaving().is_arriving(passing)
            }
            None => table.vacated,
        };
        known.then(|| Table::clone(table))
    }
}

async fn remove_keys(kv: &Database, cache: &Arc<CatalogCache>, left: &Left<'_>) -> Result<bool> {
    let mut so_far: Option<Progress> = None;
    let mut keys_max = BATCH_KEYS;
    loop {
        let step = match &so_far {
            Some(Progress { version, rest: None }) => forget(kv, cache, left, *version).await,
            so_far => batch(kv, cache, left, so_far.as_ref(), keys_max).await,
        };
        match step {
            Ok(Step::Removed(progress)) => {
                so_far = Some(progress);
                keys_max = BATCH_KEYS.min(keys_max * 2);
            }
            Ok(Step::Changed) => so_far = None,
            Ok(Step::Gone) => return Ok(true),
            Err(error) if is_retry(&error) && keys_max > 1 => keys_max /= 2,
            Err(error) if is_retry(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// How far the removal has come.
struct Progress {
    /// The version of the descriptor under which it began.
    version: u64,
    /// What is left of the span.
    rest: Option<Span>,
}

enum Step {
    Removed(Progress),
    /// The descriptor is another one now.
    Changed,
    /// There is nothing to remove any more.
    Gone,
}

async fn batch(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    left: &Left<'_>,
    so_far: Option<&Progress>,
    keys_max: usize,
) -> Result<Step> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let catalog = cache.at(&txn, seq).await.map_err(from_kv)?;
    let Some(Table { version, .. }) = left.table(&catalog) else {
        txn.rollback().await;
        return Ok(Step::Gone);
    };
    if so_far.is_some_and(|so_far| so_far.version != version) {
        txn.rollback().await;
        return Ok(Step::Changed);
    }
    txn.commit_terms().require_unchanged(descriptor_key(left.table));
    let shape = left.passing.map(Passing::shape);
    let span = so_far.and_then(|so_far| so_far.rest.clone()).unwrap_or_else(|| left.span.clone());
    let request = ScanRequest::new(span).keys_only().limit_rows(keys_max);
    let request = request.record(braid_kv::Record::Never).shape(shape.as_ref());
    let found = txn.scanner(seq, request).first_batch().await.map_err(from_kv)?;
    for (key, _) in found.iter() {
        txn.delete(seq, key).map_err(from_kv)?;
    }
    txn.commit_or_error().await.map_err(from_kv)?;
    Ok(Step::Removed(Progress { version, rest: found.resume }))
}

async fn forget(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    left: &Left<'_>,
    version: u64,
) -> Result<Step> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.map_err(from_kv)?;
    let Some(mut table) = left.table(draft.catalog()) else {
        txn.rollback().await;
        return Ok(Step::Gone);
    };
    if table.version != version {
        txn.rollback().await;
        return Ok(Step::Changed);
    }
    match left.passing {
        Some(passing) => table.primary.passing.retain(|known| known != passing),
        None => table.vacated = false,
    }
    draft.put(table);
    draft.commit(cache, &txn, seq).await.map_err(from_kv)?;
    Ok(Step::Gone)
}
