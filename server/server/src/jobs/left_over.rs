//! The task that removes keys which dropped or moved interleaved tables have left behind.

use std::sync::Weak;
use std::time::Duration;

use braid_ddl as ddl;

use crate::server::Server;

/// How long it rests after others were in the way.
const REST: Duration = Duration::from_millis(100);
/// How often it looks for what other gateways have left, or whether the duty has become its own.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Works for as long as there is a server: once at the start, then after every change of the
/// catalog that leaves keys behind.
pub(crate) async fn remove_left_over(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        let (kv, catalog) = (strong.engine.kv.clone(), strong.engine.catalog.clone());
        let (is_mine, is_shared) =
            (strong.engine.gateways.owns("left_over"), strong.engine.gateways.is_shared());
        drop(strong);
        if !is_mine {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        let is_done = match ddl::remove_left_over(&kv, &catalog).await {
            Ok(is_done) => is_done,
            Err(error) => {
                tracing::warn!(%error, "keys that were left over could not be removed");
                false
            }
        };
        drop(kv);
        if is_done && is_shared {
            // Others may leave something, too.
            let _ = tokio::time::timeout(LOOK_EVERY, catalog.left_over()).await;
        } else if is_done {
            catalog.left_over().await;
        } else {
            tokio::time::sleep(REST).await;
        }
    }
}
