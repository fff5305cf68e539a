//! The lock resolver of a read: finds the status of the transactions whose locks are in the way,
//! then reads past the locks or waits.

use super::transaction_status::TransactionStatus;
use crate::{
    cluster::{Backoff, Cluster, RequestOptions},
    metrics::RetryCause,
};
use braid_kv::{Error, Result};
use braid_tikv_proto::kvrpcpb::{CheckTxnStatusRequest, LockInfo};
use parking_lot::Mutex;
use std::{collections::BTreeSet, sync::Arc};

/// A lock of the oldest transaction that was pushed while it committed.
#[derive(Clone, Default)]
pub(crate) struct OldestPushed(Arc<Mutex<Option<LockInfo>>>);

impl OldestPushed {
    /// The lock, if its transaction is older than one that has started then.
    pub(crate) fn before(&self, start: u64) -> Option<LockInfo> {
        self.0.lock().clone().filter(|lock| lock.lock_version < start)
    }

    fn note(&self, lock: &LockInfo) {
        let mut oldest = self.0.lock();
        if oldest.as_ref().is_none_or(|oldest| lock.lock_version < oldest.lock_version) {
            *oldest = Some(lock.clone());
        }
    }
}

/// What a read at one timestamp knows about the locks in its way.
pub(crate) struct LockResolver {
    ts: u64,
    options: RequestOptions,
    backoff: Backoff,
    /// The transactions that `backoff` waits for, by their start timestamps.
    waits_for: BTreeSet<u64>,
    /// Locks were met before: a commit in flight has had its moment to finish.
    met: bool,
    pushed: Option<OldestPushed>,
}

impl LockResolver {
    /// A read at `ts` that passes over locks of the transaction `own`, if it is not 0.
    pub(crate) fn new(cluster: &Cluster, ts: u64, own: u64) -> LockResolver {
        let bypass = if own == 0 { Vec::new() } else { vec![own] };
        let options = RequestOptions { bypass, ..RequestOptions::default() };
        let (backoff, waits_for) = (cluster.backoff(), BTreeSet::new());
        LockResolver { ts, options, backoff, waits_for, met: false, pushed: None }
    }

    /// A read that pushes transactions at once and notes the oldest one: the validation of a
    /// commit.
    pub(crate) fn pushing(mut self, pushed: &OldestPushed) -> LockResolver {
        self.met = true;
        self.pushed = Some(pushed.clone());
        self
    }

    /// The timestamp of the read.
    pub(crate) fn ts(&self) -> u64 {
        self.ts
    }

    pub(crate) fn options(&self) -> &RequestOptions {
        &self.options
    }

    /// Resolves locks that are in the way. Afterwards the read is tried again.
    ///
    /// The time limit is that of one wait for the same transaction. A scan may last longer, and
    /// meet other transactions.
    pub(crate) async fn resolve(
        &mut self,
        cluster: &Arc<Cluster>,
        locks: &[LockInfo],
    ) -> Result<()> {
        cluster.metrics.retry(RetryCause::Locked);
        if !self.met {
            // Most locks are of a commit in flight. Pushing it would make it validate again.
            self.met = true;
            cluster.backoff().blink().await;
            return Ok(());
        }
        let (mut running, mut news) = (BTreeSet::new(), false);
        for lock in locks {
            let holder = lock.lock_version;
            if self.options.bypass.contains(&holder) || self.options.committed.contains(&holder) {
                // Known already: met by another request of the same read.
                continue;
            }
            news = true;
            let status = cluster.transaction_status(lock, self.ts).await?;
            if let (TransactionStatus::Pushed, Some(pushed)) = (status, &self.pushed) {
                pushed.note(lock);
            }
            match status {
                TransactionStatus::Committed(at) if at <= self.ts => {
                    self.options.committed.push(holder)
                }
                TransactionStatus::Committed(_)
                | TransactionStatus::RolledBack
                | TransactionStatus::Pushed => {
                    self.options.bypass.push(holder);
                }
                TransactionStatus::Running => _ = running.insert(holder),
            }
            if matches!(status, TransactionStatus::Committed(_) | TransactionStatus::RolledBack) {
                let its = locks.iter().filter(|lock| lock.lock_version == holder);
                cluster.clear_in_background(its.cloned().collect(), status);
            }
        }
        if !news {
            running.extend(locks.iter().map(|lock| lock.lock_version));
        }
        if running.is_empty() {
            return Ok(());
        }
        if running.is_disjoint(&self.waits_for) {
            self.backoff = cluster.backoff();
        }
        self.waits_for = running;
        match self.backoff.sleep().await {
            true => Ok(()),
            false => Err(stays(cluster, self.ts, locks).await),
        }
    }
}

/// The error of a read whose patience has ended, with what is known of a lock in its way. Keys are
/// in the log only: the client may not be allowed to see them.
async fn stays(cluster: &Cluster, ts: u64, locks: &[LockInfo]) -> Error {
    let Some(lock) = locks.first() else {
        return Error::Storage("locks in TiKV that nobody names stay in the way of a read".into());
    };
    let query = CheckTxnStatusRequest {
        primary_key: lock.primary_lock.clone(),
        lock_ts: lock.lock_version,
        verify_is_primary: true,
        ..CheckTxnStatusRequest::default()
    };
    let answer = cluster.check_status(&query).await;
    tracing::warn!(ts, ?lock, ?answer, "a lock stays in the way of a read");
    let primary = match answer {
        Err(error) => format!("does not answer ({error})"),
        Ok(answer) => match (answer.error, answer.lock_info) {
            (Some(error), _) if error.txn_not_found.is_some() => "is not there".to_owned(),
            (Some(error), _) if error.primary_mismatch.is_some() => "has another one".to_owned(),
            (Some(_), _) => "cannot be looked at".to_owned(),
            (None, Some(primary)) => format!(
                "has {} ms to live, asynchronous: {}",
                answer.lock_ttl, primary.use_async_commit
            ),
            (None, None) => "has no lock any more".to_owned(),
        },
    };
    let LockInfo { lock_version, lock_ttl, use_async_commit, .. } = lock;
    let text = format!(
        "a lock in TiKV stays in the way of a read at {ts}: transaction {lock_version}, \
         {lock_ttl} ms to live, asynchronous: {use_async_commit}; its primary {primary}"
    );
    Error::Storage(text.into())
}
