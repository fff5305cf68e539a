//! Reading the notifications that other gateways have left in the store, and removing old ones.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_catalog::{notification_rows, remove_old_notifications};

use crate::clock::now_micros;
use crate::server::Server;

/// How often old rows are looked for, by the gateway that has this duty.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// Reads what has come since the last look and brings it to the listeners. Nothing is read if
/// nobody listens.
pub(super) async fn look(server: &Arc<Server>) {
    while let Some(position) = server.hub.position() {
        match notification_rows(&server.kv, position).await {
            Ok(rows) if rows.is_empty() => return,
            Ok(rows) => server.hub.take_rows(position, rows),
            Err(error) => {
                tracing::debug!(%error, "notifications could not be read");
                return;
            }
        }
    }
}

/// Looks every `notify_poll_interval`, as long as the server lives.
pub(crate) async fn follow_notifications(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        look(&strong).await;
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
        if !server.gateways.owns("notifications") {
            continue;
        }
        match remove_old_notifications(&server.kv, now_micros()).await {
            Ok(removed) => tracing::debug!(removed, "old notifications"),
            Err(error) => tracing::warn!(%error, "old notifications could not be removed"),
        }
    }
}
