//! Locks of others: what became of their transactions, and clearing what they left.
//!
//! The primary lock decides. While it lives within its time, the transaction may still go either
//! way; a reader can only push its commit above the reader's own timestamp. A lock of an
//! asynchronous commit cannot be pushed: its transaction is committed once all its locks are there,
//! so after its time the secondaries are asked too. Unless the primary's time to live says that its
//! commit goes on in two phases ([`TWO_PHASES`]).
//!
//! - A time to live of 0 says nothing: a prewrite that meets a lock reports it so.
//! - A missing primary is rolled back only after the lock's own time: it may be on its way.

use crate::cluster::{Cluster, RequestOptions};
use crate::timestamp::millis;
use braid_kv::{Error, Key, Result};
use braid_tikv_proto::kvrpcpb::{
    self, Action, CheckSecondaryLocksRequest, CheckTxnStatusRequest, KeyError, LockInfo, Op,
    PessimisticRollbackRequest, ResolveLockRequest,
};
use std::sync::Arc;

/// A bit of a time to live that times to live of ours do not have otherwise: the transaction was to
/// commit asynchronously, has had to wait for somebody's lock, and is committed in two phases. Its
/// primary may be pushed although it is one of an asynchronous commit.
pub(crate) const TWO_PHASES: u64 = 1;

/// What became of the transaction that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionStatus {
    Committed(u64),
    RolledBack,
    /// It cannot commit at or below the timestamp of who asked.
    Pushed,
    /// Undecided, and within its time.
    Running,
}

/// An error about a key that nobody here expects.
pub(crate) fn unexpected(what: &str, error: &KeyError) -> Error {
    let text = [&error.abort, &error.retryable].into_iter().find(|text| !text.is_empty());
    let text = text.cloned().unwrap_or_else(|| "an unknown error about a key".to_owned());
    Error::Storage(format!("TiKV, {what}: {text}").into())
}

/// What the primary says.
fn status_from(answer: &kvrpcpb::CheckTxnStatusResponse) -> TransactionStatus {
    match (answer.commit_version, answer.lock_ttl, answer.action()) {
        (0, 0, _) => TransactionStatus::RolledBack,
        (0, _, Action::MinCommitTsPushed) => TransactionStatus::Pushed,
        (0, _, _) => TransactionStatus::Running,
        (at, _, _) => TransactionStatus::Committed(at),
    }
}

impl Cluster {
    /// Asks for the fate of a lock's transaction. With a caller's timestamp it is pushed above.
    pub(crate) async fn transaction_status(
        &self,
        lock: &LockInfo,
        caller_ts: u64,
    ) -> Result<TransactionStatus> {
        let now = self.tso.now().await?;
        let is_over = |ttl: u64| ttl > 0 && millis(lock.lock_version) + ttl < millis(now);
        let expired = is_over(lock.lock_ttl);
        let mut request = CheckTxnStatusRequest {
            primary_key: lock.primary_lock.clone(),
            lock_ts: lock.lock_version,
            caller_start_ts: caller_ts,
            current_ts: now,
            rollback_if_not_exist: expired,
            resolving_pessimistic_lock: lock.lock_type() == Op::PessimisticLock,
            verify_is_primary: true,
            ..CheckTxnStatusRequest::default()
        };
        let answer = self.check_status(&request).await?;
        if let Some(error) = &answer.error {
            return match error.txn_not_found.is_some() || error.primary_mismatch.is_some() {
                true => Ok(TransactionStatus::Running),
                false => Err(unexpected("the status of a transaction", error)),
            };
        }
        let primary = answer.lock_info.as_ref().filter(|primary| primary.use_async_commit);
        if let Some(primary) = primary.filter(|_| is_over(answer.lock_ttl)) {
            if let Some(status) = self.settle_secondaries(primary).await? {
                return Ok(status);
            }
            // It fell back to two phases: then the primary alone decides.
            request.force_sync_commit = true;
            request.rollback_if_not_exist = true;
            let answer = self.check_status(&request).await?;
            return Ok(status_from(&answer));
        }
        if primary.is_some() && caller_ts > 0 && answer.lock_ttl & TWO_PHASES != 0 {
            request.force_sync_commit = true;
            return Ok(status_from(&self.check_status(&request).await?));
        }
        Ok(status_from(&answer))
    }

    /// One question about a primary.
    pub(crate) async fn check_status(
        &self,
        request: &CheckTxnStatusRequest,
    ) -> Result<kvrpcpb::CheckTxnStatusResponse> {
        let make = |_: &_| request.clone();
        self.at_key(&request.primary_key, &RequestOptions::default(), make).await
    }

