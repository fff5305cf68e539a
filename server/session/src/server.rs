//! What all sessions share: the database, the catalog, cached plans, limits, and each other.
//!
//! Rules: a session is in the registry from its opening to its end; an admission is given back
//! when its session or its failed start ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use braid_catalog::{Catalog, CatalogCache, Gateways, Object, Sequences, bootstrap};
use braid_exec::{MemoryPool, from_kv};
use braid_kv::{Database as Kv, Sharded, TxnOptions};
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};

use crate::auth::{ScramExchange, ScramSecret};
use crate::clock::now_micros;
use crate::commit_token::sweep;
use crate::compute::Pool;
use crate::entry::SessionEntry;
use crate::errors::RetryCounters;
use crate::garbage::collect_garbage;
use crate::gateways::{finish_for_others, follow_statistics, remove_unfinished};
use crate::identity::check_start;
use crate::left_over::remove_left_over;
use crate::metrics::Metric;
use crate::notify::{Hub, follow_notifications, sweep_notifications};
use crate::options::SessionOptions;
use crate::plan_cache::PlanCache;
use crate::session::Session;
use crate::snapshots::Snapshots;

/// How a server is to run.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// `max_connections`
    pub connections_max: usize,
    /// `max_message_bytes`, for SHOW.
    pub message_bytes_max: usize,
    /// Whether TLS is offered, for SHOW.
    pub tls: bool,
    /// Users without a password may come from anywhere.
    pub insecure: bool,
    /// Bytes that all statements together may use; 0: no limit.
    pub memory_limit_bytes: u64,
    /// `notify_queue_bytes_max`: bytes of notifications that may wait for one session.
    pub notify_queue_bytes_max: usize,
    /// `notify_poll_interval`: how often notifications of other gateways are looked for.
    pub notify_poll_interval: Duration,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            connections_max: 1000,
            message_bytes_max: 64 << 20,
            tls: false,
            insecure: false,
            memory_limit_bytes: 0,
            notify_queue_bytes_max: 64 << 20,
            notify_poll_interval: Duration::from_millis(100),
        }
    }
}

/// How a client proves who it is.
pub enum Authentication {
    /// It need not.
    Trust,
    /// By SCRAM-SHA-256.
    Scram(Box<ScramExchange>),
}

