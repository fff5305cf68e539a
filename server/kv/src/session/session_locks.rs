//! Locks that belong to a session, not to a transaction: advisory locks.
//!
//! Here: what keeps them. An embedded store keeps them itself; over a store that several gateways
//! share, the crate `cluster` does. Not here: how often a session has taken each lock, and when it
//! gives one back; `exec` counts that.
//!
//! Rules: a lock is held until it is given back or the session is released, whatever becomes of
//! transactions. While a transaction is joined to its session, the search for deadlocks takes both
//! for one. A lock that can be lost binds the commits of joined transactions to the time in which
//! it cannot.

use crate::{Answer, CommitFence, LockInfo, LockStrength, LockWait, Result, TxnId};
use std::{sync::Arc, time::Duration};

/// A request for one lock of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionLock<'a> {
    /// The session, a number from [`crate::Database::new_session`].
    pub session: TxnId,
    /// What is locked. No stored key is equal to it.
    pub key: &'a [u8],
    /// How strongly.
    pub strength: LockStrength,
    /// What to do when another session holds it.
    pub wait: LockWait,
}

/// What keeps the locks of sessions.
pub trait SessionLocks: Send + Sync {
    /// Makes the session and this transaction one for the search for deadlocks, until the
    /// transaction releases its locks. A fence that is returned binds the transaction's commit.
    fn join(&self, session: TxnId, txn: TxnId) -> Option<Arc<dyn CommitFence>>;

    /// Takes a lock; false if another session holds it and the request does not wait.
    fn take<'a>(
        &'a self,
        lock: SessionLock<'a>,
        timeout: Option<Duration>,
    ) -> Answer<'a, Result<bool>>;

    /// Leaves the session with a lock of this strength on the key, or with none. That goes its way
    /// whether or not the answer is waited for, and with the answer others can have the lock.
    fn keep(
        &self,
        session: TxnId,
        key: &[u8],
        strength: Option<LockStrength>,
    ) -> Answer<'static, ()>;

    /// Locks held and awaited now that [`crate::Store::locks`] does not show.
    fn shown(&self) -> Vec<LockInfo> {
        Vec::new()
    }
}
