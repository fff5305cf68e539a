//! The state of all stores and of PD, and how a request goes through it.
//!
//! ```text
//! arrives ── counted, a fault drawn
//!    │        lost, late, busy, held … or its region splits, its leader moves
//!    ├── half of the latency
//!    ├── region checked, run ── a lock in the way: waits, and runs again or is refused
//!    ├── half of the latency
//!    └── answered, or the answer is lost
//! ```
//!
//! Everything that happens to the state happens under one mutex, a request at a time. A request
//! goes on when its client hangs up, as in a real store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_tikv_proto::{errorpb, kvrpcpb};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tonic::{Response, Status};

use super::convert;
use crate::tikv::cluster::Clock;
use crate::tikv::cluster::SafePoints;
use crate::tikv::cluster::encode;
use crate::tikv::cluster::{Cluster, RegionError};
use crate::tikv::engine::{Engine, KeyError, Ts};
use crate::tikv::faults::{Fault, Faults, Rpc};
use crate::tikv::waits::{Waits, Wake};

/// The delays and time limits of the stand-in.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// Of a request to a store, there and back.
    pub latency: Duration,
    /// Of a request to PD, there and back.
    pub pd_latency: Duration,
    /// From a leader's election until it knows how far others have read.
    pub sync_delay: Duration,
    /// From a leader's crash until the next one's election.
    pub election: Duration,
    /// The longest wait for a lock, whatever the client asks.
    pub lock_wait_max: Duration,
    /// From the waking of the first waiter to that of the others.
    pub wake_delay: Duration,
}

/// PD beside timestamps and regions.
#[derive(Debug, Default)]
pub(crate) struct Pd {
    /// Addresses of the members.
    pub members: Vec<String>,
    /// Which of them leads.
    pub leader: usize,
    /// Whether it answers at all.
    pub is_down: bool,
    /// Members that do not answer any more.
    pub stopped: BTreeSet<usize>,
    /// The number of the cluster.
    pub cluster_id: u64,
    /// The version that all stores say they have.
    pub version: String,
    /// Whether connections use TLS.
    pub is_tls: bool,
    /// Safe points.
    pub safe_points: SafePoints,
}

/// All state.
#[derive(Debug)]
pub(crate) struct Core {
    pub engine: Engine,
    pub cluster: Cluster,
    pub waits: Waits,
    pub clock: Clock,
    pub faults: Faults,
    pub delays: Delays,
    pub pd: Pd,
    pub counts: BTreeMap<Rpc, u64>,
    /// Reads whose versions may have been gone.
    pub reads_below_safe_point: u64,
    /// Pairs that scans have answered with.
    pub scanned: u64,
    /// Ranges that some stores have destroyed and others not yet, with those stores.
    pub destroyed: BTreeMap<(Vec<u8>, Vec<u8>), BTreeSet<u64>>,
    /// Keys without versions, as a raw client writes them.
    pub raw: BTreeMap<Vec<u8>, Bytes>,
}

/// The state and how to go on later.
#[derive(Debug)]
pub(crate) struct Shared {
    pub core: Mutex<Core>,
    pub runtime: Handle,
}

/// Where a request was let in.
#[derive(Clone, Debug, Default)]
pub(crate) struct At {
    /// The store.
    pub store: u64,
    /// The region; zero for requests that name none.
    pub region: u64,
    /// Its first key.
    pub start: Vec<u8>,
    /// Behind its last key.
    pub end: Vec<u8>,
}

/// A kind of request to a store.
pub(crate) trait Call: Clone + Send + Sync + 'static {
    /// Its answer.
    type Answer: Send + 'static;
    /// Its name.
    const RPC: Rpc;
    /// Whether it goes to a region, and not to the whole store.
    const HAS_REGION: bool = true;
    /// Where it thinks to be.
    fn context(&self) -> Option<&kvrpcpb::Context>;
    /// The keys that have to be in its region.
    fn keys(&self) -> Vec<&[u8]>;
    /// Does it.
    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer>;
    /// The answer when the region is the wrong one.
    fn refuse(error: errorpb::Error) -> Self::Answer;
    /// The answer when the region is the right one and a key is not in it.
    fn abort(error: kvrpcpb::KeyError) -> Self::Answer {
        Self::refuse(errorpb::Error { message: error.abort, ..Default::default() })
    }
}

/// How far a request has come.
pub(crate) enum Step<A> {
    /// To its end.
    Done(A),
    /// To a lock of another transaction.
    Wait(Wait<A>),
}

