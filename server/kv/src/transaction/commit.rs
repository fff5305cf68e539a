//! Commit and rollback.

use super::{
    core::{Core, Phase},
    restarts::Restarts,
    snapshots::Snapshots,
    writes::Writes,
};
use crate::lease::both;
use crate::{
    Check, CommitFence, CommitOutcome, CommitRequest, Conflict, Error, Isolation, KeepLocks,
    Result, RetryReason, Snapshot, Timestamp,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// The end of a transaction.
#[derive(Clone, Copy)]
pub(super) struct End<'a>(pub(super) &'a Core);

impl End<'_> {
    /// See [`crate::Transaction::commit`]; with `keep_locks`,
    /// [`crate::Transaction::commit_or_restart`].
    pub(super) async fn commit(self, keep_locks: bool) -> Result<CommitOutcome> {
        let result = match Writes(self.0).is_any() || self.0.lock_state().observer.is_some() {
            true => self.commit_writes(keep_locks).await,
            false => self.commit_reads(keep_locks).await,
        };
        if let Ok(CommitOutcome::Committed(_)) = &result {
            self.0.apply_local();
        }
        let counters = &self.0.database.inner.counters;
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
    async fn commit_reads(self, keep_locks: bool) -> Result<CommitOutcome> {
        let (at, segments, schema, has_locks) = {
            let state = self.0.active()?;
            let at = state.snapshot.as_ref().map_or(Timestamp(0), |s| s.timestamp());
            let loose = !state.reads.is_consistent() && self.0.keeps_reads();
            let schema = if state.met_newer { state.schema_segments() } else { Vec::new() };
            let segments = if loose { state.reads.segments() } else { Vec::new() };
            (at, segments, schema, state.has_locks)
        };
        let newest: Option<Arc<dyn Snapshot>> =
            segments.iter().map(|s| s.snapshot.clone()).max_by_key(|s| s.timestamp());
        let store = self.0.store();
        let mut conflict = None;
        if let Some(newest) = newest {
            conflict = self.0.round_trip(store.validate(&segments, &newest)).await?;
        }
        if conflict.is_none() && !schema.is_empty() {
            let newest = store.snapshot().await?;
            let found = self.0.round_trip(store.validate(&schema, &newest)).await?;
            conflict = found.map(|found| Conflict::new(RetryReason::SchemaChanged, found.key));
        }
        if conflict.is_none()
            && has_locks
            && let Some(proof) = store.prove_locks(self.0.id)
        {
            conflict = self.0.round_trip(proof).await?;
        }
        if keep_locks && let Some(conflict) = conflict {
            Restarts(self.0).transaction()?;
            return Ok(CommitOutcome::Retry(conflict));
        }
        self.end().await;
        Ok(conflict.map_or(CommitOutcome::Committed(at), CommitOutcome::Retry))
    }

    async fn commit_writes(self, keep_locks: bool) -> Result<CommitOutcome> {
        Snapshots(self.0).prove_first_read().await?;
        let keep = if keep_locks { KeepLocks::AfterRetry } else { KeepLocks::Never };
        let request = self.commit_request(keep)?;
        let ended = EndOnDrop(self.0);
        let outcome = self.0.round_trip(self.0.store().commit(request)).await;
        drop(ended);
        match outcome? {
            CommitOutcome::Retry(conflict)
                if conflict.tag != 0 && self.0.isolation() != Isolation::Serializable =>
            {
                if keep_locks {
                    self.0.store().release(self.0.id).await;
                }
                Err(Error::CheckChanged(Box::new(conflict)))
            }
            CommitOutcome::Retry(conflict) if keep_locks => {
                Restarts(self.0).reopen();
                Ok(CommitOutcome::Retry(conflict))
            }
            outcome => Ok(outcome),
        }
    }

    /// Takes out of the transaction what a store needs to commit it.
    pub(super) fn commit_request(self, keep_locks: KeepLocks) -> Result<CommitRequest> {
        let mut state = self.0.active()?;
        state.phase = Phase::Committing;
        let conflicts_since = match self.0.isolation() {
            Isolation::RepeatableRead => state.snapshot.clone(),
            Isolation::ReadCommitted | Isolation::Serializable => None,
        };
        let (new_keys, deleted_spans, writes) = state.buffer.drain();
        let checks = std::mem::take(&mut state.checks);
        let mut checks: Vec<Check> = checks.into_iter().map(|c| c.check).collect();
        let fence = state.fence.take().or_else(|| self.spare_schema(&mut checks));
        let fence = both(fence, state.session_fence.clone());
        Ok(CommitRequest {
            txn: self.0.id,
            reads: if self.0.keeps_reads() { state.reads.segments() } else { Vec::new() },
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
    fn spare_schema(self, checks: &mut Vec<Check>) -> Option<Arc<dyn CommitFence>> {
        let lease = self.0.database.inner.schema_lease.get()?;
        let is_schema = |check: &Check| check.conflict.reason == RetryReason::SchemaChanged;
        let schema = checks.iter().filter(|check| is_schema(check));
        let fence = lease.enter(schema.map(|check| check.snapshot.timestamp()).min()?)?;
        checks.retain(|check| !is_schema(check));
        Some(fence)
    }

    /// Rolls back: nothing was written yet, so only locks have to go. Harmless after the end.
    pub(super) async fn rollback(self) {
        let active = self.0.lock_state().phase == Phase::Active;
        if active {
            self.0.database.inner.counters.here().aborted.fetch_add(1, Relaxed);
            self.end().await;
        }
    }

    /// Ends without the store's help, but for the locks: once told of the end, the client may take
    /// them with another session that does not wait.
    async fn end(self) {
        let has_locks = {
            let mut state = self.0.lock_state();
            state.phase = Phase::Ended;
            state.snapshot = None;
            state.statements.clear();
            std::mem::take(&mut state.has_locks)
        };
        if has_locks {
            self.0.store().release(self.0.id).await;
        }
    }
}

/// After the hand-over the store releases the locks; here only the views have to go.
pub(super) struct EndOnDrop<'a>(pub(super) &'a Core);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock_state();
        state.phase = Phase::Ended;
        state.snapshot = None;
        state.statements.clear();
    }
}
