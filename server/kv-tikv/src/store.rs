//! The store itself: the kv contract over the parts.

use crate::{
    OpenError, TikvAddress, TikvOptions,
    cluster::{Cluster, Dialer, probe},
    commit::{self, CommitContext, proofs_of, prove},
    format,
    gc::{Collector, unregister},
    keyspace::Keyspace,
    locks::{
        LockManager, LockOptions, OldestPushed, RELEASE_WAIT, TransactionStart, TransactionState,
        heartbeat,
    },
    read::{ReadContext, TikvSnapshot},
    timestamp::LOGICAL_BITS,
};
use braid_kv::{
    Answer, COUNT_BOUNDS, CommitOutcome, CommitRequest, Conflict, Database, DatabaseOptions, Error,
    Garbage, Histogram, KeepLocks, Key, LockGrant, LockInfo, LockRequest, LockTarget, LockWait,
    ReadSegment, Result, RetryReason, SharedWait, Snapshot, Store, StoreClock, StoreMetric,
    StoreMetrics, StoreValue, TIME_BOUNDS, Timestamp, TxnId, Value,
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

/// Time limit for taking locks again that are kept through a retry.
const RELOCK_WAIT: Duration = Duration::from_secs(1);
/// How long opening is retried.
const OPEN_RETRY: Duration = Duration::from_secs(5);

/// The kv contract over a TiKV cluster. See the crate's documentation.
pub struct TikvStore {
    parts: StoreParts,
    /// Garbage collection of the data keyspace. The keyspace of the store itself needs none.
    collector: Option<Collector>,
    runtime: Handle,
    closed: AtomicBool,
}

/// What tasks take along.
#[derive(Clone)]
struct StoreParts {
    context: Arc<ReadContext>,
    lock_manager: LockManager,
    outcomes: Arc<OutcomeCounters>,
}

#[derive(Default)]
struct OutcomeCounters {
    commits: AtomicU64,
    conflicts: AtomicU64,
}

/// The options after the environment's `BRAID_UNSAFE_*` switches.
#[cfg(feature = "unsafe-switches")]
fn switched(mut options: TikvOptions) -> TikvOptions {
    if std::env::var_os("BRAID_UNSAFE_NO_VALIDATION").is_some_and(|value| value == "1") {
        tracing::warn!("BRAID_UNSAFE_NO_VALIDATION=1: nothing is serializable");
        options.validate = false;
    }
    options
}

impl TikvStore {
    /// Opens a database, or creates it if its keyspace is empty. A cluster that does not
    /// answer is an error after a few seconds; the caller may try again.
    ///
    /// A build with the feature `unsafe-switches` obeys `BRAID_UNSAFE_NO_VALIDATION=1` in the
    /// environment: reads are not validated, for the test that must see an anomaly.
    pub async fn open(
        address: &TikvAddress,
        options: TikvOptions,
    ) -> std::result::Result<TikvStore, OpenError> {
        #[cfg(feature = "unsafe-switches")]
        let options = switched(options);
        let dialer = Dialer::new(address.tls.as_ref())?;
        // A cluster that does not answer is reported soon, so that it can be tried again.
        let hasty = TikvOptions { retry_for: options.retry_for.min(OPEN_RETRY), ..options.clone() };
        TikvStore::check(address, dialer.clone(), hasty).await?;
        let cluster = Arc::new(Cluster::new(address.pd.clone(), dialer, options));
        cluster.pd.check().await?;
        let mut store = TikvStore::over(&cluster, Keyspace::data(&address.prefix));
        let registry = &store.parts.lock_manager.registry;
        tokio::spawn(heartbeat::run(Arc::downgrade(&cluster), Arc::downgrade(registry)));
        tokio::spawn(probe::run(
            Arc::downgrade(&cluster),
            Keyspace::meta(&address.prefix).key(format::KEY),
        ));
        let keyspace = Keyspace::data(&address.prefix);
        let collector = Collector::start(&cluster, registry, keyspace, address.gc_life_time).await;
        store.collector = Some(collector);
        Ok(store)
    }

    /// Whether the cluster and the data of the keyspace can be used.
    async fn check(
        address: &TikvAddress,
        dialer: Dialer,
        options: TikvOptions,
    ) -> std::result::Result<(), OpenError> {
        let cluster = Arc::new(Cluster::new(address.pd.clone(), dialer, options));
        cluster.pd.check().await?;
        let meta = TikvStore::over(&cluster, Keyspace::meta(&address.prefix));
        let meta = Database::new(Arc::new(meta), DatabaseOptions::default());
        format::check(&cluster, &meta, &address.prefix).await
    }

    /// A store for the keys under a prefix.
    fn over(cluster: &Arc<Cluster>, keyspace: Keyspace) -> TikvStore {
        let context = Arc::new(ReadContext::new(cluster.clone(), keyspace));
        let (registry, counters) = (Arc::default(), Arc::default());
        let lock_manager = LockManager { cluster: cluster.clone(), registry, counters };
        let parts = StoreParts { context, lock_manager, outcomes: Arc::default() };
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

impl StoreParts {
    fn cluster(&self) -> &Arc<Cluster> {
        &self.context.cluster
    }

    fn keyspace(&self) -> &Keyspace {
        &self.context.keyspace
    }

    async fn lock_keys(
        self,
        transaction: Arc<TransactionState>,
        request: LockRequest,
        since: Arc<dyn Snapshot>,
        until: Option<Instant>,
        cancelled: Arc<AtomicBool>,
    ) -> Result<LockGrant> {
        let keys = match &request.target {
            LockTarget::Keys(keys) => keys,
            LockTarget::Spans(spans) => {
                let n = spans.len();
                let spans = spans.iter().map(|span| (span.clone(), since.clone()));
                transaction.locks.lock().spans.extend(spans);
                let (granted, changed) = (vec![true; n], vec![false; n]);
                return Ok(LockGrant { granted, changed, values: Vec::new(), newest: since });
            }
        };
        let snapshot = TikvSnapshot::of(&since)?;
        let start = transaction.start(self.cluster(), Some(snapshot)).await?;
        let for_update_ts = snapshot.ts.max(start.ts);
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let options = LockOptions { wait: request.wait, until, for_update_ts, cancelled };
        let held = self.lock_manager.take(&transaction, start, sorted.clone(), &options).await;
        if transaction.ended.load(Relaxed) {
            // Ended while this was under way; who ended it may have come too early to see these.
            self.lock_manager.release(&transaction, start, sorted).await;
            return Err(Error::Finished);
        }
        let held = held?;
        let changed = self.changed_since(&transaction, &held, &since).await?;
        let newest = held.values().map(|held| held.for_update_ts).max().unwrap_or(0);
        let newest = match newest > snapshot.ts {
            true => Arc::new(TikvSnapshot::new(self.context.clone(), newest)) as Arc<dyn Snapshot>,
            false => since.clone(),
        };
        let values = keys.iter().filter(|_| request.values);
        let value = |key| held.get(key).and_then(|held| held.value.clone());
        Ok(LockGrant {
            granted: keys.iter().map(|key| held.contains_key(key)).collect(),
            changed: keys.iter().map(|key| changed.contains_key(key)).collect(),
            values: values.map(value).collect(),
            newest,
        })
    }

    /// Those of the locked keys whose value is another than the snapshot shows.
    async fn changed_since(
        &self,
        transaction: &TransactionState,
        held: &BTreeMap<Key, crate::locks::HeldLock>,
        since: &Arc<dyn Snapshot>,
    ) -> Result<BTreeMap<Key, ()>> {
        let snapshot = TikvSnapshot::of(since)?;
        let newer = held.iter().filter(|(_, held)| held.for_update_ts > snapshot.ts);
        let (keys, now): (Vec<Key>, Vec<Option<Value>>) =
            newer.map(|(key, held)| (key.clone(), held.value.clone())).unzip();
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let before = snapshot.read_many(&keys).await?;
        let mut changed = BTreeMap::new();
        for ((key, before), now) in keys.into_iter().zip(before).zip(now) {
            if before != now {
                changed.insert(key, ());
            } else if let Some(held) = transaction.locks.lock().held.get_mut(&key) {
                held.unchanged_since = held.unchanged_since.min(snapshot.ts);
            }
        }
        Ok(changed)
    }

    async fn commit(self, request: CommitRequest) -> Result<CommitOutcome> {
        let txn = request.txn;
        let kept = restarts(&request).then(|| self.locks_to_keep(&request));
        let (context, lock_manager) = (self.context.clone(), self.lock_manager.clone());
        let transaction = lock_manager.registry.get_or_enter(txn);
        let outcome =
            commit::commit(CommitContext { reads: context, lock_manager, transaction }, request)
                .await;
        self.lock_manager.registry.remove(txn);
        if let (Some(keys), Ok(CommitOutcome::Retry(_))) = (kept, &outcome) {
            self.relock(txn, keys).await;
        }
        match &outcome {
            Ok(CommitOutcome::Committed(_)) => self.outcomes.commits.fetch_add(1, Relaxed),
            Ok(CommitOutcome::Retry(_)) => self.outcomes.conflicts.fetch_add(1, Relaxed),
            Ok(CommitOutcome::Unknown) | Err(_) => 0,
        };
        match outcome {
            Err(Error::Retry(conflict)) => Ok(CommitOutcome::Retry(*conflict)),
            Err(Error::SnapshotTooOld) => {
                Ok(CommitOutcome::Retry(Conflict::new(RetryReason::TooOld, None)))
            }
            outcome => outcome,
        }
    }

    /// What the transaction has locked, and what it wants to write.
    fn locks_to_keep(&self, request: &CommitRequest) -> Vec<Key> {
        let transaction = self.lock_manager.registry.get_or_enter(request.txn);
        let mut keys: Vec<Key> = transaction.locks.lock().held.keys().cloned().collect();
        keys.extend(request.writes.iter().map(|(key, _)| key.to_vec()));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// A prewritten key cannot become a pessimistic lock again: the locks that are to stay are
    /// taken again, under a new timestamp. Locks that are not free soon are left.
    async fn relock(&self, txn: TxnId, keys: Vec<Key>) {
        let transaction = self.lock_manager.registry.get_or_enter(txn);
        let Ok(start) = transaction.start(self.cluster(), None).await else { return };
        let until = Some(Instant::now() + RELOCK_WAIT);
        let (wait, for_update_ts) = (LockWait::Block, start.ts);
        let options = LockOptions { wait, until, for_update_ts, cancelled: Arc::default() };
        if let Err(error) = self.lock_manager.take(&transaction, start, keys, &options).await {
            tracing::debug!(%error, "locks do not stay through a retry");
        }
    }

    /// Proves that all locks have been held since they were granted.
    async fn prove_locks(self, transaction: Arc<TransactionState>) -> Result<Option<Conflict>> {
        let (start, locks) = {
            let state = transaction.locks.lock();
            let locks = state.held.iter().map(|(key, held)| (key.clone(), held.for_update_ts));
            (state.start, locks.collect::<Vec<_>>())
        };
        let lost = |key: Option<Key>| Ok(Some(Conflict::new(RetryReason::LockLost, key)));
        let Some(start) = start.filter(|_| !transaction.has_lost()) else {
            return if transaction.has_lost() { lost(None) } else { Ok(None) };
        };
        let keys: Vec<Key> = locks.iter().map(|(key, _)| key.clone()).collect();
        let found = self.lock_manager.find_lost_lock(&transaction, start, locks).await;
        if transaction.ended.load(Relaxed) {
            // Ended while this was under way; who ended it may have come too early to see these.
            self.lock_manager.release(&transaction, start, keys).await;
            return Err(Error::Finished);
        }
        match found? {
            Some(key) => lost(Some(key)),
            None => Ok(None),
        }
    }

    /// Gives the locks back, in a task; the answer is there when they are gone, or after
    /// [`RELEASE_WAIT`].
    fn release(&self, txn: TxnId) -> Answer<'static, ()> {
        let Some(transaction) = self.lock_manager.registry.remove(txn) else {
            return Answer::ready(());
        };
        let work = self.cluster().spawn(self.clone().release_all(transaction));
        Answer::wait(async move {
            let _ = tokio::time::timeout(RELEASE_WAIT, work).await;
        })
    }

    async fn release_all(self, transaction: Arc<TransactionState>) {
        let (start, keys): (Option<TransactionStart>, Vec<Key>) = {
            let state = transaction.locks.lock();
            (state.start, state.held.keys().chain(&state.asked).cloned().collect())
        };
        if let Some(start) = start.filter(|_| !keys.is_empty()) {
            let mut keys = keys;
            keys.sort_unstable();
            keys.dedup();
            self.lock_manager.release(&transaction, start, keys).await;
        }
    }
}

/// A commit's outcome on its way. If nobody waits for it any more, the locks that a retry has kept
/// go: here if the outcome is there already, in the task that commits if it comes later.
struct PendingCommit {
    parts: StoreParts,
    runtime: Handle,
    /// The transaction, if it keeps its locks.
    kept: Option<TxnId>,
    outcome: oneshot::Receiver<Result<CommitOutcome>>,
}

impl PendingCommit {
    async fn outcome(mut self) -> Result<CommitOutcome> {
        let outcome = (&mut self.outcome).await.unwrap_or(Ok(CommitOutcome::Unknown));
        self.kept = None;
        outcome
    }
}

impl Drop for PendingCommit {
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

/// Whether the transaction begins again with its locks after a retry. Locks that stay for longer
/// are not asked of a store that cannot prepare.
fn restarts(request: &CommitRequest) -> bool {
    request.keep_locks == KeepLocks::AfterRetry
}

impl Store for TikvStore {
    fn snapshot(&self) -> Answer<'_, Result<Arc<dyn Snapshot>>> {
        Answer::wait(async {
            self.check_running()?;
            let ts = self.parts.cluster().tso.now().await?;
            Ok(Arc::new(TikvSnapshot::new(self.parts.context.clone(), ts)) as Arc<dyn Snapshot>)
        })
    }

    fn newest(&self) -> Option<Arc<dyn Snapshot>> {
        Some(Arc::new(TikvSnapshot::newest(self.parts.context.clone())))
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
            let cancelled = GiveUpOnDrop(Arc::default());
            let until = timeout.map(|timeout| Instant::now() + timeout);
            let (request, since) = (parts.keyspace().lock_request(request), since.clone());
            // Entered before the task runs, so that the transaction's end does not miss it.
            let transaction = parts.lock_manager.registry.get_or_enter(txn);
            let work =
                parts.clone().lock_keys(transaction, request, since, until, cancelled.0.clone());
            // A request that was sent is completed, so that no lock remains.
            let done = parts.cluster().spawn(work).await;
            let stopped = |_| Error::Stopped("a task of the store has failed".into());
            done.map_err(stopped)?.map_err(|error| parts.keyspace().contract_error(error))
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
            let keyspace = self.parts.keyspace();
            let proofs = proofs_of(&keyspace.reads(reads), |_, _| false)?;
            let (ts, pushed) = (TikvSnapshot::of(to)?.ts, OldestPushed::default());
            let found = prove(&self.parts.context, &proofs, ts, 0, &pushed).await;
            match found {
                Err(Error::SnapshotTooOld) => Ok(Some(Conflict::new(RetryReason::TooOld, None))),
                found => Ok(found?.map(|conflict| keyspace.contract_conflict(conflict))),
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
        let kept = restarts(&request).then_some(request.txn);
        let (parts, runtime) = (self.parts.clone(), self.runtime.clone());
        let awaited = PendingCommit { parts: parts.clone(), runtime, kept, outcome };
        self.parts.cluster().spawn(async move {
            let request = parts.keyspace().commit_request(request);
            let outcome = parts.clone().commit(request).await;
            let keyspace = parts.keyspace();
            let outcome = outcome
                .map(|outcome| keyspace.contract_outcome(outcome))
                .map_err(|error| keyspace.contract_error(error));
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
        let transaction = self.parts.lock_manager.registry.get(txn)?;
        let (parts, _runtime) = (self.parts.clone(), self.runtime.enter());
        // A request that was sent is completed, so that no lock remains.
        let work = self.parts.cluster().spawn(parts.prove_locks(transaction));
        let stopped = |_| Error::Stopped("a task of the store has failed".into());
        Some(Answer::wait(async move {
            let keyspace = self.parts.keyspace();
            match work.await.map_err(stopped)? {
                Ok(lost) => Ok(lost.map(|conflict| keyspace.contract_conflict(conflict))),
                Err(error) => Err(keyspace.contract_error(error)),
            }
        }))
    }

    fn has_lost_locks(&self, txn: TxnId) -> bool {
        self.parts.lock_manager.registry.get(txn).is_some_and(|transaction| transaction.has_lost())
    }

    fn locks(&self) -> Vec<LockInfo> {
        self.parts.lock_manager.registry.list(|key| self.parts.keyspace().contract_key(key))
    }

    fn shared_waits(&self) -> Vec<SharedWait> {
        self.parts.lock_manager.registry.waits(|key| self.parts.keyspace().contract_key(key))
    }

    fn shared_number(&self, txn: TxnId) -> Option<Timestamp> {
        let transaction = self.parts.lock_manager.registry.get(txn)?;
        let start = transaction.locks.lock().start?;
        Some(Timestamp(start.ts))
    }

    fn metrics(&self) -> StoreMetrics {
        let counters = &self.parts.lock_manager.counters;
        let (held, waiters) = self.parts.lock_manager.registry.sizes();
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
            unregister(cluster).await;
            Ok(())
        })
    }
}
