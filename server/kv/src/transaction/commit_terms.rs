//! What a commit depends on, and who is told of it.

use super::core::Core;
use crate::{CommitFence, CommitObserver, Key, Snapshot};
use std::sync::Arc;

/// What the commit of a transaction depends on, and who is told of it.
#[derive(Clone, Copy)]
pub struct CommitTerms<'a>(pub(super) &'a Core);

impl CommitTerms<'_> {
    /// Requires at commit, at every isolation level, that `key` has not changed since the
    /// transaction's snapshot (at READ COMMITTED: since the statement snapshot in force now, or
    /// else the next one). Otherwise the commit is a retry with reason `schema_changed`.
    pub fn require_unchanged(self, key: Key) {
        let mut state = self.0.lock_state();
        match state.snapshot_in_force() {
            Some(snapshot) => state.add_unchanged(key, &snapshot),
            None => state.unchanged.push(key),
        }
    }

    /// The same since a snapshot of this transaction that was in force before.
    pub fn require_unchanged_since(self, key: Key, snapshot: &Arc<dyn Snapshot>) {
        self.0.lock_state().add_unchanged(key, snapshot);
    }

    /// The snapshot in force: the transaction's, or at READ COMMITTED that of its newest statement.
    pub fn snapshot(self) -> Option<Arc<dyn Snapshot>> {
        self.0.lock_state().snapshot_in_force()
    }

    /// Binds the next commit to a point of time. It then proves its schema by itself.
    pub fn set_fence(self, fence: Arc<dyn CommitFence>) {
        self.0.lock_state().fence = Some(fence);
    }

    /// Sets an observer, which is called in the order of commits; see
    /// [`crate::CommitRequest::observer`]. Such a commit is that of a writer, whatever it writes.
    pub fn observe(self, observer: Arc<dyn CommitObserver>) {
        self.0.lock_state().observer = Some(observer);
    }
}
