//! The tasks of a gateway that has others beside it: finishing what those have begun that are gone,
//! and following what the others find out about tables.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_catalog::{CatalogCache, Gateways, ROOT};
use braid_exec::ddl;
use braid_kv::Database as Kv;
use braid_types::{Result, SqlState};

use crate::options::SessionOptions;
use crate::server::Server;
use crate::session::Session;

/// How often unfinished things of others are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Removes what nobody is building any more, over a store that is this process's alone.
pub(crate) async fn remove_unfinished(
    kv: &Kv,
    catalog: &Arc<CatalogCache>,
    gateways: &Gateways,
) -> Result<()> {
    let gone = ddl::who_is_gone(kv, catalog, gateways).await?;
    for (name, table) in ddl::remove_unfinished(kv, catalog, &gone).await? {
        tracing::warn!(name, table, "removed what was cut short while it was being added");
    }
    Ok(())
}

/// Looks for unfinished things of gateways that are gone, and finishes them, as long as the server
/// lives.
pub(crate) async fn finish_for_others(server: Weak<Server>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(server) = server.upgrade() else { return };
        if !server.gateways.owns("unfinished") {
            continue;
        }
        if let Err(error) = finish(&server).await {
            tracing::debug!(%error, "unfinished things of other gateways stay for now");
        }
    }
}

async fn finish(server: &Arc<Server>) -> Result<()> {
    let (kv, catalog) = (&server.kv, &server.catalog);
    let gone = ddl::who_is_gone(kv, catalog, &server.gateways).await?;
    for taken in ddl::take_over(kv, catalog, &gone).await? {
        tokio::spawn(go_on(server.clone(), taken));
    }
    Ok(())
}

/// Finishes what was taken over, in a session of its own.
async fn go_on(server: Arc<Server>, taken: ddl::TakenOver) {
    let mut session = loop {
        match open_session(&server, taken.database).await {
            Ok(session) => break session,
            Err(error) if error.state() == SqlState::CannotConnectNow => return,
            Err(error) => tracing::debug!(%error, "no session to finish what others have begun"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    match session.go_on(taken).await {
        Ok(()) => tracing::info!(?taken, "finished what a gateway had begun that is gone"),
        Err(error) => tracing::warn!(?taken, %error, "what a gateway had begun cannot be finished"),
    }
    session.close().await;
}

async fn open_session(server: &Arc<Server>, database: u32) -> Result<Session> {
    let permit = server.admit()?;
    let catalog = server.catalog_now().await?;
    let database = catalog.database(database).map_or_else(String::new, |found| found.name.clone());
    let user = catalog.role_name(ROOT).to_owned();
    server.open_session(SessionOptions::internal(&user, &database), permit).await
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
