//! Whether what was read could have been gone.

use crate::cluster::Cluster;
use braid_kv::{Error, Result};

/// [`Error::SnapshotTooOld`] if what was read at `ts` may have been removed before.
pub(crate) async fn check_age(cluster: &Cluster, ts: u64) -> Result<()> {
    if cluster.snapshots.covers(ts) || ts >= cluster.pd.safe_point().await? {
        return Ok(());
    }
    Err(Error::SnapshotTooOld)
}
