//! Heartbeats: extend the time to live of the primary locks of long transactions.
//!
//! Other transactions read the primary to decide whether a lock may be removed. So a transaction
//! whose primary is gone has lost its locks; it is marked before it waits for more of them.

use super::transaction_registry::{TransactionRegistry, TransactionStart};
use super::transaction_status::TWO_PHASES;
use crate::cluster::{Cluster, RequestOptions};
use braid_kv::{Key, Result};
use braid_tikv_proto::kvrpcpb::{TxnHeartBeatRequest, TxnHeartBeatResponse};
use futures_util::future::join_all;
use std::sync::{Arc, Weak};

/// Runs until the store is gone.
pub(crate) async fn run(cluster: Weak<Cluster>, registry: Weak<TransactionRegistry>) {
    loop {
        let (Some(cluster), Some(registry)) = (cluster.upgrade(), registry.upgrade()) else {
            return;
        };
        let pause = cluster.options.lock_ttl / 3;
        // A region that does not answer must not delay the heartbeats of others.
        let _ = tokio::time::timeout(pause, beat(&cluster, &registry)).await;
        drop((cluster, registry));
        tokio::time::sleep(pause).await;
    }
}

/// One heartbeat of a transaction. It also states whether the commit goes on in two phases.
pub(crate) async fn beat_once(
    cluster: &Cluster,
    primary: &Key,
    start: TransactionStart,
    two_phases: bool,
) -> Result<TxnHeartBeatResponse> {
    let mark = if two_phases { TWO_PHASES } else { 0 };
    let make = |_: &_| TxnHeartBeatRequest {
        primary_lock: primary.clone().into(),
        start_version: start.ts,
        advise_lock_ttl: start.ttl_ms(cluster.options.lock_ttl) | mark,
        ..TxnHeartBeatRequest::default()
    };
    cluster.at_key(primary, &RequestOptions::default(), make).await
}

async fn beat(cluster: &Arc<Cluster>, registry: &TransactionRegistry) {
    let ttl = cluster.options.lock_ttl;
    let lasting = registry.all().into_iter().filter_map(|transaction| {
        let state = transaction.locks.lock();
        let start = state.start.filter(|start| start.at.elapsed() * 3 > ttl)?;
        let sign = (start, state.primary.clone()?, state.two_phases);
        drop(state);
        Some((transaction, sign))
    });
    let beats: Vec<_> = lasting
        .map(|(transaction, (start, primary, two_phases))| async move {
            match beat_once(cluster, &primary, start, two_phases).await {
                // The lock may also be on its way, or the commit may have removed it by now.
                Ok(answer) if answer.error.is_some() => {
                    tracing::debug!(error = ?answer.error, "a transaction has no primary lock");
                    transaction.lose_primary(start, &primary);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a heartbeat failed"),
            }
        })
        .collect();
    join_all(beats).await;
}
