//! `braid start`: opens the folder, wires the rooms, serves, stops.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_http::{HttpServer, OtlpExporter, Watched};
use braid_kv::{Database, DatabaseOptions, Error as Kv, Store};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore, make_files_private};
use braid_kv_tikv::{OpenError, TikvAddress, TikvOptions, TikvStore};
use braid_server::{Server, ServerOptions};
use braid_wire::{Limits, Listener, ListenerOptions, load_tls};

use crate::address::{reachable, resolve};
use crate::cli::{Start, StoreChoice};
use crate::logging;
use crate::memory::{self, CacheSizes};
use crate::signals::Signals;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The exit status after a second signal, as shells report an interrupt.
const INTERRUPTED: i32 = 130;
/// Between two tries to reach a cluster.
const CLUSTER_PAUSE: Duration = Duration::from_secs(1);
/// A cluster that stays away is said to do so this often.
const SAID_AGAIN: Duration = Duration::from_secs(10);

/// The folder for temporary files in the data folder. The store empties it at the start.
const TEMPORARY: &str = "tmp";

/// The shortest `--notify-poll-interval`.
const NOTIFY_POLL_MIN: Duration = Duration::from_millis(1);

/// Address space for the stack of each thread that runs statements. Memory is taken only as far as
/// it is used: plans and expressions are walked, run and dropped by recursion, and this is enough
/// for the deepest that the parser and the planner let through.
const STACK_BYTES: usize = 128 << 20;

/// Runs a server until it is told to stop.
pub(crate) fn start(options: &Start) -> Result<()> {
    logging::start(&options.log)?;
    make_files_private();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(options));
    // Connections that did not end in time have been given up; do not wait for them again.
    runtime.shutdown_background();
    result
}

async fn open_store(options: &Start, wait: &mut Wait<'_>) -> Result<Arc<dyn Store>> {
    match &options.store {
        StoreChoice::Embedded => open_embedded(options, wait.watched),
        StoreChoice::Tikv(address) => open_tikv(address, wait).await,
    }
}

fn open_embedded(options: &Start, watched: &Watched) -> Result<Arc<dyn Store>> {
    let fatal = Arc::new(|reason: &str| {
        tracing::error!(reason, "the store has stopped; the server ends, the next start recovers");
        std::process::exit(1);
    });
    let caches = CacheSizes::of_limit(options.memory_limit);
    let given = |mib: Option<u32>| mib.map(|mib| u64::from(mib) << 20);
    let range_cache_bytes = given(options.range_cache_mib).unwrap_or(caches.range_bytes);
    let embedded = EmbeddedOptions {
        cache_bytes: given(options.cache_mib).unwrap_or(caches.block_bytes),
        range_cache_bytes: usize::try_from(range_cache_bytes).unwrap_or(usize::MAX),
        locks_max: options.locks_max as usize,
        on_fatal: Some(fatal),
        ..EmbeddedOptions::default()
    };
    let store = Arc::new(EmbeddedStore::open(&options.data, embedded)?);
    let probed = Arc::downgrade(&store);
    watched.watch_writes(move || probed.upgrade()?.refuses_writes());
    Ok(store)
}

