//! Keys of the session's [`LocalKeyspace`]: which they are, what is left of a lock request
//! without them, and their commit.

use super::core::Core;
use crate::{Key, LocalKeyspace, LockRequest, LockTarget, Span};
use std::sync::Arc;

/// A lock request that has local targets, with what is left of it for the store.
pub(super) struct BesideLocal {
    /// How many targets the whole request has.
    pub targets: usize,
    pub keys: Vec<Key>,
    /// The places of the targets that are the store's.
    pub places: Vec<usize>,
    pub rest: LockRequest,
}

impl Core {
    /// The keyspace that has this key, if it is local.
    pub(super) fn local_of(&self, key: &[u8]) -> Option<&Arc<LocalKeyspace>> {
        self.options.local.as_ref().filter(|local| local.span().contains(key))
    }

    /// The keyspace that has this span, if it is local.
    pub(super) fn local_over(&self, span: &Span) -> Option<&Arc<LocalKeyspace>> {
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
