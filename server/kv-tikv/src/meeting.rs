//! A reader meets locks: it looks who holds them and reads past them, or waits.

use crate::{
    backoff::Backoff,
    cluster::{Cluster, Manner},
    metrics::Cause,
    resolve::Fate,
};
use braid_kv::{Error, Result};
use braid_tikv_proto::kvrpcpb::LockInfo;
use parking_lot::Mutex;
use std::sync::Arc;

/// A lock of the oldest transaction that was pushed while it committed.
#[derive(Clone, Default)]
pub(crate) struct OldestPushed(Arc<Mutex<Option<LockInfo>>>);

impl OldestPushed {
    /// The lock, if its transaction is older than one that has started then.
    pub fn before(&self, start: u64) -> Option<LockInfo> {
        self.0.lock().clone().filter(|lock| lock.lock_version < start)
    }

    fn note(&self, lock: &LockInfo) {
        let mut oldest = self.0.lock();
        if oldest.as_ref().is_none_or(|oldest| lock.lock_version < oldest.lock_version) {
            *oldest = Some(lock.clone());
        }
    }
}

/// What a read at one timestamp has learned of the locks in its way.
pub(crate) struct Meeting {
    ts: u64,
    manner: Manner,
    backoff: Backoff,
    /// Locks were met before: a commit in flight has had its moment to finish.
    met: bool,
    pushed: Option<OldestPushed>,
}

impl Meeting {
    /// A read at `ts` that passes over locks of the transaction `own`, if it is not 0.
    pub fn new(cluster: &Cluster, ts: u64, own: u64) -> Meeting {
        let bypass = if own == 0 { Vec::new() } else { vec![own] };
        let manner = Manner { bypass, ..Manner::default() };
        Meeting { ts, manner, backoff: cluster.backoff(), met: false, pushed: None }
    }

    /// A read that pushes at once what can be pushed, and says so: the validation of a commit.
    pub fn pushing(mut self, pushed: &OldestPushed) -> Meeting {
        self.met = true;
        self.pushed = Some(pushed.clone());
        self
    }

    pub fn manner(&self) -> &Manner {
        &self.manner
    }

    /// Deals with locks that were met. Afterwards the read is tried again.
    pub async fn deal(&mut self, cluster: &Arc<Cluster>, locks: &[LockInfo]) -> Result<()> {
        cluster.metrics.retry(Cause::Locked);
        if !self.met {
            // Most locks are of a commit in flight. Pushing it would make it validate again.
            self.met = true;
            self.backoff.blink().await;
            return Ok(());
        }
        let (mut must_wait, mut news) = (false, false);
        for lock in locks {
            let holder = lock.lock_version;
            if self.manner.bypass.contains(&holder) || self.manner.committed.contains(&holder) {
                // Known already: met by another request of the same read.
                continue;
            }
            news = true;
            let fate = cluster.fate(lock, self.ts).await?;
            if let (Fate::Pushed, Some(pushed)) = (fate, &self.pushed) {
                pushed.note(lock);
            }
            match fate {
                Fate::Committed(at) if at <= self.ts => self.manner.committed.push(holder),
                Fate::Committed(_) | Fate::RolledBack | Fate::Pushed => {
                    self.manner.bypass.push(holder);
                }
                Fate::Alive => must_wait = true,
            }
            if matches!(fate, Fate::Committed(_) | Fate::RolledBack) {
                let its = locks.iter().filter(|lock| lock.lock_version == holder);
                cluster.clear_later(its.cloned().collect(), fate);
            }
        }
        if (must_wait || !news) && !self.backoff.sleep().await {
            return Err(Error::Storage("a lock in TiKV stays in the way of a read".into()));
        }
        Ok(())
    }
}
