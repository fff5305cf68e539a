//! Prewrite: every region at once, each until it is done or has failed for good.
//!
//! A prewrite that meets a living lock takes a pessimistic lock on the key instead: TiKV's lock
//! manager then queues it and finds deadlocks, which it does not for prewrites. A key that was
//! written since the transaction began is locked too: only a lock at a newer timestamp permits the
//! write.
//!
//! A key that the transaction believes to hold is different: what it writes may have been computed
//! from the value that came with the lock. If TiKV does not have that very lock any more, others
//! may have changed the value, and the whole transaction has to run again. The key is never locked
//! again for the same value.
//!
//! Readers cannot push an asynchronous commit, so its prewritten keys block them. A commit that has
//! to wait for a lock therefore stops being asynchronous. If the client holds no locks, the commit
//! is rolled back and restarts with its locks first. Otherwise it goes on in two phases; its
//! primary says so (`TWO_PHASES`), and readers may push it.

use super::{
    context::{CommitContext, CommitFailure},
    plan::{Change, Kind, Plan},
};
use crate::{
    cluster::{Backoff, Region, RequestOptions, RpcFailure},
    locks::{HeldLock, LockOptions, TransactionStart, TransactionStatus, heartbeat, unexpected},
    metrics::RetryCause,
};
use braid_kv::{CommitFence, Conflict, Error, Key, LockWait, RetryReason, Value};
use braid_tikv_proto::kvrpcpb::{
    KeyError, LockInfo, Mutation, Op, PrewriteRequest,
    prewrite_request::{ForUpdateTsConstraint, PessimisticAction},
    write_conflict::Reason,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{
    collections::{BTreeMap, VecDeque},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Most keys of an asynchronous commit, whose primary lists its secondaries.
const ASYNC_KEYS_MAX: usize = 256;
/// Most bytes of those keys.
const ASYNC_BYTES_MAX: usize = 4096;
/// Prewrites of an asynchronous commit that took longer than this part of a lock's time to live do
/// not decide by themselves: meanwhile others may have rolled the primary back, and a late prewrite
/// without a check of its key would not notice.
const SLOW_PART: u32 = 3;
/// How long a prewrite waits for a lock before it unblocks readers. Most locks are of commits in
/// flight.
const READER_GRACE: Duration = Duration::from_millis(30);

/// What the prewrites of all regions have come to.
pub(super) enum Prewritten {
    /// In one phase, committed at this timestamp.
    Committed(u64),
    /// All locks of an asynchronous commit are there: it is committed at this timestamp.
    Async(u64),
    /// The same, but slow: the primary has to confirm it.
    SlowAsync(u64),
    /// The locks are there; two phases, at this timestamp or above: one of the locks may allow no
    /// earlier one.
    Locked(u64),
}

/// How the transaction is to be committed, if the stores agree.
#[derive(Clone, Copy)]
struct Mode {
    asynchronous: bool,
    one_phase: bool,
}

/// What one region's prewrite has come to.
enum Done {
    Prewritten {
        min_commit_ts: u64,
        one_pc_commit_ts: u64,
    },
    /// The region is not there any more, or was too slow: the changes go to other regions, or in
    /// smaller parts.
    Moved {
        changes: Vec<Change>,
        again: bool,
        backoff: Backoff,
        keys_max: usize,
    },
    Failed(CommitFailure),
}

/// The prewrite of one transaction.
pub(super) struct Prewrite<'a> {
    pub context: &'a CommitContext,
    pub plan: &'a Plan,
    pub start: TransactionStart,
    pub primary: Key,
    /// Some lock was held before: then every request is a pessimistic one.
    pub pessimistic: bool,
    /// No client holds a lock of it: a restart is not noticed.
    pub may_restart: bool,
    pub until: Option<Instant>,
    /// One region has failed: the others need not wait for locks.
    pub stop: AtomicBool,
    /// Some request may have been carried out without an answer.
    pub in_doubt: AtomicBool,
    pub one_trip: bool,
    /// Locks of an asynchronous commit are there, which readers cannot push.
    pub stands: AtomicBool,
    /// The primary is one of them.
    pub primary_stands: AtomicBool,
    /// Before which the commit has to take place. Its timestamp is the stores' choice if it takes
    /// one trip.
    pub fence: Option<&'a dyn CommitFence>,
}

impl Prewrite<'_> {
    pub(super) async fn run(&self) -> Result<Prewritten, CommitFailure> {
        let bytes: usize = self.plan.changes.iter().map(|change| change.key.len()).sum();
        let few = self.plan.changes.len() <= ASYNC_KEYS_MAX && bytes <= ASYNC_BYTES_MAX;
        let cluster = self.context.cluster();
        let groups = cluster.by_region(self.plan.changes.clone()).await?;
        cluster.metrics.regions(groups.len());
        let mode = Mode {
            asynchronous: self.one_trip && few,
            one_phase: self.one_trip && groups.len() == 1,
        };
        let began = Instant::now();
        let mut running = FuturesUnordered::new();
        let mut waiting: VecDeque<_> = groups.into();
        let mut keys_sent = 0;
        let mut failed: Option<CommitFailure> = None;
        let (mut all_async, mut commit_ts, mut one_pc) = (mode.asynchronous, 0, 0);
        loop {
            while let Some((region, changes)) = cluster.next_part(&mut waiting, keys_sent) {
                keys_sent += changes.len();
                running.push(self.region(region, changes, mode, false, cluster.backoff()));
            }
            let Some((keys, done)) = running.next().await else { break };
            keys_sent -= keys;
            match done {
                Done::Prewritten { min_commit_ts, one_pc_commit_ts } => {
                    all_async &= min_commit_ts > 0;
                    commit_ts = commit_ts.max(min_commit_ts);
                    one_pc = one_pc.max(one_pc_commit_ts);
                }
                Done::Failed(end) => {
                    self.stop.store(true, Relaxed);
                    failed = Some(CommitFailure::first(failed, end));
                }
                Done::Moved { changes, again, backoff, keys_max } => {
                    match cluster.parts(changes, keys_max).await {
                        Err(error) => {
                            self.stop.store(true, Relaxed);
                            failed = Some(CommitFailure::first(failed, error.into()));
                        }
                        Ok(parts) => {
                            for (region, changes) in parts {
                                let backoff = backoff.clone();
                                keys_sent += changes.len();
                                running.push(self.region(region, changes, mode, again, backoff));
                            }
                        }
                    }
                }
            }
        }
        let is_slow = || began.elapsed() * SLOW_PART > cluster.options.lock_ttl;
        match failed {
            Some(end) => Err(end),
            None if one_pc > 0 => Ok(Prewritten::Committed(one_pc)),
            None if !all_async => Ok(Prewritten::Locked(commit_ts)),
            // Others decide by all locks together, also if it was to go on in two phases.
            None if self.is_two_phase() || is_slow() => Ok(Prewritten::SlowAsync(commit_ts)),
            None => Ok(Prewritten::Async(commit_ts)),
        }
    }

    /// One region, until it is prewritten, or is another region, or has failed; with the number of
    /// its changes.
    async fn region(
        &self,
        region: Arc<Region>,
        changes: Vec<Change>,
        mode: Mode,
        again: bool,
        backoff: Backoff,
    ) -> (usize, Done) {
        (changes.len(), self.prewrite(region, changes, mode, again, backoff).await)
    }

    async fn prewrite(
        &self,
        region: Arc<Region>,
        changes: Vec<Change>,
        mode: Mode,
        again: bool,
        mut backoff: Backoff,
    ) -> Done {
        let cluster = self.context.cluster();
        let mut options = RequestOptions { again, ..RequestOptions::default() };
        loop {
            if self.stop.load(Relaxed) {
                return Done::Failed(CommitFailure::Stopped);
            }
            let request = self.request(&changes, mode);
            let is_async = request.use_async_commit;
            let sent = Instant::now();
            let answer = cluster.try_at(&region, request, &options).await;
            cluster.flow_control.record_answer(changes.len(), sent.elapsed());
            let answer = match answer {
                Ok(answer) => answer,
                Err(failure) => {
                    options.again |= failure.in_doubt();
                    self.in_doubt.fetch_or(failure.in_doubt(), Relaxed);
                    if let RpcFailure::Region(error) = &failure
                        && error.max_timestamp_not_synced.is_some()
                    {
                        tracing::debug!("a new leader does not know the highest timestamp yet");
                    }
                    let keys_max = failure.keys_max_after(changes.len(), &cluster.flow_control);
                    match cluster.recover::<PrewriteRequest>(&region, failure, &mut backoff).await {
                        Ok(()) => {
                            let again = options.again;
                            return Done::Moved { changes, again, backoff, keys_max };
                        }
                        Err(error) => return Done::Failed(CommitFailure::Error(error)),
                    }
                }
            };
            if answer.errors.is_empty() {
                let (min_commit_ts, one_pc_commit_ts) =
                    (answer.min_commit_ts, answer.one_pc_commit_ts);
                if is_async && min_commit_ts > 0 {
                    let has_primary = changes.iter().any(|change| change.key == self.primary);
                    self.stands.store(true, Relaxed);
                    self.primary_stands.fetch_or(has_primary, Relaxed);
                    if has_primary && self.is_two_phase() {
                        self.announce_two_phases().await;
                    }
                }
                return Done::Prewritten { min_commit_ts, one_pc_commit_ts };
            }
            if let Err(end) = self.handle_errors(&answer.errors, &changes).await {
                return Done::Failed(end);
            }
            // What was waited for is not the region's fault.
            backoff = cluster.backoff();
        }
    }

    fn request(&self, changes: &[Change], mode: Mode) -> PrewriteRequest {
        let state = self.context.transaction.locks.lock();
        let held = &state.held;
        let pessimistic = self.pessimistic || !held.is_empty();
        let newest = held.values().map(|held| held.for_update_ts).max().unwrap_or(0);
        let for_update_ts = if pessimistic { newest.max(self.start.ts) } else { 0 };
        let cluster = self.context.cluster();
        let asynchronous = mode.asynchronous && !state.two_phases;
        // Only in one piece: a part that commits alone would tear the transaction.
        let one_phase = mode.one_phase && changes.len() == self.plan.changes.len();
        let (mutations, actions): (Vec<_>, Vec<_>) =
            changes.iter().map(|change| mutation(change, held)).unzip();
        let held_at = changes.iter().enumerate().filter_map(|(i, change)| {
            let expected_for_update_ts = held.get(&change.key)?.for_update_ts;
            Some(ForUpdateTsConstraint { index: i as u32, expected_for_update_ts })
        });
        let is_primary = |change: &Change| change.key == self.primary;
        let names_others = asynchronous && changes.iter().any(is_primary);
        let others = self.plan.changes.iter().filter(|c| names_others && !is_primary(c));
        PrewriteRequest {
            mutations,
            primary_lock: self.primary.clone().into(),
            start_version: self.start.ts,
            lock_ttl: self.start.ttl_ms(cluster.options.lock_ttl),
            pessimistic_actions: if pessimistic { actions } else { Vec::new() },
            // The very lock that was granted, not one that a late request has taken since.
            for_update_ts_constraints: held_at.collect(),
            txn_size: changes.len() as u64,
            for_update_ts,
            // At least the newest timestamp that the transaction has read at: all of them came by
            // this gateway, and the newest one is at most one above what PD has given.
            min_commit_ts: cluster.tso.given().max(for_update_ts).max(self.start.ts) + 1,
            use_async_commit: asynchronous,
            secondaries: others.map(|change| change.key.clone().into()).collect(),
            max_commit_ts: self.fence.map_or(0, |fence| fence.before().0.saturating_sub(1)),
            try_one_pc: one_phase,
            ..PrewriteRequest::default()
        }
    }

    /// Clears what is in the way of these changes, so that the prewrite can be tried again; or says
    /// why not.
    async fn handle_errors(
        &self,
        errors: &[KeyError],
        changes: &[Change],
    ) -> Result<(), CommitFailure> {
        // What needs no waiting first.
        let mut has_conflict = false;
        for error in errors.iter().filter(|error| error.locked.is_none()) {
            self.check_error(error)?;
            has_conflict = true;
        }
        if has_conflict {
            // A store names one newer version at a time, and there may be thousands of them.
            let unlocked = changes.iter().map(|change| &change.key).filter(|key| !self.holds(key));
            self.lock(unlocked.cloned().collect()).await?;
        }
        // A transaction may have thousands of locks: the status of one decides for all.
        let mut holders: BTreeMap<(u64, bool), Vec<LockInfo>> = BTreeMap::new();
        for lock in errors.iter().filter_map(|error| error.locked.as_ref()) {
            let holder = (lock.lock_version, lock.lock_type() == Op::PessimisticLock);
            holders.entry(holder).or_default().push(lock.clone());
        }
        for locks in holders.values() {
            if self.unblock(locks).await? {
                // The others may be gone as well.
                break;
            }
        }
        Ok(())
    }

    /// Says why an error that is no lock ends the prewrite; of a newer version that can be locked
    /// it is none.
    fn check_error(&self, error: &KeyError) -> Result<(), CommitFailure> {
        if let Some(conflict) = &error.conflict {
            let key = conflict.key.to_vec();
            if self.holds(&key) {
                return Err(self.lost(Some(key)));
            }
            if conflict.reason() == Reason::SelfRolledBack {
                return Err(self.refused(Some(key)));
            }
            if !self.pessimistic {
                return Err(CommitFailure::Restart);
            }
            return Ok(());
        }
        if error.already_exist.is_some() {
            return Err(CommitFailure::DuplicateKey);
        }
        if !error.abort.is_empty() || !error.retryable.is_empty() {
            // A lock that the request relied on is gone.
            tracing::debug!(?error, "a prewrite was refused");
            return Err(self.lost(None));
        }
        Err(CommitFailure::Error(unexpected("a prewrite", error)))
    }

    fn refused(&self, key: Option<Key>) -> CommitFailure {
        match self.may_restart {
            true => CommitFailure::Restart,
            false => CommitFailure::Retry(Conflict::new(RetryReason::WriteConflict, key)),
        }
    }

    /// The end of a transaction that has lost a lock.
    fn lost(&self, key: Option<Key>) -> CommitFailure {
        match self.may_restart {
            true => CommitFailure::Restart,
            false => CommitFailure::Retry(Conflict::new(RetryReason::LockLost, key)),
        }
    }

    /// Whether the transaction believes to hold a lock on the key.
    fn holds(&self, key: &[u8]) -> bool {
        self.context.transaction.locks.lock().held.contains_key(key)
    }

    /// Clears locks of one transaction, or waits for the first of them; true if it has waited.
    async fn unblock(&self, locks: &[LockInfo]) -> Result<bool, CommitFailure> {
        if let Some(taken) = locks.iter().find(|lock| self.holds(&lock.key)) {
            return Err(self.lost(Some(taken.key.to_vec())));
        }
        let cluster = self.context.cluster();
        cluster.metrics.retry(RetryCause::Locked);
        match cluster.transaction_status(&locks[0], 0).await? {
            status @ (TransactionStatus::Committed(_) | TransactionStatus::RolledBack) => {
                cluster.clear(locks, status).await?;
                Ok(false)
            }
            TransactionStatus::Running | TransactionStatus::Pushed => {
                self.wait_for(locks[0].key.to_vec()).await?;
                Ok(true)
            }
        }
    }

    /// Takes a lock that somebody else has, without keeping readers waiting as long.
    async fn wait_for(&self, key: Key) -> Result<(), CommitFailure> {
        let mut lock = pin!(self.lock(vec![key]));
        loop {
            tokio::select! {
                end = &mut lock => return end,
                () = tokio::time::sleep(READER_GRACE) => {}
            }
            if !self.stands.load(Relaxed) || self.is_two_phase() {
                continue;
            }
            if self.may_restart {
                return Err(CommitFailure::RestartWithLocks);
            }
            self.context.transaction.locks.lock().two_phases = true;
            if self.primary_stands.load(Relaxed) {
                self.announce_two_phases().await;
            }
        }
    }

    /// Whether it was to be asynchronous and has had to wait.
    fn is_two_phase(&self) -> bool {
        self.context.transaction.locks.lock().two_phases
    }

    /// Marks the primary's time to live, so that readers may push the transaction. If that
    /// fails, the next heartbeat does it.
    async fn announce_two_phases(&self) {
        let cluster = self.context.cluster();
        match heartbeat::beat_once(cluster, &self.primary, self.start, true).await {
            Ok(answer) if answer.error.is_none() => {}
            answer => tracing::debug!(?answer, "readers do not learn that a commit waits"),
        }
    }

    /// Takes pessimistic locks on some of the keys.
    async fn lock(&self, keys: Vec<Key>) -> Result<(), CommitFailure> {
        let context = self.context;
        let for_update_ts = context.cluster().tso.now().await?;
        let cancelled = Arc::default();
        let options =
            LockOptions { wait: LockWait::Block, until: self.until, for_update_ts, cancelled };
        let lock = context.lock_manager.take(&context.transaction, self.start, keys, &options);
        let held = match lock.await {
            Err(Error::Retry(conflict)) if self.may_restart => {
                tracing::debug!(?conflict, "a commit begins again");
                return Err(CommitFailure::Restart);
            }
            held => held?,
        };
        let exists = |key: &Key| held.get(key).is_some_and(|held| held.value.is_some());
        let mut new = self.plan.changes.iter().filter(|change| change.kind == Kind::New);
        match new.any(|change| exists(&change.key)) {
            true => Err(CommitFailure::DuplicateKey),
            false => Ok(()),
        }
    }
}