    /// An asynchronous commit whose gateway is gone: committed if all of its locks are there.
    /// Asking makes sure that a missing one never comes. `None` if some lock is not of this kind.
    pub(crate) async fn settle_secondaries(
        &self,
        primary: &LockInfo,
    ) -> Result<Option<TransactionStatus>> {
        let mut keys: Vec<Key> = primary.secondaries.iter().map(|key| key.to_vec()).collect();
        keys.sort_unstable();
        let start_version = primary.lock_version;
        let make = |keys: &[Key]| CheckSecondaryLocksRequest {
            keys: keys.iter().map(|key| key.clone().into()).collect(),
            start_version,
            ..CheckSecondaryLocksRequest::default()
        };
        let answers = self.at_all(keys.clone(), &RequestOptions::default(), make).await?;
        let mut commit_ts = primary.min_commit_ts;
        let mut status = None;
        for (asked, answer) in &answers {
            if let Some(error) = &answer.error {
                return Err(unexpected("the locks of a transaction", error));
            }
            if answer.commit_ts > 0 {
                status = Some(TransactionStatus::Committed(answer.commit_ts));
            } else if answer.locks.len() < asked.len() {
                status = status.or(Some(TransactionStatus::RolledBack));
            } else if answer.locks.iter().any(|lock| !lock.use_async_commit) {
                return Ok(None);
            }
            let newest = answer.locks.iter().map(|lock| lock.min_commit_ts).max();
            commit_ts = commit_ts.max(newest.unwrap_or(0));
        }
        let status = status.unwrap_or(TransactionStatus::Committed(commit_ts));
        let commit_version = match status {
            TransactionStatus::Committed(at) => at,
            TransactionStatus::RolledBack
            | TransactionStatus::Pushed
            | TransactionStatus::Running => 0,
        };
        keys.push(primary.key.to_vec());
        keys.sort_unstable();
        self.resolve(start_version, commit_version, keys).await?;
        Ok(Some(status))
    }

    /// Finishes locks of a transaction whose fate is known; a `commit_version` of 0 rolls back.
    pub(crate) async fn resolve(
        &self,
        start: u64,
        commit_version: u64,
        keys: Vec<Key>,
    ) -> Result<()> {
        let make = |keys: &[Key]| ResolveLockRequest {
            start_version: start,
            commit_version,
            keys: keys.iter().map(|key| key.clone().into()).collect(),
            ..ResolveLockRequest::default()
        };
        for (_, answer) in self.at_all(keys, &RequestOptions::default(), make).await? {
            if let Some(error) = &answer.error {
                return Err(unexpected("resolving a lock", error));
            }
        }
        Ok(())
    }

    /// Clears locks of one transaction that is known to be committed or rolled back.
    pub(crate) async fn clear(&self, locks: &[LockInfo], status: TransactionStatus) -> Result<()> {
        let Some(start) = locks.first().map(|lock| lock.lock_version) else { return Ok(()) };
        let commit_version = match status {
            TransactionStatus::Committed(at) => at,
            TransactionStatus::RolledBack => 0,
            TransactionStatus::Pushed | TransactionStatus::Running => return Ok(()),
        };
        let is_pessimistic = |lock: &&LockInfo| lock.lock_type() == Op::PessimisticLock;
        let others = locks.iter().filter(|lock| !is_pessimistic(lock));
        let mut keys: Vec<Key> = others.map(|lock| lock.key.to_vec()).collect();
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            self.resolve(start, commit_version, keys).await?;
        }
        for lock in locks.iter().filter(is_pessimistic) {
            self.roll_lock_back(lock).await?;
        }
        Ok(())
    }

    async fn roll_lock_back(&self, lock: &LockInfo) -> Result<()> {
        let make = |_: &_| PessimisticRollbackRequest {
            start_version: lock.lock_version,
            for_update_ts: lock.lock_for_update_ts.max(lock.lock_version),
            keys: vec![lock.key.clone()],
            ..PessimisticRollbackRequest::default()
        };
        let answer = self.at_key(&lock.key, &RequestOptions::default(), make).await?;
        match answer.errors.first() {
            Some(error) => Err(unexpected("rolling a lock back", error)),
            None => Ok(()),
        }
    }

    /// Clears locks of one transaction that a reader has met, without keeping him. All of them at
    /// once: the next reader would have to ask for the transaction's fate again.
    pub(crate) fn clear_in_background(
        self: &Arc<Self>,
        locks: Vec<LockInfo>,
        status: TransactionStatus,
    ) {
        let cluster = self.clone();
        self.spawn(async move {
            if let Err(error) = cluster.clear(&locks, status).await {
                tracing::debug!(%error, "locks stay for the next who meets them");
            }
        });
    }
}
