//! Locks of the session in which a transaction runs.

use crate::{Error, Result, SessionLock, Transaction, TxnId};

impl Transaction {
    /// Makes the session and this transaction one for the search for deadlocks.
    pub fn join_session(&self, session: TxnId) -> Result<()> {
        let mut state = self.active()?;
        if let Some(locks) = self.database.store().session_locks() {
            // The release at the transaction's end parts them.
            state.has_locks = true;
            locks.join(session, self.id());
        }
        Ok(())
    }

    /// Takes a lock for the session in which this transaction runs; `None` if the store has no
    /// such locks.
    pub async fn lock_for_session(&self, lock: SessionLock<'_>) -> Result<Option<bool>> {
        let Some(locks) = self.database.store().session_locks() else { return Ok(None) };
        self.join_session(lock.session)?;
        let timeout = self.active()?.lock_timeout;
        let granted = crate::metrics::lock_wait(locks.take(lock, timeout)).await?;
        // Another task may have ended the transaction meanwhile.
        match self.has_ended() {
            true => Err(Error::Finished),
            false => Ok(Some(granted)),
        }
    }
}
