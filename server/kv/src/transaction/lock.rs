//! Locks, refresh, and running a statement again.

use super::state::FirstRead;
use crate::{
    Error, Isolation, Key, LockRequest, LockTarget, Result, RetryReason, Seq, Snapshot, Span,
    Transaction, Value,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// How many locked values a transaction remembers, to answer later reads without a wait.
const KNOWN_MAX: usize = 65_536;

/// What a lock request has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockResult {
    /// For each target: whether it is locked now. False only with SKIP LOCKED.
    pub granted: Vec<bool>,
    /// For each target: whether it had changed since the snapshot. At READ COMMITTED the caller
    /// looks at the newest value again; at the other levels the transaction was refreshed.
    pub changed: Vec<bool>,
    /// For each key, if values were asked for: the newest one, own writes included.
    pub values: Vec<Option<Value>>,
}

impl Transaction {
    /// Locks keys or spans, in one wait with reading their newest values.
    ///
    /// When something locked has changed since the snapshot: at SERIALIZABLE the transaction is
    /// refreshed, and if that fails the error is a retry; at REPEATABLE READ it is a retry
    /// (`write_conflict`); at READ COMMITTED `changed` says so. In every case the locks stay.
    /// A caller that has sent nothing yet answers a retry with
    /// [`Transaction::restart_statement`].
    pub async fn lock(&self, seq: Seq, request: LockRequest) -> Result<LockResult> {
        self.lock_by(seq, &request).await
    }

    /// Like [`Transaction::lock`], for a caller that goes on to use the keys.
    pub async fn lock_by(&self, seq: Seq, request: &LockRequest) -> Result<LockResult> {
        if let Some(request) = self.without_local(request) {
            return self.lock_beside_local(seq, request).await;
        }
        if self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if let Some(known) = self.known(seq, request)? {
            return Ok(known);
        }
        let since = self.snapshot_for(seq).await?;
        let timeout = {
            let mut state = self.active()?;
            state.has_locks = true;
            state.lock_timeout
        };
        let store = &self.database.inner.store;
        let late = Late(self);
        let answer = store.lock(self.id(), request, &since, timeout);
        let grant = self.round_trip(crate::metrics::lock_wait(answer)).await?;
        drop(late);
        drop(self.active()?);
        let changed = grant.changed.iter().position(|changed| *changed);
        let mut at = since;
        if let Some(i) = changed {
            self.active()?.met_newer = true;
            match self.isolation() {
                Isolation::ReadCommitted => at = grant.newest.clone(),
                Isolation::RepeatableRead => {
                    let key = target_key(&request.target, i);
                    let conflict = crate::Conflict::new(RetryReason::WriteConflict, key);
                    return Err(self.retry(conflict));
                }
                Isolation::Serializable => {
                    self.refresh_to(&grant.newest).await?;
                    at = grant.newest.clone();
                }
            }
        }
        let mut result =
            LockResult { granted: grant.granted, changed: grant.changed, values: grant.values };
        if let LockTarget::Keys(keys) = &request.target {
            self.remember(seq, request, keys, &at, &mut result)?;
        }
        Ok(result)
    }

