//! Whether garbage collection may have removed what was read, or the record of a rollback.

use crate::cluster::Cluster;
use braid_kv::{Error, Result};

/// [`Error::SnapshotTooOld`] if what was read at `ts` may have been removed before.
pub(crate) async fn check_age(cluster: &Cluster, ts: u64) -> Result<()> {
    if cluster.snapshots.covers(ts) || ts >= cluster.pd.safe_point().await? {
        return Ok(());
    }
    Err(Error::SnapshotTooOld)
}

/// [`Error::SnapshotTooOld`] if records of the rollback of a transaction that began at `start` may
/// have been removed before.
pub(crate) async fn check_start(cluster: &Cluster, start: u64) -> Result<()> {
    check_age(cluster, start.saturating_sub(1)).await
}
