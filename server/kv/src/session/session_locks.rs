//! Locks that belong to a session, not to a transaction: advisory locks.
//!
//! Here: what a store offers for them. Not here: how often a session has taken each lock, and when
//! it gives one back; `exec` counts that.
//!
//! Rules: a lock is held until it is given back or the session is released, whatever becomes of
//! transactions. While a transaction is joined to its session, the search for deadlocks takes both
//! for one.

use crate::{Answer, LockStrength, LockWait, Result, TxnId};
use std::time::Duration;

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

/// A store with locks of sessions.
pub trait SessionLocks: Send + Sync {
    /// Makes the session and this transaction one for the search for deadlocks, until the
    /// transaction releases its locks.
    fn join(&self, session: TxnId, txn: TxnId);

    /// Takes a lock; false if another session holds it and the request does not wait.
    fn take<'a>(
        &'a self,
        lock: SessionLock<'a>,
        timeout: Option<Duration>,
    ) -> Answer<'a, Result<bool>>;

    /// Leaves the session with a lock of this strength on the key, or with none.
    fn keep(&self, session: TxnId, key: &[u8], strength: Option<LockStrength>);
}
