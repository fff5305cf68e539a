//! Signs of life: the primaries of transactions that last get more time.

use crate::{cluster::Cluster, cluster::Manner, locals::Locals};
use braid_tikv_proto::kvrpcpb::TxnHeartBeatRequest;
use futures_util::future::join_all;
use std::sync::{Arc, Weak};

/// Runs until the store is gone.
pub(crate) async fn run(cluster: Weak<Cluster>, locals: Weak<Locals>) {
    loop {
        let (Some(cluster), Some(locals)) = (cluster.upgrade(), locals.upgrade()) else { return };
        let pause = cluster.options.lock_ttl / 3;
        beat(&cluster, &locals).await;
        drop((cluster, locals));
        tokio::time::sleep(pause).await;
    }
}

async fn beat(cluster: &Arc<Cluster>, locals: &Locals) {
    let ttl = cluster.options.lock_ttl;
    let lasting = locals.all().into_iter().filter_map(|local| {
        let state = local.state.lock();
        let start = state.start.filter(|start| start.at.elapsed() * 3 > ttl)?;
        Some((start, state.primary.clone()?))
    });
    let beats: Vec<_> = lasting
        .map(|(start, primary)| async move {
            let make = |_: &_| TxnHeartBeatRequest {
                primary_lock: primary.clone().into(),
                start_version: start.ts,
                advise_lock_ttl: start.ttl_ms(ttl),
                ..TxnHeartBeatRequest::default()
            };
            // Without a lock there is nothing to keep alive: the commit finds out by itself.
            match cluster.at_key(&primary, &Manner::default(), make).await {
                Ok(answer) if answer.error.is_some() => {
                    tracing::debug!(error = ?answer.error, "a transaction has no primary lock");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a sign of life failed"),
            }
        })
        .collect();
    join_all(beats).await;
}
