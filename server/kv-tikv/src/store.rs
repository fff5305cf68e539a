//! The store itself: the kv contract over the parts.

use crate::{
    OpenError, TikvAddress, TikvOptions,
    cluster::Cluster,
    commit::{self, Committing, proofs_of, prove},
    dial::Dialer,
    format,
    gc::Collector,
    heartbeat,
    keys::Prefix,
    locals::{Local, Start},
    locks::{CLEARING, Locking, Wish},
    meeting::OldestPushed,
    probe,
    snapshot::{Ground, TikvSnapshot},
    tso::LOGICAL_BITS,
};
use braid_kv::{
    Answer, COUNT_BOUNDS, CommitOutcome, CommitRequest, Conflict, Database, DatabaseOptions,
    DeadlockEdge, Error, Garbage, Histogram, Key, LockGrant, LockInfo, LockRequest, LockTarget,
    LockWait, ReadSegment, Result, RetryReason, Snapshot, Store, StoreClock, StoreMetric,
    StoreMetrics, StoreValue, TIME_BOUNDS, TxnId, Value,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::{runtime::Handle, sync::oneshot};

/// Locks that are to stay through a retry are waited for so long.
const LOCK_AGAIN: Duration = Duration::from_secs(1);
/// Opening is tried for so long.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);

/// The kv contract over a TiKV cluster. See the crate's documentation.
pub struct TikvStore {
    parts: Parts,
    /// Of the data; what belongs to the store itself is written once.
    collector: Option<Collector>,
    runtime: Handle,
    closed: AtomicBool,
}

/// What tasks take along.
#[derive(Clone)]
struct Parts {
    ground: Arc<Ground>,
    locking: Locking,
    outcomes: Arc<Outcomes>,
}

#[derive(Default)]
struct Outcomes {
    commits: AtomicU64,
    conflicts: AtomicU64,
}

impl TikvStore {
    /// Opens a database, or creates it if nothing lies under its prefix. A cluster that does not
    /// answer is an error after a few seconds: whoever wants it tries again.
    ///
    /// Setting `BRAID_UNSAFE_NO_VALIDATION=1` in the environment switches the validation of reads
    /// off, for the test that has to see an anomaly.
    pub async fn open(
        address: &TikvAddress,
        mut options: TikvOptions,
    ) -> std::result::Result<TikvStore, OpenError> {
        if std::env::var_os("BRAID_UNSAFE_NO_VALIDATION").is_some_and(|value| value == "1") {
            tracing::warn!("BRAID_UNSAFE_NO_VALIDATION=1: nothing is serializable");
            options.validate = false;
        }
        let dialer = Dialer::new(address.tls.as_ref())?;
        // A cluster that does not answer is reported soon, so that it can be tried again.
        let hasty =
            TikvOptions { retry_for: options.retry_for.min(OPEN_PATIENCE), ..options.clone() };
        TikvStore::check(address, dialer.clone(), hasty).await?;
        let cluster = Arc::new(Cluster::new(address.pd.clone(), dialer, options));
        cluster.pd.check().await?;
        let mut store = TikvStore::over(&cluster, Prefix::data(&address.prefix));
        let locals = &store.parts.locking.locals;
        tokio::spawn(heartbeat::run(Arc::downgrade(&cluster), Arc::downgrade(locals)));
        tokio::spawn(probe::run(Arc::downgrade(&cluster), Prefix::meta(&address.prefix)));
        let prefix = Prefix::data(&address.prefix);
        let collector = Collector::start(&cluster, locals, prefix, address.gc_life_time).await;
        store.collector = Some(collector);
        Ok(store)
    }

    /// Whether the cluster and what lies under the prefix can be used.
    async fn check(
        address: &TikvAddress,
        dialer: Dialer,
        options: TikvOptions,
    ) -> std::result::Result<(), OpenError> {
        let cluster = Arc::new(Cluster::new(address.pd.clone(), dialer, options));
        cluster.pd.check().await?;
        let data = TikvStore::over(&cluster, Prefix::data(&address.prefix));
        let meta = TikvStore::over(&cluster, Prefix::meta(&address.prefix));
        let meta = Database::new(Arc::new(meta), DatabaseOptions::default());
        format::check(&data.parts.ground, &meta, &address.prefix).await
    }

    /// A store for the keys under a prefix.
    fn over(cluster: &Arc<Cluster>, prefix: Prefix) -> TikvStore {
        let ground = Arc::new(Ground::new(cluster.clone(), prefix));
        let (locals, counters) = (Arc::default(), Arc::default());
        let locking = Locking { cluster: cluster.clone(), locals, counters };
        let parts = Parts { ground, locking, outcomes: Arc::default() };
        let (runtime, closed) = (Handle::current(), AtomicBool::new(false));
        TikvStore { parts, collector: None, runtime, closed }
    }

    fn check_running(&self) -> Result<()> {
        match self.closed.load(Relaxed) {
            true => Err(Error::Stopped("the server is shutting down".into())),
            false => Ok(()),
        }
    }
}

impl Parts {
    fn cluster(&self) -> &Arc<Cluster> {
        &self.ground.cluster
    }

    fn strip(&self, key: &[u8]) -> Key {
        self.ground.prefix.strip(key).to_vec()
    }

    /// Errors name keys as the contract knows them.
    fn strip_error(&self, error: Error) -> Error {
        match error {
            Error::LockTimeout { key } => Error::LockTimeout { key: self.strip(&key) },
            Error::LockNotAvailable { key } => Error::LockNotAvailable { key: self.strip(&key) },
            Error::Retry(mut conflict) => {
                conflict.key = conflict.key.map(|key| self.strip(&key));
                Error::Retry(conflict)
            }
            Error::Deadlock { cycle } => {
                let strip = |edge: &DeadlockEdge| DeadlockEdge {
                    key: self.strip(&edge.key),
                    ..edge.clone()
                };
                Error::Deadlock { cycle: cycle.iter().map(strip).collect() }
            }
            error => error,
        }
    }

    async fn lock_keys(
        self,
        local: Arc<Local>,
        request: LockRequest,
        since: Arc<dyn Snapshot>,
        until: Option<Instant>,
        given_up: Arc<AtomicBool>,
    ) -> Result<LockGrant> {
        let keys = match &request.target {
            LockTarget::Keys(keys) => keys,
            LockTarget::Spans(spans) => {
                let n = spans.len();
                let spans = spans.iter().map(|span| (span.clone(), since.clone()));
                local.state.lock().spans.extend(spans);
                let (granted, changed) = (vec![true; n], vec![false; n]);
                return Ok(LockGrant { granted, changed, values: Vec::new(), newest: since });
            }
        };
        let snapshot = TikvSnapshot::of(&since)?;
        let start = local.start(self.cluster(), Some(snapshot)).await?;
        let for_update_ts = snapshot.ts.max(start.ts);
        let mut full: Vec<Key> = keys.iter().map(|key| self.ground.prefix.key(key)).collect();
        full.sort_unstable();
        full.dedup();
        let wish = Wish { wait: request.wait, until, for_update_ts, given_up };
        let held = self.locking.take(&local, start, full.clone(), &wish).await;
        if local.ended.load(Relaxed) {
            // Ended while this was under way; who ended it may have come too early to see these.
            self.locking.give_back(&local, start, full).await;
            return Err(Error::Finished);
        }
        let held = held?;
        let changed = self.changed_since(&local, &held, &since).await?;
        let newest = held.values().map(|held| held.for_update_ts).max().unwrap_or(0);
        let newest = match newest > snapshot.ts {
            true => Arc::new(TikvSnapshot::new(self.ground.clone(), newest)) as Arc<dyn Snapshot>,
            false => since.clone(),
        };
        let full = |key: &Key| self.ground.prefix.key(key);
        let values = keys.iter().filter(|_| request.values);
        let value = |key| held.get(&full(key)).and_then(|held| held.value.clone());
        Ok(LockGrant {
            granted: keys.iter().map(|key| held.contains_key(&full(key))).collect(),
            changed: keys.iter().map(|key| changed.contains_key(&full(key))).collect(),
            values: values.map(value).collect(),
            newest,
        })
    }

    /// Those of the locked keys whose value is another than the snapshot shows.
    async fn changed_since(
        &self,
        local: &Local,
        held: &BTreeMap<Key, crate::locals::Held>,
        since: &Arc<dyn Snapshot>,
    ) -> Result<BTreeMap<Key, ()>> {
        let snapshot = TikvSnapshot::of(since)?;
        let newer = held.iter().filter(|(_, held)| held.for_update_ts > snapshot.ts);
        let (keys, now): (Vec<Key>, Vec<Option<Value>>) =
            newer.map(|(key, held)| (self.strip(key), held.value.clone())).unzip();
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let before = snapshot.multi_get(&keys).await?;
        let mut changed = BTreeMap::new();
        for ((key, before), now) in keys.into_iter().zip(before).zip(now) {
            let key = self.ground.prefix.key(&key);
            if before != now {
                changed.insert(key, ());
            } else if let Some(held) = local.state.lock().held.get_mut(&key) {
                held.unchanged_since = held.unchanged_since.min(snapshot.ts);
            }
        }
        Ok(changed)
    }

    async fn commit(self, request: CommitRequest) -> Result<CommitOutcome> {
        let txn = request.txn;
        let kept = request.keep_locks.then(|| self.locks_to_keep(&request));
        let (ground, locking) = (self.ground.clone(), self.locking.clone());
        let local = locking.locals.get_or_enter(txn);
        let outcome = commit::commit(Committing { ground, locking, local }, request).await;
        self.locking.locals.remove(txn);
        if let (Some(keys), Ok(CommitOutcome::Retry(_))) = (kept, &outcome) {
            self.lock_again(txn, keys).await;
        }
        match &outcome {
            Ok(CommitOutcome::Committed(_)) => self.outcomes.commits.fetch_add(1, Relaxed),
            Ok(CommitOutcome::Retry(_)) => self.outcomes.conflicts.fetch_add(1, Relaxed),
            Ok(CommitOutcome::Unknown) | Err(_) => 0,
        };
        let strip = |mut conflict: Conflict| {
            conflict.key = conflict.key.map(|key| self.strip(&key));
            conflict
        };
        match outcome {
            Ok(CommitOutcome::Retry(conflict)) => Ok(CommitOutcome::Retry(strip(conflict))),
            Err(Error::Retry(conflict)) => Ok(CommitOutcome::Retry(strip(*conflict))),
            Err(Error::SnapshotTooOld) => {
                Ok(CommitOutcome::Retry(Conflict::new(RetryReason::TooOld, None)))
            }
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.strip_error(error)),
        }
    }

    /// What the transaction has locked, and what it wants to write.
    fn locks_to_keep(&self, request: &CommitRequest) -> Vec<Key> {
        let local = self.locking.locals.get_or_enter(request.txn);
        let mut keys: Vec<Key> = local.state.lock().held.keys().cloned().collect();
        keys.extend(request.writes.iter().map(|(key, _)| self.ground.prefix.key(key)));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// A prewritten key cannot become a pessimistic lock again: the locks that are to stay are
    /// taken anew, under a new timestamp. What cannot be had soon is left.
    async fn lock_again(&self, txn: TxnId, keys: Vec<Key>) {
        let local = self.locking.locals.get_or_enter(txn);
        let Ok(start) = local.start(self.cluster(), None).await else { return };
        let until = Some(Instant::now() + LOCK_AGAIN);
        let (wait, for_update_ts) = (LockWait::Block, start.ts);
        let wish = Wish { wait, until, for_update_ts, given_up: Arc::default() };
        if let Err(error) = self.locking.take(&local, start, keys, &wish).await {
            tracing::debug!(%error, "locks do not stay through a retry");
        }
    }

    /// Proves that all locks have been held since they were granted.
    async fn prove_locks(self, local: Arc<Local>) -> Result<Option<Conflict>> {
        let (start, locks) = {
            let state = local.state.lock();
            let locks = state.held.iter().map(|(key, held)| (key.clone(), held.for_update_ts));
            (state.start, locks.collect::<Vec<_>>())
        };
        let lost = |key: Option<&Key>| {
            let key = key.map(|key| self.strip(key));
            Ok(Some(Conflict::new(RetryReason::LockLost, key)))
        };
        let Some(start) = start.filter(|_| !local.has_lost()) else {
            return if local.has_lost() { lost(None) } else { Ok(None) };
        };
        let keys: Vec<Key> = locks.iter().map(|(key, _)| key.clone()).collect();
        let found = self.locking.find_lost(&local, start, locks).await;
        if local.ended.load(Relaxed) {
            // Ended while this was under way; who ended it may have come too early to see these.
            self.locking.give_back(&local, start, keys).await;
            return Err(Error::Finished);
        }
        match found? {
            Some(key) => lost(Some(&key)),
            None => Ok(None),
        }
    }

    /// Gives the locks back, in a task; the answer is there when they are gone, or after
    /// [`CLEARING`].
    fn release(&self, txn: TxnId) -> Answer<'static, ()> {
        let Some(local) = self.locking.locals.remove(txn) else { return Answer::ready(()) };
        let work = self.cluster().spawn(self.clone().give_back_all(local));
        Answer::wait(async move {
            let _ = tokio::time::timeout(CLEARING, work).await;
        })
    }

    async fn give_back_all(self, local: Arc<Local>) {
        let (start, keys): (Option<Start>, Vec<Key>) = {
            let state = local.state.lock();
            (state.start, state.held.keys().chain(&state.asked).cloned().collect())
        };
        if let Some(start) = start.filter(|_| !keys.is_empty()) {
            let mut keys = keys;
            keys.sort_unstable();
            keys.dedup();
            self.locking.give_back(&local, start, keys).await;
        }
    }
}

