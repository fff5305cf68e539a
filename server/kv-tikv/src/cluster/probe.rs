//! Probes an idle cluster, so that health checks get a fresh answer. Failures are recorded where
//! requests record them: with the timestamps and with the stores.

use super::client::{Cluster, RequestOptions};
use braid_kv::Key;
use braid_tikv_proto::kvrpcpb::GetRequest;
use std::{
    sync::Weak,
    time::{Duration, Instant},
};

/// Between two looks at PD.
const PAUSE: Duration = Duration::from_secs(2);
/// Time without an answer from any store after which the stores are probed.
const IDLE: Duration = Duration::from_secs(8);

/// Runs until the store is gone. `key` is read from an idle cluster.
pub(crate) async fn run(cluster: Weak<Cluster>, key: Key) {
    let (mut answers, mut since) = (0, Instant::now());
    loop {
        let Some(cluster) = cluster.upgrade() else { return };
        let now = cluster.tso.now().await;
        if cluster.answers() != answers {
            (answers, since) = (cluster.answers(), Instant::now());
        } else if let Ok(version) = now
            && since.elapsed() > IDLE
        {
            let key: bytes::Bytes = key.clone().into();
            let make = |_: &_| GetRequest { key: key.clone(), version, ..GetRequest::default() };
            // Its value is of no interest, and neither is a lock on it.
            drop(cluster.at_key(&key, &RequestOptions::default(), make).await);
        }
        drop(cluster);
        tokio::time::sleep(PAUSE).await;
    }
}
