//! `braid start`: opens the folder, wires the rooms, serves, stops.

use std::io::Write;
use std::sync::Arc;

use braid_http::HttpServer;
use braid_kv::{Database, DatabaseOptions, Store};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use braid_kv_tikv::{OpenError, TikvAddress, TikvOptions, TikvStore};
use braid_session::{Server, ServerOptions};
use braid_wire::{Limits, Listener, ListenerOptions, load_tls};

use crate::address::{reachable, resolve};
use crate::cli::{Start, StoreChoice};
use crate::logging;
use crate::signals::Signals;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The exit status after a second signal, as shells report an interrupt.
const INTERRUPTED: i32 = 130;
/// Between two tries to reach a cluster.
const CLUSTER_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// Runs a server until it is told to stop.
pub fn start(options: &Start) -> Result<()> {
    logging::start(&options.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run(options));
    // Connections that did not end in time have been given up; do not wait for them again.
    runtime.shutdown_background();
    result
}

async fn open_store(options: &Start) -> Result<Arc<dyn Store>> {
    match &options.store {
        StoreChoice::Embedded => open_embedded(options),
        StoreChoice::Tikv(address) => open_tikv(address).await,
    }
}

fn open_embedded(options: &Start) -> Result<Arc<dyn Store>> {
    let fatal = Arc::new(|reason: &str| {
        tracing::error!(reason, "the store has stopped; the server ends, the next start recovers");
        std::process::exit(1);
    });
    let embedded = EmbeddedOptions {
        cache_bytes: u64::from(options.cache_mib) << 20,
        range_cache_bytes: (options.range_cache_mib as usize) << 20,
        locks_max: options.locks_max as usize,
        on_fatal: Some(fatal),
        ..EmbeddedOptions::default()
    };
    Ok(Arc::new(EmbeddedStore::open(&options.data, embedded)?))
}

/// A cluster that does not answer yet is waited for; what can never succeed is an error.
async fn open_tikv(address: &TikvAddress) -> Result<Arc<dyn Store>> {
    loop {
        match TikvStore::open(address, TikvOptions::default()).await {
            Ok(store) => return Ok(Arc::new(store)),
            Err(OpenError::Cluster(error)) => {
                tracing::error!(%error, pd = ?address.pd, "cannot reach the cluster; trying again");
                tokio::time::sleep(CLUSTER_PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn run(options: &Start) -> Result<()> {
    let tls = match (&options.tls_cert, &options.tls_key) {
        (Some(cert), Some(key)) => Some(load_tls(cert, key)?),
        _ => None,
    };
    let mut signals = Signals::listen()?;
    let address = resolve("--listen", &options.listen).await?;
    let http_address = resolve("--http", &options.http).await?;
    let store = tokio::select! {
        store = open_store(options) => store?,
        () = signals.next() => {
            tracing::info!("stopped before the store was open");
            return Ok(());
        }
    };
    let kv = Database::new(
        store,
        DatabaseOptions { simulate_rtt: options.simulate_rtt, ..DatabaseOptions::default() },
    );
    if let Some(rtt) = options.simulate_rtt {
        tracing::warn!(?rtt, "simulating round trips: a bench aid, not for production");
    }
    let server = Server::open(
        kv,
        ServerOptions {
            connections_max: options.max_connections as usize,
            message_bytes_max: options.max_message_bytes as usize,
            tls: tls.is_some(),
            insecure: options.insecure,
        },
    )
    .await?;
    if !address.ip().is_loopback() && !options.insecure {
        check_exposure(&server, tls.is_some()).await?;
    }
    let limits =
        Limits { message_bytes_max: options.max_message_bytes as usize, ..Limits::default() };
    let listener = Listener::bind(address, server.clone(), ListenerOptions { tls, limits })
        .await
        .map_err(|error| format!("could not listen on {address}: {error}"))?;
    let http = HttpServer::bind(http_address, server.clone())
        .await
        .map_err(|error| format!("could not listen on {http_address}: {error}"))?;
    server.set_address(&reachable(listener.local_addr()?).to_string());
    say_ready(&listener, &http)?;
    tokio::spawn(http.run());
    server.set_ready(true);
    let stop = async {
        signals.next().await;
        tracing::info!("stopping: no new connections, running statements may finish");
        server.set_ready(false);
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("second signal: ending at once");
            std::process::exit(INTERRUPTED);
        });
    };
    listener.run(stop, options.shutdown_timeout).await;
    server.close().await?;
    tracing::info!("stopped");
    Ok(())
}

/// Beyond loopback nobody may read along, and nobody may come in without a password.
async fn check_exposure(server: &Server, tls: bool) -> Result<()> {
    if !tls {
        return Err("an address beyond loopback needs TLS (--tls-cert and --tls-key); \
                    --insecure does without"
            .into());
    }
    let open = server.users_without_password().await?;
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "an address beyond loopback needs a password on every user; without one: {}. \
         Start on 127.0.0.1, run ALTER USER … PASSWORD '…', and start again; \
         --insecure does without",
        open.join(", ")
    )
    .into())
}

fn say_ready(listener: &Listener, http: &HttpServer) -> Result<()> {
    let lines = format!(
        "braid {} ready\nsql:  postgresql://root@{}/defaultdb\nhttp: http://{}\n",
        env!("CARGO_PKG_VERSION"),
        reachable(listener.local_addr()?),
        reachable(http.local_addr()?)
    );
    let mut out = std::io::stdout().lock();
    out.write_all(lines.as_bytes())?;
    out.flush()?;
    Ok(())
}
