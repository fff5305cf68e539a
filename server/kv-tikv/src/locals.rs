//! The transactions of this gateway that TiKV knows of: their timestamp, their primary, the keys
//! that they have locked.
//!
//! A transaction is entered by its first lock or by its commit. Its start timestamp is that of its
//! snapshot, if no other transaction has taken it, else a new one. The primary is chosen once, by
//! the first lock or by the commit, and everything else of the transaction refers to it.

use crate::{cluster::Cluster, snapshot::TikvSnapshot};
use braid_kv::{
    Error, Key, LockInfo, LockStrength, Result, RetryReason, Snapshot, Span, TxnId, Value,
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// A bit of a time to live that times to live of ours do not have otherwise: the transaction was to
/// commit asynchronously, has had to wait for somebody's lock, and is committed in two phases. Its
/// primary may be pushed although it is one of an asynchronous commit.
pub(crate) const TWO_PHASES: u64 = 1;

/// A key that is locked.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The timestamp up to which TiKV has looked for newer versions.
    pub for_update_ts: u64,
    /// From this timestamp on its value has been what it is now.
    pub unchanged_since: u64,
    /// Its newest value.
    pub value: Option<Value>,
}

/// The identity of a transaction in TiKV.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub ts: u64,
    /// When the timestamp was taken.
    pub at: Instant,
}

impl Start {
    /// A time to live, counted from the start, that ends `ttl` from now; without [`TWO_PHASES`].
    pub fn ttl_ms(&self, ttl: Duration) -> u64 {
        (self.at.elapsed() + ttl).as_millis() as u64 & !TWO_PHASES
    }
}

#[derive(Default)]
pub(crate) struct LocalState {
    pub start: Option<Start>,
    pub primary: Option<Key>,
    pub held: BTreeMap<Key, Held>,
    /// Asked for; they may be locked whatever came of it.
    pub asked: BTreeSet<Key>,
    /// Spans that were to be locked, which TiKV cannot do: at the commit they have to be as these
    /// snapshots show them.
    pub spans: Vec<(Span, Arc<dyn Snapshot>)>,
    /// Its commit goes on in two phases.
    pub two_phases: bool,
    /// Waited for, since when.
    pub waits: BTreeMap<Key, Instant>,
}

/// One transaction. Keys have the prefix.
pub(crate) struct Local {
    pub id: TxnId,
    pub state: Mutex<LocalState>,
    /// Held by the request that chooses the timestamp and the primary.
    pub first: tokio::sync::Mutex<()>,
    /// The first request waits for somebody's lock, so that none may go beside it.
    first_waits: AtomicBool,
    /// Requests that go beside the first one.
    beside: AtomicUsize,
    /// One of these two has changed.
    turned: Notify,
    /// Its locks were given back, or are being so: nothing more may be locked.
    pub ended: AtomicBool,
    /// TiKV no longer has one of its locks. Others may have written the key, so that the
    /// transaction must not commit.
    lost: AtomicBool,
}

/// A request that goes beside the first one, while this lives.
pub(crate) struct Beside<'a>(&'a Local);

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        self.0.beside.fetch_sub(1, SeqCst);
        self.0.turned.notify_waiters();
    }
}

impl Local {
    fn new(id: TxnId) -> Local {
        Local {
            id,
            state: Mutex::default(),
            first: tokio::sync::Mutex::new(()),
            first_waits: AtomicBool::new(false),
            beside: AtomicUsize::new(0),
            turned: Notify::new(),
            ended: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }
    }

