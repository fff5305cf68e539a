//! Starts the stand-in, and lets a test look at it and disturb it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_tikv_proto::pdpb::pd_server::PdServer;
use braid_tikv_proto::tikvpb::tikv_server::TikvServer;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Server, ServerTlsConfig};

use super::certificates::Tls;
use super::faults::{Faults, Plan, Rpc, Rule};
use super::waits::Waits;
use crate::tikv::cluster::Clock;
use crate::tikv::cluster::{CLUSTER_ID, Cluster};
use crate::tikv::engine::{Engine, Ts};
use crate::tikv::service::PdService;
use crate::tikv::service::StoreService;
use crate::tikv::service::{Core, Delays, Pd, Shared};

/// A request of that size is still taken; a real store has such a limit too.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// What cluster to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// Stores.
    pub stores: usize,
    /// Ports of the PD members; zero is a free one.
    pub pd_ports: Vec<u16>,
    /// Of all random choices.
    pub seed: u64,
    /// What goes wrong by itself.
    pub plan: Plan,
    /// Borders of the regions to begin with.
    pub splits: Vec<Vec<u8>>,
    /// How long things take.
    pub delays: Delays,
    /// The version that the stores say they have. PD says none in its answers, as a real one.
    pub version: String,
    /// The number of the cluster.
    pub cluster_id: u64,
    /// With it, all connections use TLS.
    pub tls: Option<Tls>,
}

impl Default for Config {
    /// One PD, three stores, one region, no latency, no faults.
    fn default() -> Self {
        Config {
            stores: 3,
            pd_ports: vec![0],
            seed: 1,
            plan: Plan::default(),
            splits: Vec::new(),
            delays: Delays {
                latency: Duration::ZERO,
                pd_latency: Duration::ZERO,
                sync_delay: Duration::from_millis(20),
                election: Duration::from_millis(300),
                lock_wait_max: Duration::from_secs(1),
                wake_delay: Duration::from_millis(20),
            },
            version: "9.0.0-standin".to_owned(),
            cluster_id: CLUSTER_ID,
            tls: None,
        }
    }
}

/// A cluster of PD and TiKV in this process, for one test. Everything is lost when it is dropped.
///
/// ```
/// use braid_testkit::tikv::{Config, Fault, Rpc, Rule, TikvStandIn};
///
/// let cluster = TikvStandIn::start(Config::default());
/// let url = cluster.store_url();
/// cluster.split(b"m");
/// cluster.add(Rule::next(Rpc::Commit, Fault::LoseAnswer));
/// ```
#[derive(Debug)]
pub struct TikvStandIn {
    shared: Arc<Shared>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl TikvStandIn {
    /// Starts a cluster on loopback ports.
    ///
    /// # Panics
    /// If a port cannot be had.
    pub fn start(config: Config) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("tikv-standin")
            .enable_all()
            .build()
            .expect("threads");
        let listen = |port| {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a loopback port to listen on")
        };
        let stores: Vec<_> = (0..config.stores.max(1)).map(|_| listen(0)).collect();
        let members: Vec<_> = config.pd_ports.iter().map(|port| listen(*port)).collect();
        let mut cluster = Cluster::new(&stores.iter().map(address).collect::<Vec<_>>());
        for key in &config.splits {
            cluster.split(key);
        }
        cluster.pd_lag = config.plan.pd_lag;
        let ids: Vec<_> = cluster.stores().map(|store| store.id).collect();
        let pd = Pd {
            members: members.iter().map(address).collect(),
            cluster_id: config.cluster_id,
            version: config.version,
            is_tls: config.tls.is_some(),
            ..Pd::default()
        };
        let tls = config.tls.as_ref();
        let shared = Arc::new(Shared {
            core: Mutex::new(Core {
                engine: Engine::default(),
                cluster,
                waits: Waits::default(),
                clock: Clock::default(),
                faults: Faults::new(config.seed, config.plan),
                delays: config.delays,
                pd,
                counts: Default::default(),
                reads_below_safe_point: 0,
                scanned: 0,
                destroyed: Default::default(),
                raw: Default::default(),
            }),
            runtime: runtime.handle().clone(),
        });
        spread_leaders(&shared);
        for (listener, id) in stores.into_iter().zip(ids) {
            let service = TikvServer::new(StoreService { shared: Arc::clone(&shared), id })
                .max_decoding_message_size(MESSAGE_BYTES_MAX)
                .max_encoding_message_size(MESSAGE_BYTES_MAX);
            serve(&runtime, listener, server(tls).add_service(service));
        }
        for (member, listener) in members.into_iter().enumerate() {
            let service = PdServer::new(PdService { shared: Arc::clone(&shared), member });
            serve(&runtime, listener, server(tls).add_service(service));
        }
        TikvStandIn { shared, runtime: Some(runtime) }
    }

