//! The second phase, taking a transaction back, and finding out what became of it.

use super::context::CommitContext;
use crate::{
    cluster::{Keyed, Region, RequestOptions},
    locks::{TransactionStart, TransactionStatus, unexpected},
};
use braid_kv::{Key, Result};
use braid_tikv_proto::kvrpcpb::{
    BatchRollbackRequest, CheckTxnStatusRequest, CommitRequest, CommitResponse,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// What the commit of the primary has come to.
pub(super) enum PrimaryReply {
    Committed,
    /// Somebody has pushed the transaction above this timestamp.
    TooEarly,
    /// The lock is gone: the transaction was committed or rolled back by somebody else.
    Gone,
    /// No answer: it may be committed.
    NoAnswer,
}

/// What can be said of a transaction whose commit got no answer.
pub(super) enum FinalOutcome {
    Committed(u64),
    /// It is not committed and never will be.
    RolledBack,
    Unknown,
}

impl CommitContext {
    /// Commits the primary, together with other keys of its region, which `done` then names: no
    /// more than go into one part, since everybody waits who asks about the primary meanwhile.
    pub(super) async fn commit_primary(
        &self,
        start: TransactionStart,
        primary: &Key,
        keys: &[Key],
        commit_ts: u64,
        done: &Mutex<BTreeSet<Key>>,
    ) -> Result<PrimaryReply> {
        let keys_max = self.cluster().flow_control.request_keys_max();
        let make = |region: &Region| {
            let beside = keys.iter().filter(|key| *key != primary && region.contains(key));
            let all = std::iter::once(primary).chain(beside);
            let keys: Vec<Key> = all.take(keys_max).cloned().collect();
            *done.lock() = keys.iter().cloned().collect();
            commit_request(start.ts, keys, commit_ts)
        };
        let answer = self.cluster().at_key(primary, &RequestOptions::default(), make).await;
        let answer: CommitResponse = match answer {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(%error, "the commit of a primary got no answer");
                return Ok(PrimaryReply::NoAnswer);
            }
        };
        let Some(error) = &answer.error else { return Ok(PrimaryReply::Committed) };
        if error.commit_ts_expired.is_some() {
            return Ok(PrimaryReply::TooEarly);
        }
        if error.txn_lock_not_found.is_some() || error.txn_not_found.is_some() {
            return Ok(PrimaryReply::Gone);
        }
        tracing::warn!(error = %unexpected("a commit", error), "the commit of a primary");
        Ok(PrimaryReply::Gone)
    }

    /// Commits what is left, for a transaction that is committed already. What fails is finished by
    /// the next transaction that meets the lock.
    pub(super) async fn commit_rest(
        &self,
        start: TransactionStart,
        keys: Vec<Key>,
        commit_ts: u64,
    ) {
        let make = |keys: &[Key]| commit_request(start.ts, keys.to_vec(), commit_ts);
        match self.cluster().at_all(keys, &RequestOptions::default(), make).await {
            Err(error) => {
                tracing::warn!(%error, "locks of a committed transaction stay");
            }
            Ok(answers) => {
                for error in answers.iter().filter_map(|(_, answer)| answer.error.as_ref()) {
                    if error.commit_ts_expired.is_some() {
                        tracing::error!(?error, "a lock does not allow the commit's timestamp");
                    }
                    tracing::debug!(?error, "a lock of a committed transaction was gone");
                }
            }
        }
    }

    /// Rolls keys back, so that late requests of the transaction fail. True if everything was
    /// rolled back.
    pub(super) async fn roll_back(&self, start: TransactionStart, keys: Vec<Key>) -> bool {
        let make = |keys: &[Key]| BatchRollbackRequest {
            start_version: start.ts,
            keys: keys.iter().map(|key| key.clone().into()).collect(),
            ..BatchRollbackRequest::default()
        };
        match self.cluster().at_all(keys, &RequestOptions::default(), make).await {
            Ok(answers) => answers.iter().all(|(_, answer)| answer.error.is_none()),
            Err(error) => {
                tracing::warn!(%error, "locks of a transaction stay");
                false
            }
        }
    }

    /// Finds out what became of the transaction; if it is undecided, it is decided against it.
    ///
    /// Only the primary may be rolled back for that, and not if its lock is one of an asynchronous
    /// commit: then all locks together decide, and somebody else may have read them as committed.
    pub(super) async fn verdict(&self, start: TransactionStart, primary: &Key) -> FinalOutcome {
        match self.decide(start, primary).await {
            Ok(verdict) => verdict,
            Err(error) => {
                tracing::warn!(%error, "the outcome of a commit is unknown");
                FinalOutcome::Unknown
            }
        }
    }

    async fn decide(&self, start: TransactionStart, primary: &Key) -> Result<FinalOutcome> {
        let cluster = self.cluster();
        let request = CheckTxnStatusRequest {
            primary_key: primary.clone().into(),
            lock_ts: start.ts,
            current_ts: cluster.tso.now().await?,
            rollback_if_not_exist: true,
            ..CheckTxnStatusRequest::default()
        };
        let answer = cluster.check_status(&request).await?;
        if let Some(error) = &answer.error {
            return Err(unexpected("the status of a commit", error));
        }
        match (answer.commit_version, answer.lock_ttl) {
            (0, 0) => return Ok(FinalOutcome::RolledBack),
            (0, _) => {}
            (at, _) => return Ok(FinalOutcome::Committed(at)),
        }
        let lock = answer.lock_info.unwrap_or_default();
        if lock.use_async_commit {
            match cluster.settle_secondaries(&lock).await? {
                Some(TransactionStatus::Committed(at)) => return Ok(FinalOutcome::Committed(at)),
                Some(TransactionStatus::RolledBack) => return Ok(FinalOutcome::RolledBack),
                Some(TransactionStatus::Pushed | TransactionStatus::Running) | None => {}
            }
        }
        if self.roll_back(start, vec![primary.clone()]).await {
            return Ok(FinalOutcome::RolledBack);
        }
        let answer = cluster.check_status(&request).await?;
        Ok(match (answer.commit_version, answer.lock_ttl, answer.error) {
            (0, 0, None) => FinalOutcome::RolledBack,
            (0, _, _) => FinalOutcome::Unknown,
            (at, _, _) => FinalOutcome::Committed(at),
        })
    }
}

fn commit_request(start_version: u64, keys: Vec<Key>, commit_version: u64) -> CommitRequest {
    let keys = keys.iter().map(|key| bytes::Bytes::copy_from_slice(key.key())).collect();
    CommitRequest { start_version, keys, commit_version, ..CommitRequest::default() }
}
