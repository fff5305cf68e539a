//! The task that lets old versions go, and destroys ranges that were dropped, on a store that does
//! not do so by itself (TiKV).
//!
//! Of all gateways one has this duty at a time. A round moves the point below which nobody reads,
//! never past an open snapshot of any gateway, and destroys what was dropped before that point. A
//! process that ends in between leaves the notes to the next one.

use std::sync::Weak;

use braid_ddl as ddl;
use braid_exec::from_kv;
use braid_types::Result;

use crate::server::Server;

/// Works for as long as there is a server.
pub(crate) async fn collect_garbage(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        let store = strong.engine.kv.store().clone();
        let Some(garbage) = store.garbage() else { return };
        let pause = garbage.pause();
        if strong.engine.gateways.owns("gc") {
            match round(&strong).await {
                Ok(0) => {}
                Ok(ranges) => tracing::info!(ranges, "dropped ranges are destroyed"),
                Err(error) => tracing::warn!(%error, "old versions could not be removed"),
            }
        }
        drop((strong, store));
        tokio::time::sleep(pause).await;
    }
}

/// How many ranges were destroyed.
async fn round(server: &Server) -> Result<usize> {
    let store = server.engine.kv.store().clone();
    let Some(garbage) = store.garbage() else { return Ok(0) };
    ddl::mark_dropped_ranges(&server.engine.kv).await?;
    let point = garbage.collect().await.map_err(from_kv)?;
    ddl::destroy_dropped_ranges(&server.engine.kv, garbage, point).await
}
