//! The transaction registry: the transactions of this gateway that TiKV knows, each with its start
//! timestamp, its primary and its locked keys.
//!
//! A transaction is entered by its first lock or by its commit. Its start timestamp is that of its
//! snapshot, if no other transaction has taken it, else a new one. The primary is chosen once, by
//! the first lock or by the commit, and everything else of the transaction refers to it.

use super::transaction_status::TWO_PHASES;
use crate::{cluster::Cluster, read::TikvSnapshot};
use braid_kv::{
    Error, Key, LockInfo, LockStrength, Result, RetryReason, SharedWait, Snapshot, Span, Timestamp,
    TxnId, Value,
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

/// A key that is locked.
#[derive(Clone, Debug)]
pub(crate) struct HeldLock {
    /// The timestamp up to which TiKV has looked for newer versions.
    pub for_update_ts: u64,
    /// From this timestamp on its value has been what it is now.
    pub unchanged_since: u64,
    /// Its newest value.
    pub value: Option<Value>,
}

/// The identity of a transaction in TiKV.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransactionStart {
    pub ts: u64,
    /// When the timestamp was taken.
    pub at: Instant,
}

impl TransactionStart {
    /// A time to live, counted from the start, that ends `ttl` from now; without [`TWO_PHASES`].
    pub(crate) fn ttl_ms(&self, ttl: Duration) -> u64 {
        (self.at.elapsed() + ttl).as_millis() as u64 & !TWO_PHASES
    }
}

#[derive(Default)]
pub(crate) struct TransactionLocks {
    pub start: Option<TransactionStart>,
    pub primary: Option<Key>,
    pub held: BTreeMap<Key, HeldLock>,
    /// Asked for; they may be locked whatever came of it.
    pub asked: BTreeSet<Key>,
    /// Spans that were to be locked, which TiKV cannot do: at the commit they have to be as these
    /// snapshots show them.
    pub spans: Vec<(Span, Arc<dyn Snapshot>)>,
    /// Its commit goes on in two phases.
    pub two_phases: bool,
    /// The keys that are waited for.
    pub waits: BTreeMap<Key, Wait>,
}

/// A wait for the lock on a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub since: Instant,
    /// The start timestamp of who holds it, once a store has said so.
    pub holder: Option<u64>,
}

/// One transaction. Keys have the prefix.
pub(crate) struct TransactionState {
    pub id: TxnId,
    pub locks: Mutex<TransactionLocks>,
    /// Held by the request that chooses the timestamp and the primary.
    pub first: tokio::sync::Mutex<()>,
    /// The first request waits for somebody's lock, so that none may go beside it.
    primary_waits: AtomicBool,
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
pub(crate) struct ConcurrentRequest<'a>(&'a TransactionState);

impl Drop for ConcurrentRequest<'_> {
    fn drop(&mut self) {
        self.0.beside.fetch_sub(1, SeqCst);
        self.0.turned.notify_waiters();
    }
}

impl TransactionState {
    fn new(id: TxnId) -> TransactionState {
        TransactionState {
            id,
            locks: Mutex::default(),
            first: tokio::sync::Mutex::new(()),
            primary_waits: AtomicBool::new(false),
            beside: AtomicUsize::new(0),
            turned: Notify::new(),
            ended: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }
    }

