//! Looks after a cluster that nobody has work for, so that whoever asks how it is gets a fresh
//! answer. What is wrong is noted where requests find it: with the timestamps, with the stores.

use crate::{cluster::Cluster, cluster::Manner, format, keys::Prefix};
use braid_tikv_proto::kvrpcpb::GetRequest;
use std::{
    sync::Weak,
    time::{Duration, Instant},
};

/// Between two looks at PD.
const PAUSE: Duration = Duration::from_secs(2);
/// Stores that have answered nobody for so long are looked at.
const IDLE: Duration = Duration::from_secs(8);

/// Runs until the store is gone. What is read is the format of the database.
pub(crate) async fn run(cluster: Weak<Cluster>, meta: Prefix) {
    let key = meta.key(format::KEY);
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
            drop(cluster.at_key(&key, &Manner::default(), make).await);
        }
        drop(cluster);
        tokio::time::sleep(PAUSE).await;
    }
}
