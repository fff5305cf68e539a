//! The first step: locks, then one commit that proves the reads and puts the record.

use super::{prepared::PreparedTransaction, record::Record};
use crate::{
    CommitOutcome, CommitRequest, Conflict, Error, Isolation, KeepLocks, Key, LockRequest,
    LockStrength, LockTarget, Result, RetryReason, Snapshot, SpanSet, Transaction, Value,
    transaction::{
        commit::{End, EndOnDrop},
        snapshots::Snapshots,
    },
};
use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// A transaction that takes no more work and holds every lock that it needs to be prepared.
/// Dropping it releases them.
pub struct Preparation {
    txn: Arc<Transaction>,
    request: CommitRequest,
    shared: SpanSet,
    /// Its locks are to be released when it is dropped.
    is_pending: bool,
}

/// Everything that has to be unchanged at the commit.
fn what_must_stay(request: &CommitRequest) -> SpanSet {
    let read = request.reads.iter().flat_map(|segment| segment.spans.spans()).cloned();
    read.chain(request.checks.iter().map(|check| check.span.clone())).collect()
}

impl Preparation {
    /// Ends the transaction's work and locks what it writes and reads, to be prepared.
    ///
    /// It waits for locks of others, each at most the transaction's lock timeout. If that fails,
    /// the transaction is rolled back. An error if the store cannot prepare transactions.
    pub async fn begin(txn: &Arc<Transaction>) -> Result<Preparation> {
        if !txn.core.store().can_prepare() {
            return Err(Error::Storage("this store cannot prepare transactions".into()));
        }
        Snapshots(&txn.core).prove_first_read().await?;
        let since = match txn.commit_terms().snapshot() {
            Some(snapshot) => snapshot,
            None => txn.core.store().snapshot().await?,
        };
        let request = End(&txn.core).commit_request(KeepLocks::OnceCommitted)?;
        let shared = what_must_stay(&request);
        let preparation = Preparation { txn: txn.clone(), request, shared, is_pending: true };
        let ended = EndOnDrop(&txn.core);
        let result = preparation.lock(&since).await;
        drop(ended);
        result.map(|()| preparation)
    }

    async fn lock(&self, since: &Arc<dyn Snapshot>) -> Result<()> {
        let CommitRequest { deleted_spans, writes, conflicts_since, .. } = &self.request;
        let since = conflicts_since.as_ref().unwrap_or(since);
        let keys: Vec<Key> = writes.iter().map(|(key, _)| key.to_vec()).collect();
        let spans = deleted_spans.spans().to_vec();
        let shared = self.shared.spans().to_vec();
        let key_changes = self.take(LockTarget::Keys(keys), LockStrength::Exclusive, since).await?;
        let span_changes =
            self.take(LockTarget::Spans(spans), LockStrength::Exclusive, since).await?;
        self.take(LockTarget::Spans(shared), LockStrength::Shared, since).await?;
        match conflicts_since {
            Some(_) => self.check_writes(&key_changes, &span_changes),
            None => Ok(()),
        }
    }

    /// Takes locks; which of the targets have changed since the snapshot.
    async fn take(
        &self,
        target: LockTarget,
        strength: LockStrength,
        since: &Arc<dyn Snapshot>,
    ) -> Result<Vec<bool>> {
        let request = match target {
            LockTarget::Keys(keys) if keys.is_empty() => return Ok(Vec::new()),
            LockTarget::Spans(spans) if spans.is_empty() => return Ok(Vec::new()),
            LockTarget::Keys(keys) => LockRequest::keys(keys).passing(false),
            LockTarget::Spans(spans) => LockRequest::spans(spans),
        };
        let core = &self.txn.core;
        let (request, timeout) = (request.strength(strength), self.request.lock_timeout);
        let answer = core.store().lock(core.id, &request, since, timeout);
        let grant = core.round_trip(crate::metrics::lock_wait(answer)).await?;
        Ok(grant.changed)
    }

    /// REPEATABLE READ: a written key must not be newer than the snapshot.
    fn check_writes(&self, key_changes: &[bool], span_changes: &[bool]) -> Result<()> {
        let new: HashSet<&[u8]> =
            self.request.new_keys.iter().map(|new| new.key.as_ref()).collect();
        let keys = self.request.writes.iter().zip(key_changes);
        let key = keys
            .filter(|(_, changed)| **changed)
            .map(|((key, _), _)| key.to_vec())
            .find(|key| !new.contains(key.as_slice()));
        let spans = self.request.deleted_spans.spans().iter().zip(span_changes);
        let span = spans.filter(|(_, changed)| **changed).map(|(span, _)| span.start.clone());
        match key.or_else(|| span.into_iter().next()) {
            Some(key) => {
                let conflict = Conflict::new(RetryReason::WriteConflict, Some(key));
                Err(self.txn.core.retry(conflict))
            }
            None => Ok(()),
        }
    }

    /// Proves the transaction's reads and makes its record durable under keys that begin with
    /// `record`. `about` is what the owner wants to find there. The locks are released unless that
    /// succeeds.
    ///
    /// It has to run to its end: if it is dropped, the record may be stored all the same.
    pub async fn prepare(mut self, record: Key, about: Value) -> Result<PreparedTransaction> {
        let stored = Record {
            about,
            shared: std::mem::take(&mut self.shared),
            deleted_spans: std::mem::take(&mut self.request.deleted_spans),
            writes: std::mem::take(&mut self.request.writes),
        };
        let pairs = stored.pairs(&record);
        let keys = pairs.iter().map(|(key, _)| key.clone()).collect();
        let request = CommitRequest {
            txn: self.request.txn,
            reads: std::mem::take(&mut self.request.reads),
            checks: std::mem::take(&mut self.request.checks),
            conflicts_since: None,
            new_keys: std::mem::take(&mut self.request.new_keys),
            deleted_spans: SpanSet::new(),
            writes: pairs,
            lock_timeout: self.request.lock_timeout,
            keep_locks: KeepLocks::OnceCommitted,
            fence: self.request.fence.take(),
            observer: None,
        };
        // The store releases the locks from here on.
        self.is_pending = false;
        let core = &self.txn.core;
        let outcome = core.round_trip(core.store().commit(request)).await;
        if !matches!(outcome, Ok(CommitOutcome::Committed(_))) {
            core.database.inner.counters.here().aborted.fetch_add(1, Relaxed);
        }
        match outcome? {
            CommitOutcome::Committed(_) => Ok(PreparedTransaction {
                database: core.database.clone(),
                id: core.id,
                record: keys,
                deleted_spans: stored.deleted_spans,
                writes: stored.writes,
            }),
            CommitOutcome::Retry(conflict)
                if conflict.tag != 0 && core.isolation() != Isolation::Serializable =>
            {
                Err(Error::CheckChanged(Box::new(conflict)))
            }
            CommitOutcome::Retry(conflict) => Err(core.retry(conflict)),
            CommitOutcome::Unknown => Err(Error::Unknown),
        }
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        if self.is_pending {
            let core = &self.txn.core;
            core.database.inner.counters.here().aborted.fetch_add(1, Relaxed);
            drop(core.store().release(core.id));
        }
    }
}