/// A change as TiKV takes it, and what is to be checked if the transaction is a pessimistic one.
///
/// A key that is written without its lock must have no version above the start. Otherwise the
/// commit could get a timestamp at or below that version, whose writer was answered long ago: the
/// new value would be lost, or the record of the other commit. That is so in two phases as well,
/// because stores choose timestamps that PD has not given yet.
fn mutation(change: &Change, held: &BTreeMap<Key, HeldLock>) -> (Mutation, i32) {
    let is_held = held.contains_key(&change.key);
    let (op, action) = match (change.kind, &change.value) {
        (Kind::Locked, _) => (Op::Lock, PessimisticAction::DoPessimisticCheck),
        // A check of existence is done by the lock: with it the prewrite would skip its own.
        (_, Some(_)) if is_held => (Op::Put, PessimisticAction::DoPessimisticCheck),
        (_, None) if is_held => (Op::Del, PessimisticAction::DoPessimisticCheck),
        (Kind::New, _) => (Op::Insert, PessimisticAction::DoConstraintCheck),
        (Kind::Write, Some(_)) => (Op::Put, PessimisticAction::DoConstraintCheck),
        (Kind::Write, None) => (Op::Del, PessimisticAction::DoConstraintCheck),
    };
    let key = Value::copy_from_slice(&change.key);
    let value = change.value.clone().unwrap_or_default();
    (Mutation { op: op.into(), key, value, ..Mutation::default() }, action.into())
}
