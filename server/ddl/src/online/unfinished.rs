//! Indexes and foreign keys that were being added, and tables that were being moved, when the
//! process that did it ended.
//!
//! If the store has one process only, the next start removes them before it accepts sessions. It
//! does so as DROP INDEX does: one transaction changes the descriptor and deletes the span of the
//! entries. The store frees their space later, in the background. A table that was being moved
//! stays where it is. What either has below others' rows is left over (`left_over`).
//!
//! A table that was closed to writers is opened again.
//!
//! With several gateways each piece of unfinished work names its gateway. When the lease of that
//! gateway has ended, another one takes the work over ([`take_over`]) and continues it ([`go_on`]).
//! Since the announcement, writers have maintained the index, written both places or checked the
//! foreign key. So only older rows remain, from the place that the other gateway has stored
//! (`braid_catalog::Backfill`). Validation starts from the beginning.
//!
//! Rule: each transaction of the work checks that the work still belongs to its gateway, and proves
//! the descriptor. So a gateway that was paused, and only seemed to be dead, notices it.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{
    CatalogCache, Draft, Dropped, ForeignKey, Id, Index, IndexNumber, IndexState, Table,
};
use braid_cluster::Gateways;
use braid_exec::from_kv;
use braid_kv::{Database, Seq, Transaction, TxnOptions};
use braid_types::Result;

use crate::context::DdlContext;
use crate::online::index::build_index;
use crate::online::vacate::vacate;
use crate::online::{move_table, validate_rows};
use crate::rows::delete::drop_range;

/// Removes every index that is still being built, and every foreign key that is still being
/// validated for the first time, and takes back moves of tables: all that nobody works on any
/// more. Their names, each with its table's.
pub async fn remove_unfinished(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    gone: &Gone,
) -> Result<Vec<(String, String)>> {
    if gone.0.is_empty() {
        return Ok(Vec::new());
    }
    remove(kv, cache, |worker| gone.0.contains(&worker)).await
}

/// Those who were at work and are not there any more; `None` stands for an earlier process.
#[derive(Debug)]
pub struct Gone(BTreeSet<Option<u64>>);

/// Looks who is gone that has left something unfinished.
pub async fn who_is_gone(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    gateways: &Gateways,
) -> Result<Gone> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let catalog = cache.at(&txn, txn.next_statement()).await.map_err(from_kv)?;
    txn.rollback().await;
    let mut workers: BTreeSet<Option<u64>> =
        catalog.tables().iter().flat_map(|table| unfinished(table)).collect();
    let named: Vec<u64> = workers.iter().flatten().copied().collect();
    if named.is_empty() {
        return Ok(Gone(workers));
    }
    // Looked at after what they have begun, so that one that is new is seen.
    let gone: BTreeSet<u64> = gateways.gone(&named).await.map_err(from_kv)?.into_iter().collect();
    workers.retain(|worker| worker.is_none_or(|worker| gone.contains(&worker)));
    Ok(Gone(workers))
}

/// Something unfinished that this gateway has taken over.
#[derive(Clone, Copy, Debug)]
pub struct TakenOver {
    /// The table's database.
    pub database: Id,
    table: Id,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Index(IndexNumber),
    /// With the clause's foreign key.
    Move(Option<Id>),
    ForeignKey(Id),
}

/// Makes this gateway the one that builds, moves and adds what gateways have begun that are gone.
pub async fn take_over(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    gone: &Gone,
) -> Result<Vec<TakenOver>> {
    let Gone(gone) = gone;
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.map_err(from_kv)?;
    let (mut taken, mut opened) = (Vec::new(), false);
    let catalog = draft.catalog().clone();
    for table in catalog.tables().iter() {
        let mut changed = Table::clone(table);
        let mut whats = Vec::new();
        for index in &mut changed.indexes {
            if index.state == IndexState::Building && gone.contains(&index.builder) {
                index.builder = cache.gateway();
                whats.push(What::Index(index.number));
            }
        }
        let mut moved_with = None;
        if let Some(moving) = changed.moving.as_mut().filter(|m| gone.contains(&m.mover)) {
            moving.mover = cache.gateway();
            moved_with = moving.to.as_ref().and_then(|to| to.foreign_key);
            whats.push(What::Move(moved_with));
        }
        let keys = changed.foreign_keys.iter_mut();
        for key in keys.filter(|key| key.unfinished && gone.contains(&key.adder)) {
            key.adder = cache.gateway();
            if Some(key.id) != moved_with {
                whats.push(What::ForeignKey(key.id));
            }
        }
        // Its definition has not committed, so nothing of it is there.
        let closed_by = changed.closed_by.take_if(|gateway| gone.contains(&Some(*gateway)));
        opened |= closed_by.is_some();
        if !whats.is_empty() || closed_by.is_some() {
            draft.put(changed);
        }
        let database = table.database;
        taken.extend(whats.into_iter().map(|what| TakenOver { database, table: table.id, what }));
    }
    if taken.is_empty() && !opened {
        txn.rollback().await;
        return Ok(taken);
    }
    draft.commit(cache, &txn, seq).await.map_err(from_kv)?;
    Ok(taken)
}

