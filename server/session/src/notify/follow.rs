//! Reading the notifications that other gateways have left in the store.

use braid_cluster::notification_rows;
use braid_kv::Database as Kv;

use super::hub::Hub;

/// Reads what has come since the last look and brings it to the listeners. Nothing is read if
/// nobody listens.
pub(crate) async fn read_rows(hub: &Hub, kv: &Kv) {
    while let Some(position) = hub.position() {
        match notification_rows(kv, position).await {
            Ok(rows) if rows.is_empty() => return,
            Ok(rows) => hub.take_rows(position, rows),
            Err(error) => {
                tracing::debug!(%error, "notifications could not be read");
                return;
            }
        }
    }
}