/// A place among `max_connections`, given back when dropped.
pub struct Permit(Arc<Server>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.admitted.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Counters of the sessions.
#[derive(Default)]
pub(crate) struct Counters {
    pub statements: Sharded<AtomicU64>,
    pub errors: AtomicU64,
    /// Retry errors that running again has spared a client.
    pub server_retries: RetryCounters,
    /// Retry errors that a client has got.
    pub client_retries: RetryCounters,
    /// `ROLLBACK TO SAVEPOINT cockroach_restart`
    pub restart_rollbacks: AtomicU64,
    pub refused: AtomicU64,
}

/// Where the numbers of a gateway's sessions begin, far from those of most other gateways: a
/// notification tells its receivers the number of its sender.
fn first_pid(gateway: u64) -> i32 {
    const APART: u64 = 1 << 20;
    let block = gateway % (i32::MAX as u64 / APART);
    i32::try_from(block * APART).unwrap_or(0) + 1
}

/// A server: everything that sessions share.
pub struct Server {
    pub(crate) kv: Kv,
    pub(crate) catalog: Arc<CatalogCache>,
    pub(crate) gateways: Arc<Gateways>,
    pub(crate) sequences: Arc<Sequences>,
    pub(crate) plans: PlanCache,
    /// Memory of all statements.
    pub(crate) memory: Arc<MemoryPool>,
    pub(crate) options: ServerOptions,
    pub(crate) counters: Counters,
    pub(crate) compute: Arc<Pool>,
    pub(crate) hub: Arc<Hub>,
    /// Snapshots that sessions have exported.
    pub(crate) snapshots: Arc<Snapshots>,
    sessions: Mutex<HashMap<i32, Arc<SessionEntry>>>,
    admitted: AtomicUsize,
    next_pid: AtomicI32,
    ready: AtomicBool,
    ending: AtomicBool,
    /// Makes up salts for users who do not exist.
    seed: [u8; 32],
}

impl Server {
    /// A server over `kv`; an empty store becomes a new database.
    pub async fn open(kv: Kv, options: ServerOptions) -> Result<Arc<Server>> {
        bootstrap(&kv).await.map_err(from_kv)?;
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
            remove_unfinished(&kv, &catalog, &gateways).await?;
        }
        catalog.load_statistics(&kv).await.map_err(from_kv)?;
        let sequences = Sequences::new(kv.clone());
        let first_pid = if gateways.is_shared() { first_pid(number) } else { 1 };
        let server = Arc::new(Server {
            kv,
            catalog,
            gateways,
            sequences,
            plans: PlanCache::default(),
            memory: MemoryPool::new(options.memory_limit_bytes),
            hub: Hub::new(options.notify_queue_bytes_max),
            options,
            counters: Counters::default(),
            compute: Pool::new(),
            snapshots: Arc::default(),
            sessions: Mutex::default(),
            admitted: AtomicUsize::new(0),
            next_pid: AtomicI32::new(first_pid),
            ready: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            seed,
        });
        tokio::spawn(sweep(Arc::downgrade(&server)));
        tokio::spawn(remove_left_over(Arc::downgrade(&server)));
        tokio::spawn(collect_garbage(Arc::downgrade(&server)));
        if server.gateways.is_shared() {
            tokio::spawn(finish_for_others(Arc::downgrade(&server)));
            tokio::spawn(follow_statistics(Arc::downgrade(&server)));
            tokio::spawn(follow_notifications(Arc::downgrade(&server)));
            tokio::spawn(sweep_notifications(Arc::downgrade(&server)));
        }
        Ok(server)
    }

    /// Tells other gateways and their clients where this one is found.
    pub fn set_address(&self, address: &str) {
        self.gateways.set_address(address);
    }

    /// The version of BraidDB.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// `max_connections`
    pub fn connections_max(&self) -> usize {
        self.options.connections_max
    }

    /// Whether it takes sessions.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Says whether it takes sessions, for `/health/ready`.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
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

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.lock().len()
    }

    /// A place for one more session; 53300 if all are taken, 57P03 while the server ends.
    pub fn admit(self: &Arc<Self>) -> Result<Permit> {
        if self.ending.load(Ordering::Acquire) {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CannotConnectNow, message));
        }
        let before = self.admitted.fetch_add(1, Ordering::AcqRel);
        let permit = Permit(self.clone());
        if before < self.options.connections_max {
            return Ok(permit);
        }
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
        Err(Error::new(SqlState::TooManyConnections, "sorry, too many clients already")
            .detail(format!("max_connections is {}.", self.options.connections_max))
            .hint("Use a connection pool, or start the server with a larger --max-connections."))
    }

    /// The catalog as it stands now.
    pub(crate) async fn catalog_now(&self) -> Result<Arc<Catalog>> {
        let txn = self.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let seq = txn.next_statement();
        let catalog = self.catalog.at(&txn, seq).await.map_err(from_kv);
        txn.rollback().await;
        catalog
    }

    /// How this client has to prove who it is; 28000 if it may not come in at all.
    pub async fn authentication(&self, options: &SessionOptions) -> Result<Authentication> {
        let catalog = self.catalog_now().await?;
        let role = catalog.role_by_name(&options.user);
        let local = options.is_loopback() || self.options.insecure;
        let refused =
            |message: String| Err(Error::new(SqlState::InvalidAuthorizationSpecification, message));
        match role {
            Some(role) => match role.password.as_deref() {
                Some(text) => {
                    let exchange =
                        ScramExchange::new(&role.name, ScramSecret::parse(text), &self.seed);
                    Ok(Authentication::Scram(Box::new(exchange)))
                }
                None if local => Ok(Authentication::Trust),
                None => refused(format!(
                    "user \"{}\" has no password and may connect from the server's machine only",
                    options.user
                )),
            },
            None if local => refused(format!("role \"{}\" does not exist", options.user)),
            // Who is not on this machine does not learn which users exist.
            None => {
                let exchange = ScramExchange::new(&options.user, None, &self.seed);
                Ok(Authentication::Scram(Box::new(exchange)))
            }
        }
    }

    /// Begins a session for a client that has proved who it is; 28000, 3D000, 42501 or 53300 if
    /// the user or the database does not take it.
    pub async fn open_session(
        self: &Arc<Self>,
        mut options: SessionOptions,
        permit: Permit,
    ) -> Result<Session> {
        let catalog = self.catalog_now().await?;
        let invalid =
            |message: String| Error::new(SqlState::InvalidAuthorizationSpecification, message);
        let role = catalog
            .role_by_name(&options.user)
            .ok_or_else(|| invalid(format!("role \"{}\" does not exist", options.user)))?;
        if !role.login {
            return Err(invalid(format!("role \"{}\" is not permitted to log in", role.name)));
        }
        let database = catalog.database_by_name(&options.database).ok_or_else(|| {
            Error::new(
                SqlState::InvalidCatalogName,
                format!("database \"{}\" does not exist", options.database),
            )
        })?;
        if !catalog.has_privilege(role.id, Object::Database(database), "CONNECT") {
            return Err(Error::new(
                SqlState::InsufficientPrivilege,
                format!("permission denied for database \"{}\"", database.name),
            )
            .detail("User does not have CONNECT privilege."));
        }
        let of_role = || self.sessions.lock().values().filter(|s| *s.user == *role.name).count();
        if let Some(limit) = role.connection_limit
            && !role.superuser
            && usize::try_from(limit).is_ok_and(|limit| of_role() >= limit)
        {
            return Err(Error::new(
                SqlState::TooManyConnections,
                format!("too many connections for role \"{}\"", role.name),
            ));
        }
        check_start(&mut options.settings, role, &catalog)?;
        let mut secret = [0u8; 4];
        SystemRandom::new()
            .fill(&mut secret)
            .map_err(|_| Error::internal("could not generate random bytes"))?;
        let pid = self.next_pid.fetch_add(1, Ordering::Relaxed);
        let entry = SessionEntry::new(pid, i32::from_be_bytes(secret), &options);
        let entry = Arc::new(entry);
        self.sessions.lock().insert(pid, entry.clone());
        Ok(Session::new(self.clone(), permit, entry, options, role, database))
    }

    pub(crate) fn forget(&self, pid: i32) {
        self.sessions.lock().remove(&pid);
    }

    pub(crate) fn entries(&self) -> Vec<Arc<SessionEntry>> {
        let mut entries: Vec<_> = self.sessions.lock().values().cloned().collect();
        entries.sort_by_key(|entry| entry.pid);
        entries
    }

    pub(crate) fn entry(&self, pid: i32) -> Option<Arc<SessionEntry>> {
        self.sessions.lock().get(&pid).cloned()
    }

    /// Cancels what a session runs, if the secret fits; nobody is told whether it did.
    pub fn cancel(&self, pid: i32, secret: i32) {
        if let Some(entry) = self.entry(pid)
            && entry.secret == secret
        {
            entry.cancel_running();
        }
    }

    /// Asks every session to end as soon as its statement is done; no new one begins.
    pub fn end_sessions(&self) {
        self.ending.store(true, Ordering::Release);
        for entry in self.entries() {
            entry.ask_to_end();
        }
    }

    /// Ends every session and its statement.
    pub fn stop_sessions(&self) {
        for entry in self.entries() {
            entry.terminate();
        }
    }

    /// Users who may log in and have no password.
    pub async fn users_without_password(&self) -> Result<Vec<String>> {
        let catalog = self.catalog_now().await?;
        let open = catalog.roles().filter(|role| role.login && role.password.is_none());
        Ok(open.map(|role| role.name.clone()).collect())
    }

    /// Finishes what is under way and syncs.
    pub async fn close(&self) -> Result<()> {
        if let Err(error) = self.gateways.close().await {
            tracing::warn!(%error, "this gateway's lease stays until its end");
        }
        self.kv.close().await.map_err(from_kv)
    }

    /// Counters and gauges.
    pub fn metrics(&self) -> Vec<Metric> {
        crate::server_metrics::collect(self)
    }

    pub(crate) fn admitted(&self) -> usize {
        self.admitted.load(Ordering::Relaxed)
    }
}