/// Finishes what was taken over, or removes it if it cannot be finished.
pub async fn go_on(cx: &mut DdlContext<'_>, taken: TakenOver) -> Result<()> {
    let kv = cx.txn().database().clone();
    match taken.what {
        What::Index(number) => build_index::go_on(cx, &kv, taken.table, number).await,
        What::Move(key) => move_table::go_on(cx, &kv, taken.table, key).await,
        What::ForeignKey(key) => validate_rows::go_on(cx, &kv, taken.table, key, true).await,
    }
}

/// Who works on what is unfinished of a table.
fn unfinished(table: &Table) -> Vec<Option<u64>> {
    let building = table.indexes.iter().filter(|index| index.state == IndexState::Building);
    let adding = table.foreign_keys.iter().filter(|key| key.unfinished);
    let moving = table.moving.iter().map(|moving| moving.mover);
    let closed = table.closed_by.into_iter().map(Some);
    let at_work = building.map(|index| index.builder).chain(adding.map(|key| key.adder));
    at_work.chain(moving).chain(closed).collect()
}

async fn remove(
    kv: &Database,
    cache: &Arc<CatalogCache>,
    is_gone: impl Fn(Option<u64>) -> bool,
) -> Result<Vec<(String, String)>> {
    let is_left = |index: &Index| index.state == IndexState::Building && is_gone(index.builder);
    let is_left_key = |key: &ForeignKey| key.unfinished && is_gone(key.adder);
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.map_err(from_kv)?;
    let mut removed = Vec::new();
    let catalog = draft.catalog().clone();
    for table in catalog.tables().iter() {
        let current = draft.catalog().table(table.id).cloned();
        let mut changed = Table::clone(current.as_deref().unwrap_or(table));
        changed.indexes.retain(|index| !is_left(index));
        changed.foreign_keys.retain(|key| !is_left_key(key));
        let gone = table.foreign_keys.len() - changed.foreign_keys.len();
        let moving = changed.moving.take_if(|moving| is_gone(moving.mover));
        if changed.indexes.len() == table.indexes.len() && gone == 0 && moving.is_none() {
            continue;
        }
        if moving.is_some() {
            // What was put below a parent's rows is left over now; the parent knows it.
            if let Some(moved) = table.moved().filter(|t| t.primary.interleaving.is_none()) {
                vacate(&txn, seq, &mut changed, &moved)?;
            }
            removed.push(("move".to_owned(), table.name.clone()));
        }
        for key in table.foreign_keys.iter().filter(|key| is_left_key(key)) {
            removed.push((key.name.clone(), table.name.clone()));
        }
        for index in table.indexes.iter().filter(|index| is_left(index)) {
            leave_index(&txn, seq, &mut draft, table, index)?;
            removed.push((index.name.clone(), table.name.clone()));
        }
        let parents =
            table.foreign_keys.iter().filter(|key| is_left_key(key)).map(|key| key.parent);
        for parent in parents {
            if changed.foreign_keys.iter().any(|key| key.parent == parent) {
                continue;
            }
            if parent == table.id {
                changed.referenced_by.retain(|child| *child != table.id);
            } else if let Some(found) = draft.catalog().table(parent) {
                let mut found = Table::clone(found);
                found.referenced_by.retain(|child| *child != table.id);
                draft.put(found);
            }
        }
        draft.put(changed);
    }
    if removed.is_empty() {
        txn.rollback().await;
        return Ok(removed);
    }
    draft.commit(cache, &txn, seq).await.map_err(from_kv)?;
    Ok(removed)
}

/// The entries of an index that goes.
fn leave_index(
    txn: &Transaction,
    seq: Seq,
    draft: &mut Draft,
    table: &Table,
    index: &Index,
) -> Result<()> {
    let Some(parent) = index.parent().and_then(|parent| draft.catalog().table(parent)) else {
        return drop_range(txn, seq, &Dropped::index(table.data_id, index.number));
    };
    let place = index.interleaving.as_ref();
    let mut parent = Table::clone(parent);
    let gone = (table.id, index.number);
    parent.primary.below.retain(|below| *below != gone);
    parent.primary.passing.extend(place.map(|place| table.passing_keys(index, place)));
    draft.put(parent);
    Ok(())
}
