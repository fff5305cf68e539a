//! Indexes whose building was cut short by the end of the process that built them.
//!
//! Nobody goes on building them, so the next start removes them as DROP INDEX does: the descriptor
//! and one delete of the entries' span, whatever their number, in a single transaction. The store
//! frees their space later, beside what else it does.
//!
//! Rule: only the store's one process calls it, and before it takes sessions; an index that is
//! really being built would go as well.

use std::sync::Arc;

use braid_catalog::{CatalogCache, IndexState, Table};
use braid_codec::key::index_prefix;
use braid_kv::{Database, Span, TxnOptions};
use braid_types::Result;

use crate::from_kv;

/// Removes every index that is still being built; their names, each with its table's.
pub async fn remove_unfinished_indexes(
    kv: &Database,
    cache: &Arc<CatalogCache>,
) -> Result<Vec<(String, String)>> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.map_err(from_kv)?;
    let mut removed = Vec::new();
    let catalog = draft.catalog().clone();
    for table in catalog.tables() {
        let mut changed = Table::clone(table);
        changed.indexes.retain(|index| index.state == IndexState::Public);
        if changed.indexes.len() == table.indexes.len() {
            continue;
        }
        for index in table.indexes.iter().filter(|index| index.state == IndexState::Building) {
            let prefix = index_prefix(table.data_id, index.number);
            txn.delete_span(seq, Span::prefix(prefix)).map_err(from_kv)?;
            removed.push((index.name.clone(), table.name.clone()));
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
