//! Opening a server: the store's first look, the catalog, the jobs.

use std::sync::Arc;

use braid_catalog::{CatalogCache, Sequences, bootstrap};
use braid_cluster::{Gateways, PreparedTransactions};
use braid_exec::{MemoryPool, TempFolder, from_kv};
use braid_kv::Database as Kv;
use braid_session::{Engine, EngineParts, now_micros};
use braid_system_views::MetricEntry;
use braid_types::{Error, Result};
use ring::rand::{SecureRandom, SystemRandom};

use crate::jobs;
use crate::metrics::Metric;
use crate::options::ServerOptions;
use crate::server::Server;

/// Where the numbers of a gateway's sessions begin, far from those of most other gateways: a
/// notification contains the number of its sender.
fn first_pid(gateway: u64) -> i32 {
    const APART: u64 = 1 << 20;
    let block = gateway % (i32::MAX as u64 / APART);
    i32::try_from(block * APART).unwrap_or(0) + 1
}

impl Server {
    /// A server over `kv`; an empty store becomes a new database.
    pub async fn open(kv: Kv, options: ServerOptions) -> Result<Arc<Server>> {
        bootstrap(&kv).await.map_err(from_kv)?;
        let prepared = PreparedTransactions::load(&kv, options.prepared_transactions_max);
        let prepared = prepared.await.map_err(from_kv)?;
        let mut seed = [0u8; 32];
        let mut number = [0u8; 8];
        let random = SystemRandom::new();
        random
            .fill(&mut seed)
            .and_then(|()| random.fill(&mut number))
            .map_err(|_| Error::internal("could not generate random bytes"))?;
        // Small enough to be exact wherever numbers are floating point ones.
        let number = (u64::from_be_bytes(number) >> 16).max(1);
        let gateways = Gateways::open(&kv, number, env!("CARGO_PKG_VERSION"), now_micros());
        let gateways = gateways.await.map_err(from_kv)?;
        let catalog = CatalogCache::of_gateway(&gateways);
        if !gateways.is_shared() {
            jobs::remove_unfinished(&kv, &catalog, &gateways).await?;
        }
        catalog.load_statistics(&kv).await.map_err(from_kv)?;
        let first_pid = if gateways.is_shared() { first_pid(number) } else { 1 };
        let engine = Engine::new(EngineParts {
            sequences: Sequences::new(kv.clone()),
            kv,
            catalog,
            gateways,
            prepared,
            memory: MemoryPool::new(options.memory_limit_bytes),
            temp: TempFolder::new(options.temp_folder.clone()),
            limits: options.shown(),
            notify_queue_bytes_max: options.notify_queue_bytes_max,
            first_pid,
        });
        let server = Arc::new(Server::new(engine, options, seed));
        let watched = Arc::downgrade(&server);
        server.engine.set_monitor(move || {
            let metrics = watched.upgrade().map(|server| server.metrics()).unwrap_or_default();
            metrics.into_iter().map(entry).collect()
        });
        jobs::start(&server);
        Ok(server)
    }
}

/// A metric as `braid_internal` shows it.
fn entry(metric: Metric) -> MetricEntry {
    MetricEntry {
        name: format!("{}{}", metric.name, metric.suffix),
        labels: metric.labels,
        kind: metric.kind.as_str().to_owned(),
        value: metric.value,
        help: metric.help.to_owned(),
    }
}
