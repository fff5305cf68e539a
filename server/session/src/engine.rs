//! What the sessions of one process share: the store, the catalog, plans, memory, counters.
//!
//! The room `server` makes it and keeps it; a session holds it and asks nothing else of its server.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use braid_catalog::{Catalog, CatalogCache, Sequences};
use braid_cluster::{Gateways, PreparedTransactions};
use braid_exec::{MemoryPool, TempFolder, from_kv};
use braid_kv::{Database as Kv, Sharded, TxnOptions};
use braid_system_views::MetricEntry;
use braid_types::{Error, Result, SqlState};

use crate::compute::Pool;
use crate::notify::{Hub, NotificationCounts, read_rows};
use crate::observe::{SpanQueue, Times};
use crate::registry::SessionRegistry;
use crate::retry::reason::RetryCounters;
use crate::statement::plans::cache::PlanCache;
use crate::statistics::Statistics;
use crate::transaction::exported_snapshots::ExportedSnapshots;

/// The server's limits that `SHOW` answers with.
#[derive(Clone, Copy, Debug)]
pub struct ShownLimits {
    /// `max_connections`
    pub connections_max: usize,
    /// `max_message_bytes`
    pub message_bytes_max: usize,
    /// `ssl`: whether TLS is offered.
    pub tls: bool,
    /// `log_min_duration_statement` of sessions that do not set it; `None`: -1.
    pub log_min_duration: Option<Duration>,
    /// `autovacuum_naptime`: how often tables that have changed much are analyzed; 0: never.
    pub analyze_interval: Duration,
}

/// Counters of the sessions.
#[derive(Default)]
pub struct Counters {
    /// Statements run.
    pub statements: Sharded<AtomicU64>,
    /// Statements that ended with an error.
    pub errors: AtomicU64,
    /// Retry errors that running again has spared a client.
    pub server_retries: RetryCounters,
    /// Retry errors that a client has got.
    pub client_retries: RetryCounters,
    /// `ROLLBACK TO SAVEPOINT cockroach_restart`
    pub restart_rollbacks: AtomicU64,
    /// Durations of statements and transactions.
    pub times: Times,
}

/// What a server gives its sessions.
pub struct EngineParts {
    /// The store.
    pub kv: Kv,
    /// The catalog.
    pub catalog: Arc<CatalogCache>,
    /// This gateway and the others.
    pub gateways: Arc<Gateways>,
    /// Transactions that wait for their second step.
    pub prepared: Arc<PreparedTransactions>,
    /// Ranges of sequence numbers.
    pub sequences: Arc<Sequences>,
    /// Memory of all statements.
    pub memory: Arc<MemoryPool>,
    /// Where rows go that memory has no room for.
    pub temp: Arc<TempFolder>,
    /// What `SHOW` answers.
    pub limits: ShownLimits,
    /// `notify_queue_bytes_max`: bytes of notifications that may wait for one session.
    pub notify_queue_bytes_max: usize,
    /// The number of the first session.
    pub first_pid: i32,
}

/// Lists the metrics of the server.
type Monitor = Box<dyn Fn() -> Vec<MetricEntry> + Send + Sync>;

/// What the sessions of one process share.
pub struct Engine {
    /// The store.
    pub kv: Kv,
    /// The catalog.
    pub catalog: Arc<CatalogCache>,
    /// This gateway and the others.
    pub gateways: Arc<Gateways>,
    /// Transactions that wait for their second step.
    pub prepared: Arc<PreparedTransactions>,
    /// Memory of all statements.
    pub memory: Arc<MemoryPool>,
    /// Where rows go that memory has no room for.
    pub temp: Arc<TempFolder>,
    /// Counters of the sessions.
    pub counters: Counters,
    /// The sessions.
    pub sessions: SessionRegistry,
    /// Spans for an exporter of traces.
    pub spans: SpanQueue,
    pub(crate) sequences: Arc<Sequences>,
    pub(crate) plans: PlanCache,
    /// What `pg_stat_*` shows.
    pub(crate) statistics: Statistics,
    pub(crate) compute: Arc<Pool>,
    pub(crate) hub: Arc<Hub>,
    /// Snapshots that sessions have exported.
    pub(crate) snapshots: Arc<ExportedSnapshots>,
    pub(crate) limits: ShownLimits,
    monitor: OnceLock<Monitor>,
}

impl Engine {
    /// An engine without sessions.
    pub fn new(parts: EngineParts) -> Arc<Engine> {
        Arc::new(Engine {
            kv: parts.kv,
            catalog: parts.catalog,
            gateways: parts.gateways,
            prepared: parts.prepared,
            memory: parts.memory,
            temp: parts.temp,
            counters: Counters::default(),
            sessions: SessionRegistry::new(parts.first_pid),
            spans: SpanQueue::default(),
            sequences: parts.sequences,
            plans: PlanCache::default(),
            statistics: Statistics::default(),
            compute: Pool::new(),
            hub: Hub::new(parts.notify_queue_bytes_max),
            snapshots: Arc::default(),
            limits: parts.limits,
            monitor: OnceLock::new(),
        })
    }

    /// Takes `braid_internal`'s metrics from this function. Only the first counts.
    pub fn set_monitor(&self, metrics: impl Fn() -> Vec<MetricEntry> + Send + Sync + 'static) {
        self.monitor.get_or_init(|| Box::new(metrics));
    }

    /// The server's metrics; none if nobody collects them.
    pub(crate) fn metrics(&self) -> Vec<MetricEntry> {
        self.monitor.get().map_or_else(Vec::new, |metrics| metrics())
    }

    /// Why the store cannot serve right now, as far as it knows.
    pub fn store_trouble(&self) -> Option<String> {
        self.kv.store().trouble()
    }

    /// The error of a statement that has taken too long, with the reason if that is the store.
    pub(crate) fn statement_timeout(&self) -> Error {
        let message = "canceling statement due to statement timeout";
        let error = Error::new(SqlState::QueryCanceled, message);
        match self.store_trouble() {
            Some(why) => error.detail(format!("The store is unreachable: {why}")),
            None => error,
        }
    }

    /// The catalog as it stands now.
    pub async fn catalog_now(&self) -> Result<Arc<Catalog>> {
        let txn = self.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let seq = txn.next_statement();
        let catalog = self.catalog.at(&txn, seq).await.map_err(from_kv);
        txn.rollback().await;
        catalog
    }

    /// How many plans were found in the cache, and how many had to be made.
    pub fn plan_counts(&self) -> (u64, u64) {
        self.plans.counts()
    }

    /// Counts of LISTEN and NOTIFY.
    pub fn notification_counts(&self) -> NotificationCounts {
        self.hub.counts()
    }

    /// Reads the notifications that other gateways have left in the store since the last look, and
    /// brings them to the listeners.
    pub async fn read_notifications(&self) {
        read_rows(&self.hub, &self.kv).await;
    }
}
