//! A gateway's lease, its fast periods, and the commits that are bound to them.
//!
//! ```text
//!   lease   ├── renewed ─── renewed ─── renewed ──┤ ended: never renewed again
//!   epochs     ├── fast ──┤      ├── fast ──┤
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use braid_kv::{CommitFence, Timestamp};

/// One unbroken lease.
#[derive(Debug)]
pub(crate) struct Lease {
    expires: AtomicU64,
}

impl Lease {
    pub(crate) fn new(expires: u64) -> Arc<Lease> {
        Arc::new(Lease { expires: AtomicU64::new(expires) })
    }

    /// It is known to last until then. Only for a lease that had not ended when that was written.
    pub(crate) fn extend(&self, expires: u64) {
        self.expires.fetch_max(expires, Ordering::AcqRel);
    }

    pub(crate) fn expires(&self) -> Timestamp {
        Timestamp(self.expires.load(Ordering::Acquire))
    }
}

impl CommitFence for Lease {
    fn before(&self) -> Timestamp {
        self.expires()
    }
}

/// One period in which a gateway is fast.
#[derive(Debug)]
pub struct Epoch {
    lease: Arc<Lease>,
    /// From here on no schema has changed.
    since: Timestamp,
    /// Commits that are not decided.
    commits: AtomicUsize,
}

impl Epoch {
    pub(crate) fn new(lease: Arc<Lease>, since: Timestamp) -> Arc<Epoch> {
        Arc::new(Epoch { lease, since, commits: AtomicUsize::new(0) })
    }

    /// Whether a catalog that was the newest in this period is so at that snapshot, too.
    pub fn covers(&self, snapshot: Timestamp) -> bool {
        snapshot < self.lease.expires()
    }

    /// Whether no commit is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.commits.load(Ordering::Acquire) == 0
    }

    /// A commit that needs no proof of what has not changed since then; `None` if that is before
    /// the period. The caller makes sure that the period is not over.
    pub(crate) fn enter(self: &Arc<Epoch>, since: Timestamp) -> Option<FastCommit> {
        if since < self.since {
            return None;
        }
        self.commits.fetch_add(1, Ordering::AcqRel);
        Some(FastCommit(self.clone()))
    }
}

/// A commit in a fast period.
pub(crate) struct FastCommit(Arc<Epoch>);

impl CommitFence for FastCommit {
    fn before(&self) -> Timestamp {
        self.0.lease.expires()
    }
}

impl Drop for FastCommit {
    fn drop(&mut self) {
        self.0.commits.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_commit_is_counted_until_it_is_decided() {
        let lease = Lease::new(100);
        let epoch = Epoch::new(lease.clone(), Timestamp(10));
        assert!(epoch.enter(Timestamp(9)).is_none());
        let commit = epoch.enter(Timestamp(10)).unwrap();
        assert!(!epoch.is_quiet());
        lease.extend(90);
        assert_eq!(commit.before(), Timestamp(100));
        lease.extend(110);
        assert_eq!(commit.before(), Timestamp(110));
        drop(commit);
        assert!(epoch.is_quiet());
        assert!(epoch.covers(Timestamp(109)) && !epoch.covers(Timestamp(110)));
    }
}