/// A place in a queue.
pub(crate) struct Wait<A> {
    pub key: Vec<u8>,
    pub number: u64,
    pub woken: oneshot::Receiver<Wake>,
    /// From the arrival of the request.
    pub patience: Duration,
    /// What was in the way when the wait began; who holds the lock at its end may be another.
    pub locked: KeyError,
    /// The answer with an error.
    pub refuse: Box<dyn Fn(KeyError) -> A + Send>,
}

/// The answer of a connection that breaks.
fn broken() -> Status {
    Status::unavailable("the connection is broken (injected)")
}

impl Core {
    /// The highest timestamp read at on a store.
    pub(crate) fn max_ts(&mut self, store: u64) -> (&mut Engine, &mut Ts) {
        let store = self.cluster.store(store).expect("a request came to it");
        (&mut self.engine, &mut store.max_ts)
    }

    /// Whether the region's leader may compute commit timestamps.
    pub(crate) fn is_synced(&mut self, region: u64) -> bool {
        let clock = &mut self.clock;
        self.cluster.is_synced(region, Instant::now(), || clock.next(1))
    }

    /// Gives a region another leader. If the old one crashes, the pessimistic locks are lost.
    pub(crate) fn move_leader(&mut self, region: u64, to: Option<u64>, crashes: bool) {
        let synced_at = Instant::now() + self.delays.sync_delay;
        if self.cluster.move_leader(region, to, synced_at).is_some() && crashes {
            self.lose_locks(region);
        }
    }

    /// The region's pessimistic locks were in the memory of a leader that is no more.
    pub(crate) fn lose_locks(&mut self, region: u64) {
        let Some((start, end)) = self.cluster.regions().get(region).map(|region| region.keys())
        else {
            return;
        };
        self.engine.table.lose_pessimistic_locks(&start, &end);
    }

    /// Counts a request; what is to happen to it.
    fn arrive<C: Call>(&mut self, store: u64, call: &C) -> Result<Option<Fault>, Status> {
        if !self.cluster.store(store).is_some_and(|store| store.is_up) {
            return Err(Status::unavailable("the store is down"));
        }
        *self.counts.entry(C::RPC).or_default() += 1;
        if let Some(by_ms) = self.faults.clock_jump() {
            self.clock.jump(by_ms);
        }
        let regions = self.cluster.regions().all().count();
        let keys = call.keys();
        let fault = self.faults.decide(C::RPC, &keys, regions);
        match &fault {
            Some(Fault::Split) => {
                if let Some(key) = keys.first() {
                    self.cluster.split(key);
                }
            }
            Some(Fault::Merge) => {
                let synced_at = Instant::now() + self.delays.sync_delay;
                if let Some(key) = keys.first() {
                    self.cluster.merge(key, synced_at);
                }
            }
            Some(Fault::MoveLeader | Fault::CrashLeader) => {
                let crashes = matches!(fault, Some(Fault::CrashLeader));
                let region = call.context().map_or(0, |context| context.region_id);
                self.move_leader(region, None, crashes);
            }
            _ => {}
        }
        Ok(fault)
    }

    fn step<C: Call>(&mut self, store: u64, call: &C) -> Step<C::Answer> {
        if !C::HAS_REGION {
            return call.run(self, &At { store, ..At::default() });
        }
        let place = call.context().map(convert::place).unwrap_or_default();
        let checked = self.cluster.check(store, place, &call.keys());
        let at = checked.map(|region| {
            let (start, end) = region.keys();
            At { store, region: region.id, start, end }
        });
        match at {
            Ok(at) => call.run(self, &at),
            Err(RegionError::KeyNotInRegion) => {
                let abort = "a key is not in the region".to_owned();
                Step::Done(C::abort(kvrpcpb::KeyError { abort, ..Default::default() }))
            }
            Err(error) => Step::Done(C::refuse(convert::region_error(error))),
        }
    }
}

