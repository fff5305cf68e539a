//! Ranges of their own that tables and indexes leave when they go: deleted by the transaction, or
//! left behind with a note and destroyed later.
//!
//! Where the store can lock a span, one range delete does it: writers wait for it. Where it cannot
//! (TiKV), a range delete would be retried as long as others write there; so the transaction only
//! changes the descriptors and leaves the keys ([`braid_catalog::Dropped`]). Writers who know the
//! old descriptors fail at their commit.
//!
//! Rule: nothing is destroyed before [`braid_kv::Garbage::collect`] has come past the moment at
//! which the note was seen.

use braid_catalog::{Dropped, dropped_ranges};
use braid_exec::from_kv;
use braid_kv::{Database, Garbage, Span, Timestamp, Transaction, TxnOptions};
use braid_types::Result;

use crate::online::steps::is_retry;

/// Ranges destroyed at a time.
const RANGES_MAX: usize = 64;

/// Puts down in the notes of dropped ranges that they are there. False if others were in the way.
pub async fn mark_dropped_ranges(kv: &Database) -> Result<bool> {
    if kv.store().locks_spans() {
        return Ok(true);
    }
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut found = dropped_ranges(&txn, seq).await.map_err(from_kv)?;
    found.retain(|range| range.seen.is_none());
    if found.is_empty() {
        txn.rollback().await;
        return Ok(true);
    }
    let now = txn.snapshots().current().await.map_err(from_kv)?;
    for mut range in found {
        range.seen = Some(now.0);
        range.note(&txn, seq).map_err(from_kv)?;
    }
    settle(&txn).await
}

/// Destroys the dropped ranges that nobody at or above `point` can see; how many it were.
pub async fn destroy_dropped_ranges(
    kv: &Database,
    garbage: &dyn Garbage,
    point: Timestamp,
) -> Result<usize> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut found = dropped_ranges(&txn, seq).await.map_err(from_kv)?;
    found.retain(|range| range.is_known_at(point));
    found.truncate(RANGES_MAX);
    if found.is_empty() {
        txn.rollback().await;
        return Ok(0);
    }
    let spans: Vec<Span> = found.iter().map(Dropped::span).collect();
    garbage.destroy(&spans).await.map_err(from_kv)?;
    for range in &found {
        range.forget(&txn, seq).map_err(from_kv)?;
    }
    settle(&txn).await?;
    Ok(found.len())
}

/// Commits; false after a conflict, which is harmless: what was to be done is done again.
async fn settle(txn: &Transaction) -> Result<bool> {
    match txn.commit_or_error().await.map_err(from_kv) {
        Err(error) if is_retry(&error) => Ok(false),
        other => other.map(|_| true),
    }
}
