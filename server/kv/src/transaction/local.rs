//! Keys of the session's [`LocalKeyspace`]: which they are, their locks, and their commit.

use crate::{
    Key, LocalKeyspace, LockRequest, LockResult, LockTarget, Result, Seq, Span, Transaction,
};
use std::sync::Arc;

/// A lock request that has local targets, with what is left of it for the store.
pub(super) struct BesideLocal {
    /// How many targets the whole request has.
    targets: usize,
    keys: Vec<Key>,
    /// The places of the targets that are the store's.
    places: Vec<usize>,
    rest: LockRequest,
}

impl Transaction {
    /// The keyspace that has this key, if it is local.
    pub(super) fn local_of(&self, key: &[u8]) -> Option<&Arc<LocalKeyspace>> {
        self.options.local.as_ref().filter(|local| local.span().contains(key))
    }

    /// The keyspace that has this span, if it is local.
    pub(crate) fn local_over(&self, span: &Span) -> Option<&Arc<LocalKeyspace>> {
        self.options.local.as_ref().filter(|local| local.span().contains_span(span))
    }

    /// What is left of a request without its local targets; `None` if it has none.
    pub(super) fn without_local(&self, request: &LockRequest) -> Option<BesideLocal> {
        let local = self.options.local.as_ref()?;
        let (targets, places, target, keys) = match &request.target {
            LockTarget::Keys(keys) => {
                let is_stored = |place: &usize| !local.span().contains(&keys[*place]);
                let places: Vec<usize> = (0..keys.len()).filter(is_stored).collect();
                if places.len() == keys.len() {
                    return None;
                }
                let stored = places.iter().map(|place| keys[*place].clone()).collect();
                (keys.len(), places, LockTarget::Keys(stored), keys.clone())
            }
            LockTarget::Spans(spans) => {
                let is_stored = |place: &usize| !local.span().contains_span(&spans[*place]);
                let places: Vec<usize> = (0..spans.len()).filter(is_stored).collect();
                if places.len() == spans.len() {
                    return None;
                }
                let stored = places.iter().map(|place| spans[*place].clone()).collect();
                (spans.len(), places, LockTarget::Spans(stored), Vec::new())
            }
        };
        let rest = LockRequest { target, ..request.clone() };
        Some(BesideLocal { targets, keys, places, rest })
    }

    /// Grants the local targets and locks the others in the store.
    pub(super) async fn lock_beside_local(
        &self,
        seq: Seq,
        request: BesideLocal,
    ) -> Result<LockResult> {
        let BesideLocal { targets, keys, places, rest } = request;
        let has_values = rest.values && !keys.is_empty();
        let mut result = LockResult {
            granted: vec![true; targets],
            changed: vec![false; targets],
            values: if has_values { vec![None; targets] } else { Vec::new() },
        };
        if !places.is_empty() {
            let stored = Box::pin(self.lock_by(seq, &rest)).await?;
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

    /// Carries out the local writes of a transaction that has committed.
    pub(super) fn apply_local(&self) {
        let Some(local) = &self.options.local else { return };
        let (_, deleted, writes) = {
            let mut state = self.lock_state();
            if state.local.is_empty() {
                return;
            }
            state.local.drain()
        };
        local.apply(&deleted, writes);
    }
}
