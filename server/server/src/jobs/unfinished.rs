//! Schema changes that were cut short: removed at the start of a process that is alone, finished by
//! another gateway in a cluster.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_catalog::{CatalogCache, ROOT};
use braid_cluster::Gateways;
use braid_ddl as ddl;
use braid_kv::{Database as Kv, Error as KvError};
use braid_session::{Session, SessionOptions, finish_taken_over};
use braid_types::Result;

use crate::server::Server;

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
        if !server.engine.gateways.owns("unfinished") {
            continue;
        }
        if let Err(error) = finish(&server).await {
            tracing::debug!(%error, "unfinished things of other gateways stay for now");
        }
    }
}

async fn finish(server: &Arc<Server>) -> Result<()> {
    let (kv, catalog) = (&server.engine.kv, &server.engine.catalog);
    let gone = ddl::who_is_gone(kv, catalog, &server.engine.gateways).await?;
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
            Err(_) if server.is_ending() => return,
            Err(error) if matches!(error.cause(), Some(KvError::Stopped(_))) => return,
            Err(error) => tracing::debug!(%error, "no session to finish what others have begun"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    match finish_taken_over(&mut session, taken).await {
        Ok(()) => tracing::info!(?taken, "finished what a gateway had begun that is gone"),
        Err(error) => tracing::warn!(?taken, %error, "what a gateway had begun cannot be finished"),
    }
    session.close().await;
}

async fn open_session(server: &Arc<Server>, database: u32) -> Result<Session> {
    let permit = server.admit()?;
    let catalog = server.engine.catalog_now().await?;
    let database = catalog.database(database).map_or_else(String::new, |found| found.name.clone());
    let user = catalog.role_name(ROOT).to_owned();
    server.open_session(SessionOptions::internal(&user, &database), permit).await
}