    /// Addresses of the PD members.
    pub fn pd_addresses(&self) -> Vec<String> {
        self.shared.core.lock().pd.members.clone()
    }

    /// What `braid start --store` takes.
    pub fn store_url(&self) -> String {
        format!("tikv://{}", self.pd_addresses().join(","))
    }

    /// Adds a fault that hits what it names.
    pub fn add(&self, rule: Rule) {
        self.shared.core.lock().faults.add(rule);
    }

    /// Forgets rules that have not hit.
    pub fn clear_rules(&self) {
        self.shared.core.lock().faults.clear();
    }

    /// From now on this goes wrong by itself.
    pub fn set_plan(&self, plan: Plan) {
        let mut core = self.shared.core.lock();
        core.cluster.pd_lag = plan.pd_lag;
        core.faults.plan = plan;
    }

    /// From now on requests take that long, there and back.
    pub fn set_latency(&self, stores: Duration, pd: Duration) {
        let delays = &mut self.shared.core.lock().delays;
        (delays.latency, delays.pd_latency) = (stores, pd);
    }

    /// Splits the region of a key before it; false if there is a border already.
    pub fn split(&self, key: &[u8]) -> bool {
        self.shared.split(key)
    }

    /// Merges the region of a key with the one to its left; false if there is none.
    pub fn merge(&self, key: &[u8]) -> bool {
        let mut core = self.shared.core.lock();
        let synced_at = Instant::now() + core.delays.sync_delay;
        core.cluster.merge(key, synced_at)
    }

    /// Forgets all pessimistic locks, as stores do that keep them in memory only.
    pub fn forget_locks(&self) {
        let mut core = self.shared.core.lock();
        core.engine.table.lose_pessimistic_locks(b"", b"");
        self.shared.wake(&mut core);
    }

    /// From now on a prewrite that needs its own lock and meets another's says "locked", as some
    /// implementations of the protocol do. TiKV says that the lock was not found.
    pub fn say_locked_for_lost(&self) {
        self.shared.core.lock().engine.says_locked_for_lost = true;
    }

    /// Moves the leader of a key's region to the next store.
    pub fn move_leader(&self, key: &[u8]) {
        let region = self.shared.region_of(key);
        self.shared.core.lock().move_leader(region, None, false);
    }

    /// The leader of a key's region crashes and comes back as a follower: pessimistic locks are
    /// lost.
    pub fn crash_leader(&self, key: &[u8]) {
        let region = self.shared.region_of(key);
        let mut core = self.shared.core.lock();
        core.move_leader(region, None, true);
        self.shared.wake(&mut core);
    }

    /// The store that leads a key's region, by its number; `None` during an election.
    pub fn leader_of(&self, key: &[u8]) -> Option<u64> {
        let region = self.shared.region_of(key);
        self.shared.core.lock().cluster.regions().get(region)?.leader
    }

    /// The store does not answer any more; others take its regions over after an election.
    pub fn stop_store(&self, id: u64) {
        self.shared.crash(id);
    }

    /// The store answers again. Regions that nobody could lead meanwhile are led again, after an
    /// election.
    pub fn start_store(&self, id: u64) {
        self.shared.restart(id);
    }

    /// Numbers of all stores.
    pub fn stores(&self) -> Vec<u64> {
        self.shared.core.lock().cluster.stores().map(|store| store.id).collect()
    }

    /// How many regions there are.
    pub fn regions(&self) -> usize {
        self.shared.core.lock().cluster.regions().all().count()
    }

