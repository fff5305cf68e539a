//! Commit and rollback.

use super::handle::Phase;
use crate::{
    Check, CommitFence, CommitOutcome, CommitRequest, Conflict, Error, Isolation, Result,
    RetryReason, Snapshot, Timestamp, Transaction,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

impl Transaction {
    /// Commits. Locks are released however it ends.
    ///
    /// A transaction without writes (and without an observer, who wants its place in the order of
    /// commits) has nothing to ask the store: its snapshot is consistent. Only
    /// a store that may lose locks is asked whether they were held all the time. A transaction
    /// with writes waits once.
    pub async fn commit(&self) -> Result<CommitOutcome> {
        self.try_commit(false).await
    }

    /// Commits like [`Transaction::commit`], but a retry leaves the transaction open, restarted
    /// as by [`Transaction::restart`]: its locks stay.
    pub async fn commit_or_restart(&self) -> Result<CommitOutcome> {
        self.try_commit(true).await
    }

    async fn try_commit(&self, keep_locks: bool) -> Result<CommitOutcome> {
        let result = match self.has_writes() || self.lock_state().observer.is_some() {
            true => self.commit_writes(keep_locks).await,
            false => self.commit_reads(keep_locks).await,
        };
        if let Ok(CommitOutcome::Committed(_)) = &result {
            self.apply_local();
        }
        let counters = &self.database.inner.counters;
        match &result {
            Ok(CommitOutcome::Committed(_)) => counters.here().committed.fetch_add(1, Relaxed),
            Ok(CommitOutcome::Unknown) => counters.here().unknown.fetch_add(1, Relaxed),
            Err(Error::Finished) => 0,
            Ok(CommitOutcome::Retry(conflict)) => {
                counters.add_retry(conflict.reason);
                counters.here().aborted.fetch_add(u64::from(!keep_locks), Relaxed)
            }
            Err(_) => counters.here().aborted.fetch_add(1, Relaxed),
        };
        result
    }

    /// Reads at one snapshot are consistent as they are; only a refresh while others were still
    /// reading leaves some that have to be compared. What a lock has brought may be newer than
    /// the schema that the transaction was planned with, which may so have looked for rows where
    /// they are no longer. Locks are proved before the answer, because the client relies on the
    /// locked rows having stood still.
    async fn commit_reads(&self, keep_locks: bool) -> Result<CommitOutcome> {
        let (at, segments, schema, has_locks) = {
            let state = self.active()?;
            let at = state.snapshot.as_ref().map_or(Timestamp(0), |s| s.timestamp());
            let loose = !state.reads.is_consistent() && self.keeps_reads();
            let schema = if state.met_newer { state.schema_segments() } else { Vec::new() };
            let segments = if loose { state.reads.segments() } else { Vec::new() };
            (at, segments, schema, state.has_locks)
        };
        let newest: Option<Arc<dyn Snapshot>> =
            segments.iter().map(|s| s.snapshot.clone()).max_by_key(|s| s.timestamp());
        let store = &self.database.inner.store;
        let mut conflict = None;
        if let Some(newest) = newest {
            conflict = self.round_trip(store.validate(&segments, &newest)).await?;
        }
        if conflict.is_none() && !schema.is_empty() {
            let newest = store.snapshot().await?;
            let found = self.round_trip(store.validate(&schema, &newest)).await?;
            conflict = found.map(|found| Conflict::new(RetryReason::SchemaChanged, found.key));
        }
        if conflict.is_none()
            && has_locks
            && let Some(proof) = store.prove_locks(self.id())
        {
            conflict = self.round_trip(proof).await?;
        }
        if keep_locks && let Some(conflict) = conflict {
            self.restart()?;
            return Ok(CommitOutcome::Retry(conflict));
        }
        self.end().await;
        Ok(conflict.map_or(CommitOutcome::Committed(at), CommitOutcome::Retry))
    }

    async fn commit_writes(&self, keep_locks: bool) -> Result<CommitOutcome> {
        self.prove_first_read().await?;
        let request = self.commit_request(keep_locks)?;
        let ended = EndOnDrop(self);
        let outcome = self.round_trip(self.database.inner.store.commit(request)).await;
        drop(ended);
        match outcome? {
            CommitOutcome::Retry(conflict)
                if conflict.tag != 0 && self.isolation() != Isolation::Serializable =>
            {
                if keep_locks {
                    self.database.inner.store.release(self.id()).await;
                }
                Err(Error::CheckChanged(Box::new(conflict)))
            }
            CommitOutcome::Retry(conflict) if keep_locks => {
                self.reopen();
                Ok(CommitOutcome::Retry(conflict))
            }
            outcome => Ok(outcome),
        }
    }

    fn commit_request(&self, keep_locks: bool) -> Result<CommitRequest> {
        let mut state = self.active()?;
        state.phase = Phase::Committing;
        let conflicts_since = match self.isolation() {
            Isolation::RepeatableRead => state.snapshot.clone(),
            Isolation::ReadCommitted | Isolation::Serializable => None,
        };
        let (new_keys, deleted_spans, writes) = state.buffer.drain();
        let checks = std::mem::take(&mut state.checks);
        let mut checks: Vec<Check> = checks.into_iter().map(|c| c.check).collect();
        let fence = state.fence.take().or_else(|| self.spare_schema(&mut checks));
        Ok(CommitRequest {
            txn: self.id(),
            reads: if self.keeps_reads() { state.reads.segments() } else { Vec::new() },
            checks,
            conflicts_since,
            new_keys,
            deleted_spans,
            writes,
            lock_timeout: state.lock_timeout,
            keep_locks,
            fence,
            observer: state.observer.take(),
        })
    }

    /// Drops the proofs of the schema if a lease stands for them.
    fn spare_schema(&self, checks: &mut Vec<Check>) -> Option<Arc<dyn CommitFence>> {
        let lease = self.database.inner.schema_lease.get()?;
        let is_schema = |check: &Check| check.conflict.reason == RetryReason::SchemaChanged;
        let schema = checks.iter().filter(|check| is_schema(check));
        let fence = lease.enter(schema.map(|check| check.snapshot.timestamp()).min()?)?;
        checks.retain(|check| !is_schema(check));
        Some(fence)
    }

    /// Rolls back: nothing was written yet, so only locks have to go. Harmless after the end.
    pub async fn rollback(&self) {
        let active = self.lock_state().phase == Phase::Active;
        if active {
            self.database.inner.counters.here().aborted.fetch_add(1, Relaxed);
            self.end().await;
        }
    }

    /// Commits and makes every outcome but success an error.
    pub async fn commit_or_error(&self) -> Result<Timestamp> {
        self.commit().await?.into_result()
    }

    /// Ends without the store's help, but for the locks: once told of the end, the client may take
    /// them with another session that does not wait.
    async fn end(&self) {
        let has_locks = {
            let mut state = self.lock_state();
            state.phase = Phase::Ended;
            state.snapshot = None;
            state.statements.clear();
            std::mem::take(&mut state.has_locks)
        };
        if has_locks {
            self.database.inner.store.release(self.id()).await;
        }
    }
}

/// After the hand-over the store releases the locks; here only the views have to go.
struct EndOnDrop<'a>(&'a Transaction);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock_state();
        state.phase = Phase::Ended;
        state.snapshot = None;
        state.statements.clear();
    }
}
