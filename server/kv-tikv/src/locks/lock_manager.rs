//! Pessimistic locks: they come with the newest value, in one round trip if nobody is in the way.
//!
//! ```text
//!   keys by region ──▶ all at once, not waiting ──▶ all granted: done
//!                                                └▶ else release what comes after the first that
//!                                                   was refused, then wait in key order
//! ```
//!
//! The first key that a transaction locks is its primary, to which all of its locks refer. Requests
//! that come while that lock is on its way go beside it without waiting, and count if it is granted
//! at once; else they are released before it is waited for, and asked for when it is decided.
//!
//! Only the second way waits while something is held, and it does so in key order; so two requests
//! of one key set do not deadlock. A store lets a request wait at most for a second: it is queued
//! again until the lock timeout. TiKV wakes waiters by their age, not by arrival, and the victim of
//! a deadlock is the request that closes the circle.
//!
//! Locks on spans do not exist here, and shared locks are taken as exclusive ones.

use super::{
    transaction_registry::{
        HeldLock, TransactionRegistry, TransactionStart, TransactionState, Wait,
    },
    transaction_status::{TransactionStatus, unexpected},
};
use crate::cluster::{Backoff, Cluster, Request, RequestOptions};
use braid_kv::{
    DeadlockEdge, Error, Key, LockStrength, LockWait, Result, RetryReason, TxnId, Value,
};
use braid_tikv_proto::kvrpcpb::{
    self, KeyError, Mutation, Op, PessimisticLockRequest, PessimisticRollbackRequest,
};
use futures_util::future::join_all;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// A store is asked to wait no longer than this, which is also its own limit.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// How long the end of a transaction waits for the release of its locks. Later the release goes on
/// in the background.
pub(crate) const RELEASE_WAIT: Duration = Duration::from_secs(2);
/// NOWAIT and SKIP LOCKED still wait this long for an async commit to clear its locks: the commit
/// may be acknowledged already.
const ASYNC_COMMIT_WAIT: Duration = Duration::from_millis(200);
/// How long locks granted alongside the primary lock are held while the primary is undecided.
const PRIMARY_LOCK_WAIT: Duration = Duration::from_secs(1);
/// Shorter waits for a lock are not counted.
const COUNTED_WAIT_MIN: Duration = Duration::from_millis(20);
/// The protocol's value for "do not wait".
const NO_WAIT: i64 = -1;

/// Options of a request for locks.
#[derive(Clone, Debug)]
pub(crate) struct LockOptions {
    pub wait: LockWait,
    /// The time limit.
    pub until: Option<Instant>,
    /// Versions above this are a conflict, which is met with a newer timestamp.
    pub for_update_ts: u64,
    /// Nobody waits for the answer any more.
    pub cancelled: Arc<AtomicBool>,
}

/// Counters of the locks.
#[derive(Default)]
pub(crate) struct LockCounters {
    pub deadlocks: AtomicU64,
    pub wait_nanos: braid_kv::Histogram,
}

/// Everything that a lock request needs.
#[derive(Clone)]
pub(crate) struct LockManager {
    pub cluster: Arc<Cluster>,
    pub registry: Arc<TransactionRegistry>,
    pub counters: Arc<LockCounters>,
}

/// One region's reply to a request for locks.
enum LockReply {
    Granted(Vec<(Key, HeldLock)>),
    /// Somebody holds one of the keys.
    Locked(kvrpcpb::LockInfo),
}

