//! Signs of life: the primaries of transactions that last get more time.
//!
//! Others decide by the primary whether a lock may be taken away. So a transaction whose primary is
//! gone has lost its locks, and is told so before it waits for more of them.

use crate::{
    cluster::{Cluster, Manner},
    locals::{Locals, Start, TWO_PHASES},
};
use braid_kv::{Key, Result};
use braid_tikv_proto::kvrpcpb::{TxnHeartBeatRequest, TxnHeartBeatResponse};
use futures_util::future::join_all;
use std::sync::{Arc, Weak};

/// Runs until the store is gone.
pub(crate) async fn run(cluster: Weak<Cluster>, locals: Weak<Locals>) {
    loop {
        let (Some(cluster), Some(locals)) = (cluster.upgrade(), locals.upgrade()) else { return };
        let pause = cluster.options.lock_ttl / 3;
        // A region that does not answer must not keep the others from their signs.
        let _ = tokio::time::timeout(pause, beat(&cluster, &locals)).await;
        drop((cluster, locals));
        tokio::time::sleep(pause).await;
    }
}

/// One sign of life of a transaction, which says too whether its commit goes on in two phases.
pub(crate) async fn sign(
    cluster: &Cluster,
    primary: &Key,
    start: Start,
    two_phases: bool,
) -> Result<TxnHeartBeatResponse> {
    let mark = if two_phases { TWO_PHASES } else { 0 };
    let make = |_: &_| TxnHeartBeatRequest {
        primary_lock: primary.clone().into(),
        start_version: start.ts,
        advise_lock_ttl: start.ttl_ms(cluster.options.lock_ttl) | mark,
        ..TxnHeartBeatRequest::default()
    };
    cluster.at_key(primary, &Manner::default(), make).await
}

async fn beat(cluster: &Arc<Cluster>, locals: &Locals) {
    let ttl = cluster.options.lock_ttl;
    let lasting = locals.all().into_iter().filter_map(|local| {
        let state = local.state.lock();
        let start = state.start.filter(|start| start.at.elapsed() * 3 > ttl)?;
        let sign = (start, state.primary.clone()?, state.two_phases);
        drop(state);
        Some((local, sign))
    });
    let beats: Vec<_> = lasting
        .map(|(local, (start, primary, two_phases))| async move {
            match sign(cluster, &primary, start, two_phases).await {
                // The lock may also be on its way, or the commit may have removed it by now.
                Ok(answer) if answer.error.is_some() => {
                    tracing::debug!(error = ?answer.error, "a transaction has no primary lock");
                    local.lose_primary(start, &primary);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a sign of life failed"),
            }
        })
        .collect();
    join_all(beats).await;
}
