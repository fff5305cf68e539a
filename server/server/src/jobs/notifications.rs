//! The jobs that read the notifications of other gateways, and remove old ones.

use std::sync::Weak;
use std::time::Duration;

use braid_cluster::remove_old_notifications;
use braid_session::now_micros;

use crate::server::Server;

/// How often old rows are looked for, by the gateway that has this duty.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// Reads new notifications every `notify_poll_interval`, as long as the server lives.
pub(crate) async fn follow_notifications(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        strong.engine.read_notifications().await;
        let pause = strong.options.notify_poll_interval;
        drop(strong);
        tokio::time::sleep(pause).await;
    }
}

/// Removes rows that every gateway has had time to read.
pub(crate) async fn sweep_notifications(server: Weak<Server>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(server) = server.upgrade() else { return };
        if !server.engine.gateways.owns("notifications") {
            continue;
        }
        match remove_old_notifications(&server.engine.kv, now_micros()).await {
            Ok(removed) => tracing::debug!(removed, "old notifications"),
            Err(error) => tracing::warn!(%error, "old notifications could not be removed"),
        }
    }
}