    /// Lets a request go beside the first one, unless that one waits.
    pub fn go_beside_first(&self) -> Option<Beside<'_>> {
        self.beside.fetch_add(1, SeqCst);
        let beside = Beside(self);
        (!self.first_waits.load(SeqCst)).then_some(beside)
    }

    /// The first request is about to wait: comes back when nothing is held beside it, for two that
    /// wait for each other's would be a deadlock.
    pub async fn first_waits(&self) {
        self.first_waits.store(true, SeqCst);
        self.turned.notify_waiters();
        self.until(|| self.beside.load(SeqCst) == 0).await;
    }

    /// The first request is done.
    pub fn first_is_done(&self) {
        self.first_waits.store(false, SeqCst);
    }

    /// Waits until the first request waits.
    pub async fn until_first_waits(&self) {
        self.until(|| self.first_waits.load(SeqCst)).await;
    }

    async fn until(&self, holds: impl Fn() -> bool) {
        loop {
            let mut turned = std::pin::pin!(self.turned.notified());
            turned.as_mut().enable();
            if holds() {
                return;
            }
            turned.await;
        }
    }

    /// Its start timestamp, taken now if it has none.
    pub async fn start(&self, cluster: &Cluster, since: Option<&TikvSnapshot>) -> Result<Start> {
        if let Some(start) = self.state.lock().start {
            return Ok(start);
        }
        let start = match since.filter(|since| since.claim()) {
            Some(since) => Start { ts: since.ts, at: since.taken },
            None => {
                let at = Instant::now();
                Start { ts: cluster.tso.now().await?, at }
            }
        };
        Ok(*self.state.lock().start.get_or_insert(start))
    }

    /// Notes that one of its locks is gone.
    pub fn lose(&self) {
        self.lost.store(true, SeqCst);
    }

    /// Notes that its primary lock is gone, if it still believes to hold that one.
    pub fn lose_primary(&self, start: Start, primary: &Key) {
        let state = self.state.lock();
        let is_same = state.start.is_some_and(|own| own.ts == start.ts);
        if is_same && state.primary.as_ref() == Some(primary) && state.held.contains_key(primary) {
            self.lose();
        }
    }

    /// The commit begins anew under another timestamp, with other locks.
    pub fn forget_losses(&self) {
        self.lost.store(false, SeqCst);
    }

    /// Whether one of its locks is gone.
    pub fn has_lost(&self) -> bool {
        self.lost.load(SeqCst)
    }

    /// Whether it may lock more.
    pub fn check_running(&self) -> Result<()> {
        if self.ended.load(Relaxed) {
            return Err(Error::Finished);
        }
        match self.has_lost() {
            true => Err(Error::retry(RetryReason::LockLost, None)),
            false => Ok(()),
        }
    }
}

/// All transactions, by the number that the contract gives them.
#[derive(Default)]
pub(crate) struct Locals {
    by_id: Mutex<HashMap<TxnId, Arc<Local>>>,
}

impl Locals {
    pub fn get_or_enter(&self, id: TxnId) -> Arc<Local> {
        self.by_id.lock().entry(id).or_insert_with(|| Arc::new(Local::new(id))).clone()
    }

    /// Takes a transaction out; what is under way for it must lock nothing more.
    pub fn remove(&self, id: TxnId) -> Option<Arc<Local>> {
        let local = self.by_id.lock().remove(&id)?;
        local.ended.store(true, Relaxed);
        Some(local)
    }

    pub fn get(&self, id: TxnId) -> Option<Arc<Local>> {
        self.by_id.lock().get(&id).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Local>> {
        self.by_id.lock().values().cloned().collect()
    }

    /// The oldest start timestamp.
    pub fn oldest_start(&self) -> Option<u64> {
        let start = |local: &Arc<Local>| local.state.lock().start.map(|start| start.ts);
        self.by_id.lock().values().filter_map(start).min()
    }

    /// The transaction with this start timestamp, if it is of this gateway.
    pub fn id_of(&self, start_ts: u64) -> Option<TxnId> {
        let is_it = |local: &&Arc<Local>| {
            local.state.lock().start.is_some_and(|start| start.ts == start_ts)
        };
        self.by_id.lock().values().find(is_it).map(|local| local.id)
    }

    /// Held and awaited locks.
    pub fn list(&self, strip: impl Fn(&[u8]) -> Key) -> Vec<LockInfo> {
        let mut all = Vec::new();
        for local in self.all() {
            let state = local.state.lock();
            let held = state.held.keys().map(|key| (key, true, Duration::ZERO));
            let waits = state.waits.iter().map(|(key, since)| (key, false, since.elapsed()));
            all.extend(held.chain(waits).map(|(key, granted, waited)| LockInfo {
                span: Span::key(strip(key)),
                txn: local.id,
                strength: LockStrength::Exclusive,
                granted,
                waited,
            }));
        }
        all.sort_by(|a, b| (&a.span, !a.granted, a.txn).cmp(&(&b.span, !b.granted, b.txn)));
        all
    }

    /// How many locks are held and how many are waited for.
    pub fn sizes(&self) -> (usize, usize) {
        self.all().iter().fold((0, 0), |(held, waits), local| {
            let state = local.state.lock();
            (held + state.held.len(), waits + state.waits.len())
        })
    }
}