    /// Lets a request go beside the first one, unless that one waits.
    pub(crate) fn begin_concurrent(&self) -> Option<ConcurrentRequest<'_>> {
        self.beside.fetch_add(1, SeqCst);
        let beside = ConcurrentRequest(self);
        (!self.primary_waits.load(SeqCst)).then_some(beside)
    }

    /// The first request is about to wait: comes back when nothing is held beside it, for two that
    /// wait for each other's would be a deadlock.
    pub(crate) async fn primary_waits(&self) {
        self.primary_waits.store(true, SeqCst);
        self.turned.notify_waiters();
        self.until(|| self.beside.load(SeqCst) == 0).await;
    }

    /// The first request is done.
    pub(crate) fn primary_is_decided(&self) {
        self.primary_waits.store(false, SeqCst);
    }

    /// Waits until the first request waits.
    pub(crate) async fn until_primary_waits(&self) {
        self.until(|| self.primary_waits.load(SeqCst)).await;
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
    pub(crate) async fn start(
        &self,
        cluster: &Cluster,
        since: Option<&TikvSnapshot>,
    ) -> Result<TransactionStart> {
        if let Some(start) = self.locks.lock().start {
            return Ok(start);
        }
        let start = match since.filter(|since| since.claim()) {
            Some(since) => TransactionStart { ts: since.ts, at: since.taken },
            None => {
                let at = Instant::now();
                TransactionStart { ts: cluster.tso.now().await?, at }
            }
        };
        Ok(*self.locks.lock().start.get_or_insert(start))
    }

    /// Notes that one of its locks is gone.
    pub(crate) fn lose(&self) {
        self.lost.store(true, SeqCst);
    }

    /// Notes that its primary lock is gone, if it still believes to hold that one.
    pub(crate) fn lose_primary(&self, start: TransactionStart, primary: &Key) {
        let state = self.locks.lock();
        let is_same = state.start.is_some_and(|own| own.ts == start.ts);
        if is_same && state.primary.as_ref() == Some(primary) && state.held.contains_key(primary) {
            self.lose();
        }
    }

    /// The commit restarts under another timestamp, with other locks.
    pub(crate) fn forget_losses(&self) {
        self.lost.store(false, SeqCst);
    }

    /// Whether one of its locks is gone.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost.load(SeqCst)
    }

    /// Whether it may lock more.
    pub(crate) fn check_running(&self) -> Result<()> {
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
pub(crate) struct TransactionRegistry {
    by_id: Mutex<HashMap<TxnId, Arc<TransactionState>>>,
}

impl TransactionRegistry {
    pub(crate) fn get_or_enter(&self, id: TxnId) -> Arc<TransactionState> {
        self.by_id.lock().entry(id).or_insert_with(|| Arc::new(TransactionState::new(id))).clone()
    }

    /// Takes a transaction out; what is under way for it must lock nothing more.
    pub(crate) fn remove(&self, id: TxnId) -> Option<Arc<TransactionState>> {
        let transaction = self.by_id.lock().remove(&id)?;
        transaction.ended.store(true, Relaxed);
        Some(transaction)
    }

    pub(crate) fn get(&self, id: TxnId) -> Option<Arc<TransactionState>> {
        self.by_id.lock().get(&id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<TransactionState>> {
        self.by_id.lock().values().cloned().collect()
    }

    /// The oldest start timestamp.
    pub(crate) fn oldest_start(&self) -> Option<u64> {
        let start = |transaction: &Arc<TransactionState>| {
            transaction.locks.lock().start.map(|start| start.ts)
        };
        self.by_id.lock().values().filter_map(start).min()
    }

    /// The transaction with this start timestamp, if it is of this gateway.
    pub(crate) fn id_of(&self, start_ts: u64) -> Option<TxnId> {
        let is_it = |transaction: &&Arc<TransactionState>| {
            transaction.locks.lock().start.is_some_and(|start| start.ts == start_ts)
        };
        self.by_id.lock().values().find(is_it).map(|transaction| transaction.id)
    }

    /// Held and awaited locks.
    pub(crate) fn list(&self, strip: impl Fn(&[u8]) -> Key) -> Vec<LockInfo> {
        let mut all = Vec::new();
        for transaction in self.all() {
            let state = transaction.locks.lock();
            let held = state.held.keys().map(|key| (key, true, Duration::ZERO));
            let waits = state.waits.iter().map(|(key, wait)| (key, false, wait.since.elapsed()));
            all.extend(held.chain(waits).map(|(key, granted, waited)| LockInfo {
                span: Span::key(strip(key)),
                txn: transaction.id,
                strength: LockStrength::Exclusive,
                granted,
                waited,
            }));
        }
        all.sort_by(|a, b| (&a.span, !a.granted, a.txn).cmp(&(&b.span, !b.granted, b.txn)));
        all
    }

    /// The waits whose holder is known, by start timestamps.
    pub(crate) fn waits(&self, strip: impl Fn(&[u8]) -> Key) -> Vec<SharedWait> {
        let mut all = Vec::new();
        for transaction in self.all() {
            let state = transaction.locks.lock();
            let Some(start) = state.start else { continue };
            all.extend(state.waits.iter().filter_map(|(key, wait)| {
                Some(SharedWait {
                    waiter: Timestamp(start.ts),
                    holder: Timestamp(wait.holder?),
                    key: strip(key),
                    waited: wait.since.elapsed(),
                })
            }));
        }
        all.sort_by(|a, b| (a.waiter, &a.key).cmp(&(b.waiter, &b.key)));
        all
    }

    /// How many locks are held and how many are waited for.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        self.all().iter().fold((0, 0), |(held, waits), transaction| {
            let state = transaction.locks.lock();
            (held + state.held.len(), waits + state.waits.len())
        })
    }
}
