//! Locks on keys and spans, and locks of the session in which the transaction runs.

use super::{core::Core, local::BesideLocal, reads::Reads, snapshots::Snapshots};
use crate::{
    Error, Isolation, Key, LockRequest, LockTarget, Result, RetryReason, Seq, SessionLock,
    Snapshot, Span, TxnId, Value,
};
use std::{sync::Arc, time::Duration};

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

/// The locks of a transaction.
#[derive(Clone, Copy)]
pub struct Locks<'a>(pub(super) &'a Core);

impl Locks<'_> {
    /// Locks keys or spans, in one wait with reading their newest values.
    ///
    /// When something locked has changed since the snapshot: at SERIALIZABLE the transaction is
    /// refreshed, and if that fails the error is a retry; at REPEATABLE READ it is a retry
    /// (`write_conflict`); at READ COMMITTED `changed` says so. In every case the locks stay.
    /// A caller that has sent nothing yet answers a retry with
    /// [`crate::Restarts::statement`].
    pub async fn take(self, seq: Seq, request: &LockRequest) -> Result<LockResult> {
        if let Some(request) = self.0.without_local(request) {
            return self.lock_beside_local(seq, request).await;
        }
        if self.0.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if let Some(known) = self.known(seq, request)? {
            return Ok(known);
        }
        let since = Snapshots(self.0).snapshot_for(seq).await?;
        let timeout = {
            let mut state = self.0.active()?;
            state.has_locks = true;
            state.lock_timeout
        };
        let store = self.0.store();
        let late = Late(self.0);
        let answer = store.lock(self.0.id, request, &since, timeout);
        let grant = self.0.round_trip(crate::metrics::lock_wait(answer)).await?;
        drop(late);
        drop(self.0.active()?);
        let changed = grant.changed.iter().position(|changed| *changed);
        let mut at = since;
        if let Some(i) = changed {
            self.0.active()?.met_newer = true;
            match self.0.isolation() {
                Isolation::ReadCommitted => at = grant.newest.clone(),
                Isolation::RepeatableRead => {
                    let key = target_key(&request.target, i);
                    let conflict = crate::Conflict::new(RetryReason::WriteConflict, key);
                    return Err(self.0.retry(conflict));
                }
                Isolation::Serializable => {
                    Snapshots(self.0).refresh_to(&grant.newest).await?;
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
    fn known(self, seq: Seq, request: &LockRequest) -> Result<Option<LockResult>> {
        let LockTarget::Keys(keys) = &request.target else { return Ok(None) };
        let state = self.0.active()?;
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
        self,
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
        let keeps_reads = self.0.keeps_reads();
        let mut state = self.0.active()?;
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

    fn lay_own_over(self, seq: Seq, keys: &[Key], result: &mut LockResult) -> Result<()> {
        for (i, key) in keys.iter().enumerate().filter(|(i, _)| result.granted[*i]) {
            if let Some(own) = Reads(self.0).own(seq, key)? {
                result.values[i] = own;
            }
        }
        Ok(())
    }

    /// Grants the local targets and locks the others in the store.
    async fn lock_beside_local(self, seq: Seq, request: BesideLocal) -> Result<LockResult> {
        let BesideLocal { targets, keys, places, rest } = request;
        let has_values = rest.values && !keys.is_empty();
        let mut result = LockResult {
            granted: vec![true; targets],
            changed: vec![false; targets],
            values: if has_values { vec![None; targets] } else { Vec::new() },
        };
        if !places.is_empty() {
            let stored = Box::pin(self.take(seq, &rest)).await?;
            for (at, place) in places.into_iter().enumerate() {
                result.granted[place] = stored.granted[at];
                result.changed[place] = stored.changed[at];
                if has_values && let Some(value) = stored.values.get(at) {
                    result.values[place].clone_from(value);
                }
            }
        }
        if has_values {
            self.lay_own_over(seq, &keys, &mut result)?;
        }
        Ok(result)
    }

    /// How long each lock request waits from now on, those of the commit included; `None` waits
    /// for ever.
    pub fn set_timeout(self, timeout: Option<Duration>) {
        self.0.lock_state().lock_timeout = timeout;
    }

    /// Makes the session and this transaction one for the search for deadlocks.
    pub fn join_session(self, session: TxnId) -> Result<()> {
        let mut state = self.0.active()?;
        if let Some(locks) = self.0.database.session_locks() {
            // The release at the transaction's end parts them.
            state.has_locks = true;
            state.session_fence = locks.join(session, self.0.id);
        }
        Ok(())
    }

    /// Takes a lock for the session in which this transaction runs; false if another session holds
    /// it and the request does not wait.
    pub async fn take_for_session(self, lock: SessionLock<'_>) -> Result<bool> {
        let Some(locks) = self.0.database.session_locks() else {
            return Err(Error::Storage("nothing keeps locks of sessions".into()));
        };
        self.join_session(lock.session)?;
        let timeout = self.0.active()?.lock_timeout;
        let granted = crate::metrics::lock_wait(locks.take(lock, timeout)).await?;
        // Another task may have ended the transaction meanwhile.
        match self.0.has_ended() {
            true => Err(Error::Finished),
            false => Ok(granted),
        }
    }
}

/// A lock request under way. If another task has ended the transaction meanwhile, what the request
/// has taken since goes with it, however it ends.
struct Late<'a>(&'a Core);

impl Drop for Late<'_> {
    fn drop(&mut self) {
        if self.0.has_ended() {
            drop(self.0.store().release(self.0.id));
        }
    }
}

fn target_key(target: &LockTarget, i: usize) -> Option<Key> {
    match target {
        LockTarget::Keys(keys) => keys.get(i).cloned(),
        LockTarget::Spans(spans) => spans.get(i).map(|s| s.start.clone()),
    }
}
