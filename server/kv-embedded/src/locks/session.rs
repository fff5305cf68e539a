//! Locks of sessions: taken like those of transactions, given back one by one.

use super::wait::LockManager;
use crate::locks::{Request, Target};
use braid_kv::{
    Answer, CommitFence, LockStrength, LockWait, Result, SessionLock, SessionLocks, TxnId,
};
use std::{sync::Arc, time::Duration};

impl LockManager {
    async fn take_for_session(
        &self,
        lock: SessionLock<'_>,
        timeout: Option<Duration>,
    ) -> Result<bool> {
        let SessionLock { session, key, strength, wait } = lock;
        if wait != LockWait::Block && self.is_wanted(session, key, strength) {
            return Ok(false);
        }
        let request = Request { txn: session, strength, wait, timeout };
        let granted = self.take(request, &[Target::Key(Arc::from(key))]).await?;
        Ok(granted.first().copied().unwrap_or(false))
    }
}

impl SessionLocks for LockManager {
    fn join(&self, session: TxnId, txn: TxnId) -> Option<Arc<dyn CommitFence>> {
        self.with_table(|table| table.pairs.join(session, txn));
        None
    }

    fn take<'a>(
        &'a self,
        lock: SessionLock<'a>,
        timeout: Option<Duration>,
    ) -> Answer<'a, Result<bool>> {
        Answer::wait(self.take_for_session(lock, timeout))
    }

    fn keep(
        &self,
        session: TxnId,
        key: &[u8],
        strength: Option<LockStrength>,
    ) -> Answer<'static, ()> {
        self.with_table(|table| table.keep(session, &Arc::from(key), strength));
        Answer::ready(())
    }
}