    /// PD: its members, its clock, its safe points.
    pub fn pd(&self) -> PdControl<'_> {
        PdControl(&self.shared)
    }

    /// How many requests of a kind have come since the start.
    pub fn count(&self, rpc: Rpc) -> u64 {
        self.shared.core.lock().counts.get(&rpc).copied().unwrap_or_default()
    }

    /// How many pairs scans have answered with.
    pub fn scanned(&self) -> u64 {
        self.shared.core.lock().scanned
    }

    /// How many keys of `[start, end)` have a lock or a version, deleted ones too.
    pub fn keys_in(&self, start: &[u8], end: &[u8]) -> usize {
        self.shared.core.lock().engine.table.keys_in(start, end)
    }

    /// How many keys are locked.
    pub fn lock_count(&self) -> usize {
        self.shared.core.lock().engine.table.lock_count()
    }

    /// How many requests wait for locks.
    pub fn waiter_count(&self) -> usize {
        self.shared.core.lock().waits.count()
    }

    /// How many keys and versions there are.
    pub fn size(&self) -> (usize, usize) {
        self.shared.core.lock().engine.table.size()
    }
}

/// What a test may do to PD, and ask of it.
pub struct PdControl<'a>(&'a Shared);

impl PdControl<'_> {
    /// The PD member of that place stops answering for good, and another one leads.
    pub fn stop(&self, member: usize) {
        let pd = &mut self.0.core.lock().pd;
        pd.stopped.insert(member);
        while pd.stopped.contains(&pd.leader) && pd.stopped.len() < pd.members.len() {
            pd.leader = (pd.leader + 1) % pd.members.len();
        }
    }

    /// Another PD member leads.
    pub fn move_leader(&self) {
        let pd = &mut self.0.core.lock().pd;
        pd.leader = (pd.leader + 1) % pd.members.len();
    }

    /// PD stops answering, or answers again.
    pub fn set_down(&self, is_down: bool) {
        self.0.core.lock().pd.is_down = is_down;
    }

    /// PD's time of day is set. Locks grow old by it; timestamps do not go back.
    pub fn jump_clock(&self, by_ms: i64) {
        self.0.core.lock().clock.jump(by_ms);
    }

    /// A timestamp.
    pub fn timestamp(&self) -> Ts {
        self.0.core.lock().clock.next(1)
    }

    /// PD forgets what services have said that they need, as if their time were over.
    pub fn forget_services(&self) {
        self.0.core.lock().pd.safe_points.forget_services();
    }

    /// How many reads there were below the collectors' safe point: a store answers them, and nobody
    /// knows how wrongly.
    pub fn reads_below_safe_point(&self) -> u64 {
        self.0.core.lock().reads_below_safe_point
    }

    /// The collectors' safe point.
    pub fn safe_point(&self) -> Ts {
        self.0.core.lock().pd.safe_points.collected()
    }
}

impl Drop for TikvStandIn {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn address(listener: &TcpListener) -> String {
    let address: SocketAddr = listener.local_addr().expect("a listener has an address");
    address.to_string()
}

/// The regions to begin with are led by the stores in turn.
fn spread_leaders(shared: &Arc<Shared>) {
    let mut core = shared.core.lock();
    let stores: Vec<_> = core.cluster.stores().map(|store| store.id).collect();
    let regions: Vec<_> = core.cluster.regions().all().map(|region| region.id).collect();
    for (region, store) in regions.into_iter().zip(stores.iter().cycle()) {
        core.move_leader(region, Some(*store), false);
    }
}

fn server(tls: Option<&Tls>) -> Server {
    let Some(tls) = tls else { return Server::builder() };
    let identity = tonic::transport::Identity::from_pem(&tls.identity.cert, &tls.identity.key);
    let mut config = ServerTlsConfig::new().identity(identity);
    if let Some(ca) = &tls.client_ca {
        config = config.client_ca_root(Certificate::from_pem(ca));
    }
    Server::builder().tls_config(config).expect("a certificate and its key")
}

fn serve(runtime: &Runtime, listener: TcpListener, router: tonic::transport::server::Router) {
    listener.set_nonblocking(true).expect("a socket that does not block");
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a loopback listener");
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        // It ends with the runtime.
        let _ = router.serve_with_incoming(incoming).await;
    });
}
