//! The task that removes keys which dropped or moved interleaved tables have left behind.

use std::sync::Weak;
use std::time::Duration;

use braid_exec::ddl;

use crate::server::Server;

/// How long it rests after others were in the way.
const REST: Duration = Duration::from_millis(100);

/// Works for as long as there is a server: once at the start, then after every change of the
/// catalog that leaves keys behind.
pub(crate) async fn remove_left_over(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        let (kv, catalog) = (strong.kv.clone(), strong.catalog.clone());
        drop(strong);
        let is_done = match ddl::remove_left_over(&kv, &catalog).await {
            Ok(is_done) => is_done,
            Err(error) => {
                tracing::warn!(%error, "keys that were left over could not be removed");
                false
            }
        };
        drop(kv);
        if is_done {
            catalog.left_over().await;
        } else {
            tokio::time::sleep(REST).await;
        }
    }
}