/// A commit's outcome on its way. If nobody waits for it any more, the locks that a retry has kept
/// go: here if the outcome is there already, in the task that commits if it comes later.
struct Awaited {
    parts: Parts,
    runtime: Handle,
    /// The transaction, if it keeps its locks.
    kept: Option<TxnId>,
    outcome: oneshot::Receiver<Result<CommitOutcome>>,
}

impl Awaited {
    async fn outcome(mut self) -> Result<CommitOutcome> {
        let outcome = (&mut self.outcome).await.unwrap_or(Ok(CommitOutcome::Unknown));
        self.kept = None;
        outcome
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let Some(txn) = self.kept else { return };
        self.outcome.close();
        if let Ok(Ok(CommitOutcome::Retry(_))) = self.outcome.try_recv() {
            let _runtime = self.runtime.enter();
            drop(self.parts.release(txn));
        }
    }
}

/// Sets the flag when the one who waits for an answer goes away.
struct GiveUpOnDrop(Arc<AtomicBool>);

impl Drop for GiveUpOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Store for TikvStore {
    fn snapshot(&self) -> Answer<'_, Result<Arc<dyn Snapshot>>> {
        Answer::wait(async {
            self.check_running()?;
            let ts = self.parts.cluster().tso.now().await?;
            Ok(Arc::new(TikvSnapshot::new(self.parts.ground.clone(), ts)) as Arc<dyn Snapshot>)
        })
    }

    fn newest(&self) -> Option<Arc<dyn Snapshot>> {
        Some(Arc::new(TikvSnapshot::newest(self.parts.ground.clone())))
    }

    fn lock<'a>(
        &'a self,
        txn: TxnId,
        request: &'a LockRequest,
        since: &'a Arc<dyn Snapshot>,
        timeout: Option<Duration>,
    ) -> Answer<'a, Result<LockGrant>> {
        Answer::wait(async move {
            self.check_running()?;
            let parts = self.parts.clone();
            let given_up = GiveUpOnDrop(Arc::default());
            let until = timeout.map(|timeout| Instant::now() + timeout);
            let (request, since) = (request.clone(), since.clone());
            // Entered before the task runs, so that the transaction's end does not miss it.
            let local = parts.locking.locals.get_or_enter(txn);
            let work = parts.clone().lock_keys(local, request, since, until, given_up.0.clone());
            // A request that was sent is seen to its end, so that no lock is left behind.
            let done = parts.cluster().spawn(work).await;
            let stopped = |_| Error::Stopped("a task of the store has failed".into());
            done.map_err(stopped)?.map_err(|error| parts.strip_error(error))
        })
    }

    fn validate<'a>(
        &'a self,
        reads: &'a [ReadSegment],
        to: &'a Arc<dyn Snapshot>,
    ) -> Answer<'a, Result<Option<Conflict>>> {
        Answer::wait(async move {
            if !self.parts.cluster().options.validate {
                return Ok(None);
            }
            let proofs = proofs_of(reads, |_, _| false)?;
            let (ts, pushed) = (TikvSnapshot::of(to)?.ts, OldestPushed::default());
            let found = prove(&self.parts.ground, &proofs, ts, 0, &pushed).await;
            match found {
                Err(Error::SnapshotTooOld) => Ok(Some(Conflict::new(RetryReason::TooOld, None))),
                found => found,
            }
        })
    }

    fn commit(&self, request: CommitRequest) -> Answer<'_, Result<CommitOutcome>> {
        if let Err(error) = self.check_running() {
            drop(self.release(request.txn));
            return Answer::ready(Err(error));
        }
        let _runtime = self.runtime.enter();
        let (reply, outcome) = oneshot::channel();
        let kept = request.keep_locks.then_some(request.txn);
        let (parts, runtime) = (self.parts.clone(), self.runtime.clone());
        let awaited = Awaited { parts: parts.clone(), runtime, kept, outcome };
        self.parts.cluster().spawn(async move {
            let outcome = parts.clone().commit(request).await;
            if let (Err(Ok(CommitOutcome::Retry(_))), Some(txn)) = (reply.send(outcome), kept) {
                drop(parts.release(txn));
            }
        });
        Answer::wait(awaited.outcome())
    }

    fn release(&self, txn: TxnId) -> Answer<'_, ()> {
        let _runtime = self.runtime.enter();
        self.parts.release(txn)
    }

    fn prove_locks(&self, txn: TxnId) -> Option<Answer<'_, Result<Option<Conflict>>>> {
        let local = self.parts.locking.locals.get(txn)?;
        let (parts, _runtime) = (self.parts.clone(), self.runtime.enter());
        // A request that was sent is seen to its end, so that no lock is left behind.
        let work = self.parts.cluster().spawn(parts.prove_locks(local));
        let stopped = |_| Error::Stopped("a task of the store has failed".into());
        Some(Answer::wait(async move { work.await.map_err(stopped)? }))
    }

    fn has_lost_locks(&self, txn: TxnId) -> bool {
        self.parts.locking.locals.get(txn).is_some_and(|local| local.has_lost())
    }

    fn locks(&self) -> Vec<LockInfo> {
        self.parts.locking.locals.list(|key| self.parts.strip(key))
    }

    fn metrics(&self) -> StoreMetrics {
        let counters = &self.parts.locking.counters;
        let (held, waiters) = self.parts.locking.locals.sizes();
        StoreMetrics {
            commits: self.parts.outcomes.commits.load(Relaxed),
            conflicts: self.parts.outcomes.conflicts.load(Relaxed),
            commit_batch_sizes: Histogram::new(&COUNT_BOUNDS).read(),
            sync_nanos: Histogram::new(&TIME_BOUNDS).read(),
            lock_wait_nanos: counters.wait_nanos.read(),
            locks_held: held as u64,
            lock_waiters: waiters as u64,
            deadlocks: counters.deadlocks.load(Relaxed),
            ..StoreMetrics::default()
        }
    }

    /// TiKV locks keys, not gaps.
    fn locks_spans(&self) -> bool {
        false
    }

    fn garbage(&self) -> Option<&dyn Garbage> {
        self.collector.as_ref().map(|collector| collector as &dyn Garbage)
    }

    fn own_metrics(&self) -> Vec<StoreMetric> {
        let mut all = self.parts.cluster().metrics.read();
        all.push(StoreMetric {
            name: "braid_tikv_timestamp_wait_seconds",
            help: "Time that each caller has waited for a timestamp of PD.",
            label: None,
            value: StoreValue::Times(self.parts.cluster().tso.waits()),
        });
        all
    }

    fn trouble(&self) -> Option<String> {
        self.parts.cluster().trouble()
    }

    fn clock(&self) -> Option<StoreClock> {
        Some(StoreClock { logical_bits: LOGICAL_BITS })
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        Answer::wait(async {
            self.closed.store(true, Relaxed);
            let cluster = self.parts.cluster();
            cluster.finish_tasks().await;
            cluster.floor.close(cluster).await;
            Ok(())
        })
    }
}