impl Shared {
    /// Takes a request through all of it.
    pub(crate) async fn handle<C: Call>(
        self: Arc<Self>,
        store: u64,
        call: C,
    ) -> Result<Response<C::Answer>, Status> {
        let (fault, latency) = {
            let mut core = self.core.lock();
            let fault = core.arrive(store, &call);
            self.wake(&mut core);
            (fault?, core.delays.latency)
        };
        match &fault {
            Some(Fault::LoseRequest) => return Err(broken()),
            Some(Fault::Busy) => {
                let error = convert::region_error(RegionError::ServerIsBusy);
                return Ok(Response::new(C::refuse(error)));
            }
            Some(Fault::NotLeader) => {
                let region = call.context().map_or(0, |context| context.region_id);
                let error = RegionError::NotLeader { region, leader: None };
                return Ok(Response::new(C::refuse(convert::region_error(error))));
            }
            Some(Fault::Delay(late)) => tokio::time::sleep(*late).await,
            Some(Fault::HoldRequest(gate)) => gate.pass().await,
            Some(Fault::Duplicate(late)) => {
                let (shared, call, late) = (Arc::clone(&self), call.clone(), *late);
                self.runtime.spawn(async move {
                    tokio::time::sleep(late).await;
                    shared.execute(store, &call).await;
                });
            }
            _ => {}
        }
        pause(latency / 2).await;
        let answer = self.execute(store, &call).await;
        pause(latency / 2).await;
        match fault {
            Some(Fault::LoseAnswer) => return Err(broken()),
            Some(Fault::Undetermined) => {
                let error = convert::region_error(RegionError::Undetermined);
                return Ok(Response::new(C::refuse(error)));
            }
            Some(Fault::HoldAnswer(gate)) => gate.pass().await,
            _ => {}
        }
        Ok(Response::new(answer))
    }

    /// Wakes who waits for the locks that have gone.
    pub(crate) fn wake(self: &Arc<Self>, core: &mut Core) {
        for released in core.engine.table.take_released() {
            if core.waits.wake_first(&released) {
                let (shared, delay) = (Arc::clone(self), core.delays.wake_delay);
                self.runtime.spawn(async move {
                    tokio::time::sleep(delay).await;
                    shared.core.lock().waits.wake_all(&released);
                });
            }
        }
    }

    async fn execute<C: Call>(self: &Arc<Self>, store: u64, call: &C) -> C::Answer {
        let arrived = Instant::now();
        loop {
            let step = {
                let mut core = self.core.lock();
                let step = core.step(store, call);
                self.wake(&mut core);
                step
            };
            let mut wait = match step {
                Step::Done(answer) => return answer,
                Step::Wait(wait) => wait,
            };
            let left = wait.patience.saturating_sub(arrived.elapsed());
            let woken = match tokio::time::timeout(left, &mut wait.woken).await {
                Ok(woken) => woken.ok(),
                Err(_) => {
                    let mut core = self.core.lock();
                    core.waits.leave(&wait.key, wait.number);
                    if let Some(lock) = core.engine.table.holder(&wait.key) {
                        wait.locked = KeyError::Locked(Box::new(lock.info(&wait.key)));
                    }
                    // It may have been woken just before it left.
                    wait.woken.try_recv().ok()
                }
            };
            match woken {
                Some(Wake::Again) => {}
                Some(Wake::Refused(error)) => return (wait.refuse)(error),
                None => return (wait.refuse)(wait.locked),
            }
        }
    }

    /// The store crashes: its regions have no leader for the time of an election.
    pub(crate) fn crash(self: &Arc<Self>, store: u64) {
        let (led, election) = {
            let mut core = self.core.lock();
            if let Some(store) = core.cluster.store(store) {
                store.is_up = false;
            }
            let regions =
                core.cluster.regions().all().filter(|region| region.leader == Some(store));
            let led: Vec<_> = regions.map(|region| region.id).collect();
            for region in &led {
                core.lose_locks(*region);
                core.cluster.depose(*region);
            }
            self.wake(&mut core);
            (led, core.delays.election)
        };
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(election).await;
            let mut core = shared.core.lock();
            for region in led {
                core.move_leader(region, None, false);
            }
        });
    }

    /// The store is back: after the time of an election it may lead what nobody leads.
    pub(crate) fn restart(self: &Arc<Self>, store: u64) {
        let election = {
            let mut core = self.core.lock();
            if let Some(store) = core.cluster.store(store) {
                store.is_up = true;
            }
            core.delays.election
        };
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(election).await;
            let mut core = shared.core.lock();
            let orphans = core.cluster.regions().all().filter(|region| region.leader.is_none());
            let orphans: Vec<_> = orphans.map(|region| region.id).collect();
            for region in orphans {
                core.move_leader(region, None, false);
            }
        });
    }

    /// Splits the region of a key before it.
    pub(crate) fn split(&self, key: &[u8]) -> bool {
        self.core.lock().cluster.split(key).is_some()
    }

    /// The region of a key.
    pub(crate) fn region_of(&self, key: &[u8]) -> u64 {
        self.core.lock().cluster.regions().of(&encode(key)).id
    }
}

/// Sleeps, unless there is nothing to sleep.
pub(super) async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