    /// The answer to a request whose keys are all locked already.
    fn known(&self, seq: Seq, request: &LockRequest) -> Result<Option<LockResult>> {
        let LockTarget::Keys(keys) = &request.target else { return Ok(None) };
        let state = self.active()?;
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            let Some((strength, value)) = state.known.get(key) else { return Ok(None) };
            if *strength < request.strength {
                return Ok(None);
            }
            values.push(value.clone());
        }
        drop(state);
        let n = keys.len();
        let mut result = LockResult { granted: vec![true; n], changed: vec![false; n], values };
        self.lay_own_over(seq, keys, &mut result)?;
        Ok(Some(result))
    }

    /// Enters locked keys into the read set and the known values, then lays own writes over them.
    fn remember(
        &self,
        seq: Seq,
        request: &LockRequest,
        keys: &[Key],
        at: &Arc<dyn Snapshot>,
        result: &mut LockResult,
    ) -> Result<()> {
        if !request.values {
            result.values = Vec::new();
            return Ok(());
        }
        if !request.remembered {
            return self.lay_own_over(seq, keys, result);
        }
        let keeps_reads = self.keeps_reads();
        let mut state = self.active()?;
        for (i, key) in keys.iter().enumerate() {
            if !result.granted[i] {
                continue;
            }
            if keeps_reads {
                state.reads.record(seq, at, Span::key(key.as_slice()));
            }
            if state.known.len() < KNOWN_MAX {
                let value = result.values[i].clone();
                let entry = state.known.entry(key.clone());
                let known = entry.or_insert((request.strength, None));
                *known = (known.0.max(request.strength), value);
            }
        }
        drop(state);
        self.lay_own_over(seq, keys, result)
    }

    pub(super) fn lay_own_over(
        &self,
        seq: Seq,
        keys: &[Key],
        result: &mut LockResult,
    ) -> Result<()> {
        for (i, key) in keys.iter().enumerate().filter(|(i, _)| result.granted[*i]) {
            if let Some(own) = self.own(seq, key)? {
                result.values[i] = own;
            }
        }
        Ok(())
    }

    /// Moves the snapshot to the newest view, if nothing that was read has changed since.
    /// At READ COMMITTED and REPEATABLE READ it does nothing.
    pub async fn refresh(&self) -> Result<()> {
        if self.isolation() != Isolation::Serializable || self.active()?.snapshot.is_none() {
            return Ok(());
        }
        let newest = self.database.inner.store.snapshot().await?;
        self.refresh_to(&newest).await
    }

    /// Proves that everything read so far holds at one snapshot, so that what was concluded from it
    /// is no accident. That may be in doubt only where statements were still reading during a
    /// refresh; otherwise it costs nothing.
    pub async fn prove_reads(&self) -> Result<()> {
        let segments = {
            let state = self.active()?;
            if state.reads.is_consistent() || !self.keeps_reads() {
                return Ok(());
            }
            state.reads.segments()
        };
        let store = &self.database.inner.store;
        let newest = store.snapshot().await?;
        match self.round_trip(store.validate(&segments, &newest)).await? {
            None => Ok(()),
            Some(conflict) => Err(self.retry(conflict)),
        }
    }

    /// Reads that are still under way keep their own snapshot in the read set: the commit
    /// compares each of them from where it was done.
    async fn refresh_to(&self, newest: &Arc<dyn Snapshot>) -> Result<()> {
        let (marks, segments) = {
            let mut state = self.active()?;
            if state.snapshot.as_ref().is_some_and(|s| s.timestamp() >= newest.timestamp()) {
                return Ok(());
            }
            if state.snapshot_is_fixed {
                return Err(Error::retry(RetryReason::WriteConflict, None));
            }
            (state.reads.marks(), state.reads.segments())
        };
        let counters = self.database.inner.counters.here();
        if !segments.is_empty() {
            let answer = self.database.inner.store.validate(&segments, newest);
            if let Some(conflict) = self.round_trip(answer).await? {
                counters.refresh_fail.fetch_add(1, Relaxed);
                return Err(self.retry(conflict));
            }
        }
        counters.refresh_success.fetch_add(1, Relaxed);
        let mut state = self.active()?;
        state.reads.advance(&marks, newest);
        if state.snapshot.as_ref().is_none_or(|s| s.timestamp() < newest.timestamp()) {
            state.snapshot = Some(newest.clone());
        }
        Ok(())
    }

    /// Prepares a statement that has met a newer version to run again: its writes and reads are
    /// forgotten, the snapshot moves forward, locks stay. Returns its new number.
    ///
    /// Allowed only if nothing of the statement's result was sent. It is a retry error if an
    /// earlier statement has read something that changed; at REPEATABLE READ, if an earlier
    /// statement has read at all; and if a lock was lost, which may be an earlier statement's.
    pub async fn restart_statement(&self, seq: Seq) -> Result<Seq> {
        if self.database.inner.store.has_lost_locks(self.id()) {
            return Err(Error::retry(RetryReason::LockLost, None));
        }
        let first = {
            let mut state = self.active()?;
            let is_bound = self.isolation() != Isolation::ReadCommitted;
            if is_bound && state.first_read.done().is_some_and(|read| !read.is_of(seq)) {
                // What an earlier statement has read without a snapshot cannot be shown any more.
                return Err(Error::retry(RetryReason::ReadChanged, None));
            }
            state.buffer.forget_statement(seq);
            state.local.forget_statement(seq);
            state.reads.forget_statement(seq);
            state.checks.retain(|c| c.statement != seq.number());
            state.left.retain(|(left, _)| left.number() != seq.number());
            state.statements.remove(&seq.number());
            state.first_read = FirstRead::None;
            state.first_reader.is_none_or(|first| first >= seq.number())
        };
        match self.isolation() {
            Isolation::ReadCommitted => {}
            Isolation::RepeatableRead if first && !self.active()?.snapshot_is_fixed => {
                self.active()?.snapshot = None;
            }
            Isolation::RepeatableRead => {
                return Err(Error::retry(RetryReason::WriteConflict, None));
            }
            Isolation::Serializable => self.refresh().await?,
        }
        Ok(self.next_statement())
    }
}

/// A lock request under way. If another task has ended the transaction meanwhile, what the request
/// has taken since goes with it, however it ends.
struct Late<'a>(&'a Transaction);

impl Drop for Late<'_> {
    fn drop(&mut self) {
        if self.0.has_ended() {
            drop(self.0.database.inner.store.release(self.0.id()));
        }
    }
}

fn target_key(target: &LockTarget, i: usize) -> Option<Key> {
    match target {
        LockTarget::Keys(keys) => keys.get(i).cloned(),
        LockTarget::Spans(spans) => spans.get(i).map(|s| s.start.clone()),
    }
}