/// A cluster that does not answer yet is waited for; what can never succeed is an error.
async fn open_tikv(address: &TikvAddress, wait: &mut Wait<'_>) -> Result<Arc<dyn Store>> {
    loop {
        match TikvStore::open(address, TikvOptions::default()).await {
            Ok(store) => return Ok(Arc::new(store)),
            Err(OpenError::Cluster(error)) => wait.pause(&error.to_string()).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens the server. A cluster that goes away meanwhile is waited for as well.
async fn open_server(
    kv: Database,
    options: ServerOptions,
    wait: &mut Wait<'_>,
) -> Result<Arc<Server>> {
    loop {
        match Server::open(kv.clone(), options.clone()).await {
            Err(error) if matches!(error.cause(), Some(Kv::Unreachable(_))) => {
                wait.pause(error.message()).await;
            }
            result => return Ok(result?),
        }
    }
}

/// The wait for a cluster at the start: `/health` says why, and the log from time to time.
struct Wait<'a> {
    watched: &'a Watched,
    said: Option<Instant>,
}

impl Wait<'_> {
    async fn pause(&mut self, why: &str) {
        let why = why.strip_prefix("the store is unreachable: ").unwrap_or(why);
        self.watched.waits_for(why);
        if self.said.is_none_or(|said| said.elapsed() > SAID_AGAIN) {
            self.said = Some(Instant::now());
            tracing::error!(why, "cannot reach the cluster; trying again");
        }
        tokio::time::sleep(CLUSTER_PAUSE).await;
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
    let watched = Watched::new();
    let http = HttpServer::bind(http_address, watched.clone())
        .await
        .map_err(|error| format!("could not listen on {http_address}: {error}"))?;
    let http_url = format!("http://{}", reachable(http.local_addr()?));
    tracing::debug!(http_url, "answers probes");
    tokio::spawn(http.run());
    let opened = tokio::select! {
        opened = open(options, tls.is_some(), &watched) => Some(opened?),
        () = signals.next() => None,
    };
    let Some(server) = opened else {
        tracing::info!("stopped before the store was open");
        return Ok(());
    };
    if !address.ip().is_loopback() && !options.insecure {
        check_exposure(&server, tls.is_some()).await?;
    }
    let limits = Limits {
        message_bytes_max: options.max_message_bytes as usize,
        authentication_timeout: options.authentication_timeout,
    };
    let listener = Listener::bind(address, server.clone(), ListenerOptions { tls, limits })
        .await
        .map_err(|error| format!("could not listen on {address}: {error}"))?;
    server.set_address(&reachable(listener.local_addr()?).to_string());
    let endpoint = options.otlp_endpoint.clone();
    let exporter = endpoint.map(|endpoint| OtlpExporter::start(&server, endpoint));
    watched.opened(server.clone());
    server.set_ready(true);
    say_ready(&listener, &http_url)?;
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
    if let Some(exporter) = exporter {
        exporter.finish().await;
    }
    server.close().await?;
    tracing::info!("stopped");
    Ok(())
}

/// Everything below the sockets.
async fn open(options: &Start, tls: bool, watched: &Watched) -> Result<Arc<Server>> {
    let mut wait = Wait { watched, said: None };
    let store = open_store(options, &mut wait).await?;
    let kv = Database::new(
        store,
        DatabaseOptions { simulate_rtt: options.simulate_rtt, ..DatabaseOptions::default() },
    );
    if let Some(rtt) = options.simulate_rtt {
        tracing::warn!(?rtt, "simulating round trips: a bench aid, not for production");
    }
    let server = ServerOptions {
        connections_max: options.max_connections as usize,
        message_bytes_max: options.max_message_bytes as usize,
        tls,
        insecure: options.insecure,
        prepared_transactions_max: options.max_prepared_transactions as usize,
        notify_queue_bytes_max: usize::try_from(options.notify_queue).unwrap_or(usize::MAX),
        notify_poll_interval: options.notify_poll_interval.max(NOTIFY_POLL_MIN),
        analyze_interval: options.analyze_interval,
        log_min_duration: options.log_min_duration,
        memory_limit_bytes: options.memory_limit.unwrap_or_else(memory::default_limit_bytes),
        temp_folder: options.temp_folder.clone().unwrap_or_else(|| match options.store {
            StoreChoice::Embedded => options.data.join(TEMPORARY),
            StoreChoice::Tikv(_) => std::env::temp_dir().join("braid"),
        }),
    };
    open_server(kv, server, &mut wait).await
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

fn say_ready(listener: &Listener, http_url: &str) -> Result<()> {
    let lines = format!(
        "braid {} ready\nsql:  postgresql://root@{}/defaultdb\nhttp: {http_url}\n",
        env!("CARGO_PKG_VERSION"),
        reachable(listener.local_addr()?),
    );
    let mut out = std::io::stdout().lock();
    out.write_all(lines.as_bytes())?;
    out.flush()?;
    Ok(())
}
