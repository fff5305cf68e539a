//! Rounds in which PD is told the oldest point that this gateway needs.
//!
//! What is promised trails by a round: a timestamp that was taken and is not entered yet is above
//! the last round's. A read below the promise, or after its end, is looked into one by one.

use crate::{cluster::Cluster, locks::TransactionRegistry};
use braid_kv::Result;
use std::{sync::Weak, time::Duration};

/// How long taking the promise back may take at the end.
const GOODBYE: Duration = Duration::from_secs(1);

/// One round: registers with PD what is needed here; the lowest point that anybody needs.
pub(super) async fn register(cluster: &Cluster, registry: &TransactionRegistry) -> Result<u64> {
    let snapshots = &cluster.snapshots;
    let asked_ms = snapshots.elapsed_ms();
    let now = cluster.tso.now().await?;
    let before = snapshots.begin_round(now).unwrap_or(now);
    // The record of a rollback stands at the start of its transaction, and has to stay as well.
    let oldest_start = registry.oldest_start().map(|start| start.saturating_sub(1));
    let oldest = [snapshots.oldest(), oldest_start].into_iter().flatten().min();
    let wanted = oldest.map_or(before, |oldest| oldest.min(before));
    // Between the old point and the new one nothing is promised from now on.
    snapshots.give_up_below(wanted);
    let ttl = cluster.options.snapshot_promise.max(Duration::from_secs(1)).as_secs();
    let lowest = cluster.pd.register(&snapshots.name, ttl as i64, wanted).await?;
    let promised = wanted.max(lowest);
    if lowest > wanted {
        tracing::warn!("the safe point has passed snapshots of this server: it was cut off");
        cluster.pd.register(&snapshots.name, ttl as i64, promised).await?;
    }
    snapshots.promise(promised, asked_ms, Duration::from_secs(ttl));
    Ok(lowest)
}

/// Nothing is needed here any more.
pub(crate) async fn unregister(cluster: &Cluster) {
    let snapshots = &cluster.snapshots;
    snapshots.close();
    let goodbye = cluster.pd.register(&snapshots.name, 0, 0);
    if !matches!(tokio::time::timeout(GOODBYE, goodbye).await, Ok(Ok(_))) {
        tracing::debug!("PD keeps old versions for this server for a minute to come");
    }
}

/// Keeps the promise up until the store is gone.
pub(super) async fn keep_registered(
    cluster: Weak<Cluster>,
    registry: Weak<TransactionRegistry>,
    pause: Duration,
) {
    loop {
        tokio::time::sleep(pause).await;
        let (Some(cluster), Some(registry)) = (cluster.upgrade(), registry.upgrade()) else {
            return;
        };
        if cluster.snapshots.is_closed() {
            return;
        }
        if let Err(error) = register(&cluster, &registry).await {
            tracing::warn!(%error, "PD was not told which versions are still needed");
        }
    }
}
