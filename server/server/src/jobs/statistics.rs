//! The job that loads table statistics when another gateway has stored some.

use std::sync::Weak;
use std::time::Duration;

use crate::server::Server;

/// How long one wait for news lasts, so that the server can end meanwhile.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Loads the statistics when another gateway has stored some.
pub(crate) async fn follow_statistics(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        let engine = &strong.engine;
        let (kv, catalog, gateways) =
            (engine.kv.clone(), engine.catalog.clone(), engine.gateways.clone());
        drop(strong);
        let changed = tokio::time::timeout(LOOK_EVERY, gateways.statistics_changed()).await;
        if changed.is_ok()
            && let Err(error) = catalog.load_statistics(&kv).await
        {
            tracing::warn!(%error, "statistics could not be loaded");
        }
    }
}
