//! The job that ends sessions whose advisory locks were lost.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_cluster::SharedLocks;

use crate::server::Server;

/// How often sessions are looked at. What they write under lost locks does not commit meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Ends sessions that have lost their advisory locks with the gateway's lease.
pub(crate) async fn end_losers(server: Weak<Server>, locks: Arc<SharedLocks>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(server) = server.upgrade() else { return };
        for session in locks.lost() {
            if server.engine.sessions.end_loser_of_locks(session) {
                tracing::warn!(%session, "advisory locks were lost with the lease of this gateway");
            }
        }
    }
}