impl LockManager {
    /// Locks keys that are sorted and unique. With SKIP LOCKED some may be missing in the answer.
    ///
    /// Keys that are held already are not asked for again. Such a request would get a lost lock
    /// back with a newer value, and nobody would notice the gap.
    pub(crate) async fn take(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: Vec<Key>,
        options: &LockOptions,
    ) -> Result<BTreeMap<Key, HeldLock>> {
        transaction.check_running()?;
        let (mut held, mut missing, mut is_requested) = (BTreeMap::new(), Vec::new(), false);
        {
            let state = transaction.locks.lock();
            for key in keys {
                match state.held.get(&key) {
                    Some(own) => drop(held.insert(key, own.clone())),
                    None => {
                        is_requested |= state.asked.contains(&key);
                        missing.push(key);
                    }
                }
            }
        }
        if missing.is_empty() {
            return Ok(held);
        }
        let mut options = options.clone();
        if is_requested {
            // The lock may be there already, under a timestamp of a request without an answer. An
            // older timestamp would bring the value of then.
            options.for_update_ts = self.cluster.tso.now().await?;
        }
        held.extend(self.lock_missing(transaction, start, missing, &options).await?);
        let newest = held.values().map(|held| held.for_update_ts).max().unwrap_or(0);
        if newest > options.for_update_ts {
            // Somebody was waited for. What was locked before must not have changed meanwhile.
            let older = held.iter().filter(|(_, held)| held.for_update_ts < newest);
            let older = older.map(|(key, held)| (key.clone(), held.for_update_ts)).collect();
            if let Some(lost) = self.find_lost_lock(transaction, start, older).await? {
                return Err(Error::retry(RetryReason::LockLost, Some(lost)));
            }
        }
        Ok(held)
    }

    /// Locks keys that are not held.
    async fn lock_missing(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: Vec<Key>,
        options: &LockOptions,
    ) -> Result<BTreeMap<Key, HeldLock>> {
        if let Some(granted) =
            self.lock_alongside_primary(transaction, start, &keys, options).await?
        {
            return Ok(granted);
        }
        let guard = transaction.first.lock().await;
        transaction.check_running()?;
        let has_primary = {
            let mut state = transaction.locks.lock();
            let has_primary = state.primary.is_some();
            state.primary.get_or_insert_with(|| keys[0].clone());
            state.asked.extend(keys.iter().cloned());
            has_primary
        };
        // Nobody waits for a lock before the first request is done: there may be no primary yet.
        let guard = (!has_primary).then_some(guard);
        let result = match options.wait {
            LockWait::SkipLocked => {
                self.lock_free_keys(transaction, start, keys.clone(), options).await
            }
            LockWait::Block | LockWait::NoWait => {
                self.lock_all_keys(transaction, start, keys.clone(), options, !has_primary).await
            }
        };
        if !has_primary {
            transaction.primary_is_decided();
        }
        if guard.is_some() {
            let primary_held = transaction.locks.lock().held.contains_key(&keys[0]);
            if !primary_held {
                // Without a primary nothing else may stay: its locks would refer to nothing.
                let others = std::mem::take(&mut transaction.locks.lock().held);
                self.release(transaction, start, keys).await;
                transaction.locks.lock().primary = None;
                if result.is_ok() && !others.is_empty() {
                    // The first key was skipped: take the rest again, under another primary.
                    drop(guard);
                    let rest = others.into_keys().collect();
                    return Box::pin(self.lock_missing(transaction, start, rest, options)).await;
                }
            }
        }
        result
    }

    /// All keys, while the first request of the transaction is under way; `None` if there is none,
    /// if it fails or takes long, or if one of the keys is not free.
    async fn lock_alongside_primary(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: &[Key],
        options: &LockOptions,
    ) -> Result<Option<BTreeMap<Key, HeldLock>>> {
        let is_primary = |primary: &Key| {
            let state = transaction.locks.lock();
            (state.primary.as_ref() == Some(primary)).then(|| state.held.contains_key(primary))
        };
        let primary = transaction.locks.lock().primary.clone();
        let under_way = primary.filter(|primary| is_primary(primary) == Some(false));
        let Some(primary) = under_way.filter(|_| options.wait != LockWait::SkipLocked) else {
            return Ok(None);
        };
        transaction.check_running()?;
        let Some(_beside) = transaction.begin_concurrent() else { return Ok(None) };
        transaction.locks.lock().asked.extend(keys.iter().cloned());
        let groups = self.cluster.by_region(keys.to_vec()).await?;
        let at_once = groups.iter().map(|(_, keys)| {
            self.try_lock(transaction, start, keys.clone(), NO_WAIT, options.for_update_ts)
        });
        let mut granted = BTreeMap::new();
        let mut are_all = true;
        let mut failed = None;
        for said in join_all(at_once).await {
            match said {
                Ok(LockReply::Granted(held)) => granted.extend(held),
                Ok(LockReply::Locked(_)) => are_all = false,
                Err(error) => failed = Some(error),
            }
        }
        let first = tokio::select! {
            first = transaction.first.lock() => Some(first),
            () = transaction.until_primary_waits() => None,
            () = tokio::time::sleep(PRIMARY_LOCK_WAIT) => None,
        };
        let counts = first.is_some() && is_primary(&primary) == Some(true);
        if counts && are_all && failed.is_none() {
            self.keep(transaction, &granted)?;
            return Ok(Some(granted));
        }
        drop(first);
        let before = |key: &Key| transaction.locks.lock().held.contains_key(key);
        let back: Vec<Key> = granted.into_keys().filter(|key| !before(key)).collect();
        if !back.is_empty() {
            self.release(transaction, start, back).await;
        }
        failed.map_or(Ok(None), Err)
    }

