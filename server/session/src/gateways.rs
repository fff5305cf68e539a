//! The tasks of a gateway that has others beside it: finishing what those have left that are gone,
//! and following what the others find out about tables.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_catalog::{CatalogCache, Gateways};
use braid_exec::ddl;
use braid_kv::Database as Kv;
use braid_types::Result;

use crate::server::Server;

/// How often unfinished things of others are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Removes what nobody is building any more.
pub(crate) async fn remove_unfinished(
    kv: &Kv,
    catalog: &Arc<CatalogCache>,
    gateways: &Gateways,
) -> Result<()> {
    for (name, table) in ddl::remove_unfinished(kv, catalog, gateways).await? {
        tracing::warn!(name, table, "removed what was cut short while it was being added");
    }
    Ok(())
}

/// Looks for unfinished things of gateways that are gone, as long as the server lives.
pub(crate) async fn finish_for_others(server: Weak<Server>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(server) = server.upgrade() else { return };
        if !server.gateways.owns("unfinished") {
            continue;
        }
        let removed = remove_unfinished(&server.kv, &server.catalog, &server.gateways).await;
        if let Err(error) = removed {
            tracing::debug!(%error, "unfinished things of other gateways could not be removed");
        }
    }
}

/// Loads the statistics when another gateway has stored some.
pub(crate) async fn follow_statistics(server: Weak<Server>) {
    loop {
        let Some(strong) = server.upgrade() else { return };
        let (kv, catalog, gateways) =
            (strong.kv.clone(), strong.catalog.clone(), strong.gateways.clone());
        drop(strong);
        let changed = tokio::time::timeout(LOOK_EVERY, gateways.statistics_changed()).await;
        if changed.is_ok()
            && let Err(error) = catalog.load_statistics(&kv).await
        {
            tracing::warn!(%error, "statistics could not be loaded");
        }
    }
}
