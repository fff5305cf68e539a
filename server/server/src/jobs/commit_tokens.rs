//! The job that removes old commit tokens.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_cluster::remove_expired;
use braid_session::now_micros;

use crate::server::Server;

/// How often this gateway asks whether the duty has become its own.
const DUTY_GIVEN: Duration = Duration::from_secs(10);
/// How often old records are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Removes old records at intervals, as long as the server lives.
pub(crate) async fn remove_old_tokens(server: Weak<Server>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        loop {
            let Some(server): Option<Arc<Server>> = server.upgrade() else { return };
            if server.engine.gateways.owns("commit_tokens") {
                match remove_expired(&server.engine.kv, now_micros()).await {
                    Ok(removed) => tracing::debug!(removed, "old commit tokens"),
                    Err(error) => tracing::warn!(%error, "old commit tokens could not be removed"),
                }
                break;
            }
            drop(server);
            tokio::time::sleep(DUTY_GIVEN).await;
        }
    }
}