    /// All keys or none of those that were not locked before.
    async fn lock_all_keys(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: Vec<Key>,
        options: &LockOptions,
        is_first: bool,
    ) -> Result<BTreeMap<Key, HeldLock>> {
        let mut granted = BTreeMap::new();
        let mut groups = self.cluster.by_region(keys).await?;
        if groups.len() > 1 || is_first {
            let at_once = groups.iter().map(|(_, keys)| {
                self.try_lock(transaction, start, keys.clone(), NO_WAIT, options.for_update_ts)
            });
            let said = join_all(at_once).await;
            let refused = said.iter().position(|said| !matches!(said, Ok(LockReply::Granted(_))));
            let rest = refused.unwrap_or(groups.len());
            let mut behind = Vec::new();
            for (i, said) in said.into_iter().enumerate() {
                match said {
                    Ok(LockReply::Granted(held)) if i < rest => granted.extend(held),
                    Ok(LockReply::Granted(held)) => {
                        behind.extend(held.into_iter().map(|(key, _)| key))
                    }
                    Ok(LockReply::Locked(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            let before = |key: &Key| transaction.locks.lock().held.contains_key(key);
            behind.retain(|key| !before(key));
            if !behind.is_empty() {
                self.release(transaction, start, behind).await;
            }
            self.keep(transaction, &granted)?;
            groups.drain(..rest);
        }
        if is_first && !groups.is_empty() {
            transaction.primary_waits().await;
        }
        for (_, keys) in groups {
            let held = self.wait_for_locks(transaction, start, keys, options).await?;
            self.keep(transaction, &held)?;
            granted.extend(held);
        }
        Ok(granted)
    }

    /// Those keys that nobody else holds.
    async fn lock_free_keys(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: Vec<Key>,
        options: &LockOptions,
    ) -> Result<BTreeMap<Key, HeldLock>> {
        let mut granted = BTreeMap::new();
        let mut singles = Vec::new();
        for (_, keys) in self.cluster.by_region(keys).await? {
            let said = self
                .try_lock(transaction, start, keys.clone(), NO_WAIT, options.for_update_ts)
                .await?;
            match said {
                LockReply::Granted(held) => granted.extend(held),
                LockReply::Locked(_) => singles.extend(keys),
            }
        }
        let options = LockOptions { wait: LockWait::NoWait, ..options.clone() };
        let one_by_one = singles
            .into_iter()
            .map(|key| self.wait_for_locks(transaction, start, vec![key], &options));
        for held in join_all(one_by_one).await {
            match held {
                Ok(held) => granted.extend(held),
                Err(Error::LockNotAvailable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.keep(transaction, &granted)?;
        Ok(granted)
    }

    fn keep(&self, transaction: &TransactionState, held: &BTreeMap<Key, HeldLock>) -> Result<()> {
        let mut state = transaction.locks.lock();
        for (key, held) in held {
            state.asked.remove(key);
            let kept = state.held.entry(key.clone()).or_insert_with(|| held.clone());
            kept.for_update_ts = kept.for_update_ts.max(held.for_update_ts);
            if kept.value != held.value {
                // Two requests side by side have both got the lock: it was lost between them.
                transaction.lose();
            }
        }
        drop(state);
        transaction.check_running()
    }

    /// Keys of one region, waited for.
    async fn wait_for_locks(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: Vec<Key>,
        options: &LockOptions,
    ) -> Result<BTreeMap<Key, HeldLock>> {
        let mut for_update_ts = options.for_update_ts;
        let blocks = options.wait == LockWait::Block;
        let mut in_flight = Backoff::new(ASYNC_COMMIT_WAIT);
        let mut waiting =
            blocks.then(|| Waiting::new(transaction, keys[0].clone(), &self.counters));
        loop {
            transaction.check_running()?;
            if options.cancelled.load(Relaxed) {
                return Err(Error::Cancelled);
            }
            let left = options.until.map(|until| until.saturating_duration_since(Instant::now()));
            let wait = match options.wait {
                LockWait::Block => left.unwrap_or(WAIT_MAX).min(WAIT_MAX),
                LockWait::NoWait | LockWait::SkipLocked => Duration::ZERO,
            };
            let wait_ms = if wait.is_zero() { NO_WAIT } else { wait.as_millis().max(1) as i64 };
            let said =
                self.try_lock(transaction, start, keys.clone(), wait_ms, for_update_ts).await?;
            let lock = match said {
                LockReply::Granted(held) => return Ok(held.into_iter().collect()),
                LockReply::Locked(lock) => lock,
            };
            let key = lock.key.to_vec();
            let status = self.cluster.transaction_status(&lock, 0).await?;
            if matches!(status, TransactionStatus::Committed(_) | TransactionStatus::RolledBack) {
                self.cluster.clear(&[lock], status).await?;
                for_update_ts = self.cluster.tso.now().await?;
                continue;
            }
            match options.wait {
                LockWait::NoWait | LockWait::SkipLocked => {
                    if lock.use_async_commit && in_flight.blink().await {
                        continue;
                    }
                    return Err(Error::LockNotAvailable { key });
                }
                LockWait::Block if left.is_some_and(|left| left.is_zero()) => {
                    return Err(Error::LockTimeout { key });
                }
                LockWait::Block => {}
            }
            if waiting.as_ref().is_none_or(|waiting| waiting.key != key) {
                waiting = Some(Waiting::new(transaction, key, &self.counters));
            }
            if let Some(waiting) = &waiting {
                waiting.note_holder(lock.lock_version);
            }
        }
    }

    /// One request for the keys of one region, which are locked all or not at all. Newer versions
    /// are met with a newer timestamp here.
    async fn try_lock(
        &self,
        transaction: &Arc<TransactionState>,
        start: TransactionStart,
        keys: Vec<Key>,
        wait_ms: i64,
        mut for_update_ts: u64,
    ) -> Result<LockReply> {
        let cluster = &self.cluster;
        let primary = transaction.locks.lock().primary.clone().unwrap_or_else(|| keys[0].clone());
        loop {
            let make = |keys: &[Key]| PessimisticLockRequest {
                wait_timeout: wait_ms,
                return_values: true,
                ..self.lock_request(keys, &primary, start, for_update_ts)
            };
            // A region that is split meanwhile makes several answers of one.
            let answers = cluster.at_all(keys.clone(), &RequestOptions::default(), make).await?;
            let mut granted = Vec::with_capacity(keys.len());
            let mut failed = None;
            for (asked, answer) in answers {
                match answer.errors.into_iter().next() {
                    Some(error) => failed = Some(error),
                    None => granted.extend(held_locks(
                        asked,
                        for_update_ts,
                        answer.values,
                        &answer.not_founds,
                    )),
                }
            }
            let Some(error) = failed else { return Ok(LockReply::Granted(granted)) };
            if !granted.is_empty() {
                self.release(transaction, start, granted.into_iter().map(|(key, _)| key).collect())
                    .await;
            }
            if let Some(lock) = error.locked {
                return Ok(LockReply::Locked(lock));
            }
            if error.conflict.is_none() {
                return Err(self.lock_error(transaction, &error));
            }
            for_update_ts = cluster.tso.now().await?;
        }
    }

    /// A request for a lock that neither waits nor brings values.
    pub(crate) fn lock_request(
        &self,
        keys: &[Key],
        primary: &[u8],
        start: TransactionStart,
        for_update_ts: u64,
    ) -> PessimisticLockRequest {
        PessimisticLockRequest {
            mutations: keys.iter().map(|key| lock_mutation(key)).collect(),
            primary_lock: Value::copy_from_slice(primary),
            start_version: start.ts,
            lock_ttl: start.ttl_ms(self.cluster.options.lock_ttl),
            for_update_ts,
            wait_timeout: NO_WAIT,
            min_commit_ts: for_update_ts + 1,
            ..PessimisticLockRequest::default()
        }
    }

    /// What a lock request may fail with for good.
    fn lock_error(&self, transaction: &TransactionState, error: &KeyError) -> Error {
        let id = transaction.id;
        if let Some(deadlock) = &error.deadlock {
            self.counters.deadlocks.fetch_add(1, Relaxed);
            let txn = |ts: u64| self.registry.id_of(ts).unwrap_or(TxnId(ts));
            let edge = |entry: &braid_tikv_proto::deadlock::WaitForEntry| DeadlockEdge {
                waiter: txn(entry.txn),
                holder: txn(entry.wait_for_txn),
                key: entry.key.to_vec(),
                strength: LockStrength::Exclusive,
            };
            let mut cycle: Vec<DeadlockEdge> = deadlock.wait_chain.iter().map(edge).collect();
            if cycle.is_empty() {
                cycle.push(DeadlockEdge {
                    waiter: id,
                    holder: txn(deadlock.lock_ts),
                    key: deadlock.lock_key.to_vec(),
                    strength: LockStrength::Exclusive,
                });
            }
            if let Some(at) = cycle.iter().position(|edge| edge.waiter == id) {
                cycle.rotate_left(at);
            }
            return Error::Deadlock { cycle: cycle.into() };
        }
        tracing::debug!(?error, "a lock was refused");
        match error.abort.is_empty() && error.retryable.is_empty() {
            true => unexpected("a lock", error),
            // Somebody has rolled the transaction back: its time was over.
            false => {
                transaction.lose();
                Error::retry(RetryReason::LockLost, None)
            }
        }
    }

    /// Releases locks that are not needed. A lock whose release fails ends with its time to live.
    pub(crate) async fn release(
        &self,
        transaction: &TransactionState,
        start: TransactionStart,
        keys: Vec<Key>,
    ) {
        let make = |keys: &[Key]| PessimisticRollbackRequest {
            start_version: start.ts,
            for_update_ts: u64::MAX,
            keys: keys.iter().map(|key| key.clone().into()).collect(),
            ..PessimisticRollbackRequest::default()
        };
        {
            let mut state = transaction.locks.lock();
            for key in &keys {
                state.held.remove(key);
                state.asked.remove(key);
            }
        }
        let back = self.cluster.at_all(keys, &RequestOptions::default(), make).await;
        if let Err(error) = back {
            tracing::warn!(%error, "{} failed", PessimisticRollbackRequest::NAME);
        }
    }
}

fn lock_mutation(key: &[u8]) -> Mutation {
    let key = Value::copy_from_slice(key);
    Mutation { op: Op::PessimisticLock.into(), key, ..Mutation::default() }
}

fn held_locks(
    keys: Vec<Key>,
    for_update_ts: u64,
    values: Vec<Value>,
    not_founds: &[bool],
) -> Vec<(Key, HeldLock)> {
    let values = values.into_iter().enumerate();
    let value = |(i, value): (usize, Value)| {
        let missing = not_founds.get(i).copied().unwrap_or(value.is_empty());
        (!missing).then_some(value)
    };
    let held = |value| HeldLock { for_update_ts, unchanged_since: for_update_ts, value };
    keys.into_iter().zip(values.map(value).map(held)).collect()
}

/// Shows a wait while it lasts, and counts its time.
struct Waiting<'a> {
    transaction: &'a TransactionState,
    key: Key,
    since: Instant,
    counters: &'a LockCounters,
}

impl<'a> Waiting<'a> {
    fn new(transaction: &'a TransactionState, key: Key, counters: &'a LockCounters) -> Waiting<'a> {
        let since = Instant::now();
        transaction.locks.lock().waits.insert(key.clone(), Wait { since, holder: None });
        Waiting { transaction, key, since, counters }
    }

    fn note_holder(&self, start_ts: u64) {
        if let Some(wait) = self.transaction.locks.lock().waits.get_mut(&self.key) {
            wait.holder = Some(start_ts);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.transaction.locks.lock().waits.remove(&self.key);
        let waited = self.since.elapsed();
        if waited > COUNTED_WAIT_MIN {
            let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
            self.counters.wait_nanos.observe(nanos);
        }
    }
}
