//! Indexes and foreign keys that were being added, and tables that were being moved, when the
//! process that did it ended.
//!
//! Nobody goes on building them, so the next start removes them as DROP INDEX does: the descriptor
//! and one delete of the entries' span, whatever their number, in a single transaction. The store
//! frees their space later, beside what else it does. A table that was being moved stays where it
//! is. What either has below others' rows is left over (`super::left_over`).
//!
//! Rule: only the store's one process calls it, and before it takes sessions; an index that is
//! really being built would go as well.

use std::sync::Arc;

use braid_catalog::{CatalogCache, IndexState, Table};
use braid_kv::{Database, TxnOptions};
use braid_types::Result;

use crate::from_kv;

/// Removes every index that is still being built, and every foreign key that is still being
/// validated for the first time; their names, each with its table's.
pub async fn remove_unfinished(
    kv: &Database,
    cache: &Arc<CatalogCache>,
) -> Result<Vec<(String, String)>> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.map_err(from_kv)?;
    let mut removed = Vec::new();
    let catalog = draft.catalog().clone();
    for table in catalog.tables() {
        let current = draft.catalog().table(table.id).cloned();
        let mut changed = Table::clone(current.as_deref().unwrap_or(table));
        changed.indexes.retain(|index| index.state == IndexState::Public);
        changed.foreign_keys.retain(|key| !key.unfinished);
        let gone = table.foreign_keys.len() - changed.foreign_keys.len();
        let moving = changed.moving.take();
        if changed.indexes.len() == table.indexes.len() && gone == 0 && moving.is_none() {
            continue;
        }
        if moving.is_some() {
            // What was put below a parent's rows is left over now; the parent knows it.
            if let Some(moved) = table.moved().filter(|t| t.primary.interleaving.is_none()) {
                txn.delete_span(seq, moved.index_span(&moved.primary)).map_err(from_kv)?;
            }
            removed.push(("move".to_owned(), table.name.clone()));
        }
        for key in table.foreign_keys.iter().filter(|key| key.unfinished) {
            removed.push((key.name.clone(), table.name.clone()));
        }
        for index in table.indexes.iter().filter(|index| index.state == IndexState::Building) {
            match index.parent().and_then(|parent| draft.catalog().table(parent)).cloned() {
                Some(parent) => {
                    let place = index.interleaving.as_ref();
                    let passing = place.map(|place| table.passing_keys(index, place));
                    let mut parent = Table::clone(&parent);
                    let gone = (table.id, index.number);
                    parent.primary.below.retain(|below| *below != gone);
                    parent.primary.passing.extend(passing);
                    draft.put_table(parent);
                }
                None => txn.delete_span(seq, table.index_span(index)).map_err(from_kv)?,
            }
            removed.push((index.name.clone(), table.name.clone()));
        }
        let parents = table.foreign_keys.iter().filter(|key| key.unfinished).map(|key| key.parent);
        for parent in parents {
            if changed.foreign_keys.iter().any(|key| key.parent == parent) {
                continue;
            }
            if parent == table.id {
                changed.referenced_by.retain(|child| *child != table.id);
            } else if let Some(found) = draft.catalog().table(parent) {
                let mut found = Table::clone(found);
                found.referenced_by.retain(|child| *child != table.id);
                draft.put_table(found);
            }
        }
        draft.put_table(changed);
    }
    if removed.is_empty() {
        txn.rollback().await;
        return Ok(removed);
    }
    let pending = draft.flush(cache, &txn, seq).map_err(from_kv)?;
    let outcome = txn.commit_or_error().await;
    drop(pending);
    outcome.map_err(from_kv)?;
    Ok(removed)
}
