//! What callers, the committer and the cleaner share.

use crate::{
    account::{self, Account},
    bulk::Watches,
    committer::{Leader, Queue},
    empty_spans::EmptySpans,
    files::Files,
    locks::LockManager,
    options::EmbeddedOptions,
    reads::{RangeCache, View, ViewSnapshot},
    recent_writes::RecentWrites,
};
use braid_kv::{COUNT_BOUNDS, Error, Histogram, Result};
use parking_lot::{Mutex, RwLock};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Counters of the store.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) batch_sizes: Histogram,
    pub(crate) batch_max: AtomicU64,
    pub(crate) ingested: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) sync_nanos: Histogram,
    pub(crate) conflicts: AtomicU64,
    pub(crate) revalidations: AtomicU64,
    pub(crate) cleaned: AtomicU64,
    pub(crate) compactions: AtomicU64,
}

pub(crate) struct Shared {
    pub(crate) files: Arc<Files>,
    pub(crate) options: EmbeddedOptions,
    pub(crate) locks: LockManager,
    pub(crate) recent: Arc<Mutex<RecentWrites>>,
    pub(crate) range_cache: Arc<RangeCache>,
    pub(crate) empty_spans: Arc<EmptySpans>,
    pub(crate) queue: Queue<dyn Leader>,
    pub(crate) watches: Watches,
    pub(crate) counters: Counters,
    pub(crate) stopped: OnceLock<Arc<str>>,
    /// The number of the last commit that is written and synced.
    pub(crate) durable: AtomicU64,
    /// Held while the account is written; true once it says that the stop was clean.
    account: Mutex<bool>,
    current: RwLock<Arc<ViewSnapshot>>,
}

impl Shared {
    pub(crate) fn new(
        files: Arc<Files>,
        options: EmbeddedOptions,
        recent: Arc<Mutex<RecentWrites>>,
        view: Arc<View>,
        durable: u64,
    ) -> Shared {
        Shared {
            files,
            locks: LockManager::new(options.locks_max),
            recent,
            range_cache: view.range_cache.clone(),
            empty_spans: view.empty_spans.clone(),
            queue: Queue::default(),
            watches: Watches::default(),
            counters: Counters {
                batch_sizes: Histogram::new(&COUNT_BOUNDS),
                ..Counters::default()
            },
            stopped: OnceLock::new(),
            durable: AtomicU64::new(durable),
            account: Mutex::new(false),
            current: RwLock::new(Arc::new(ViewSnapshot(view))),
            options,
        }
    }

    /// Writes down how far the store is durable. A failure costs a proof, no data.
    pub(crate) fn write_account(&self, is_clean: bool) {
        let folder = &self.files.folder;
        let mut was_clean = self.account.lock();
        if *was_clean {
            return;
        }
        *was_clean = is_clean;
        // First the commit: journals are made before what is written to them.
        let commit = self.durable.load(Relaxed);
        let written = account::newest_journal(folder)
            .and_then(|journal| account::write(folder, Account { commit, journal, is_clean }));
        if let Err(error) = written {
            tracing::warn!(%error, "the account of the data folder could not be written");
        }
    }

    /// The newest published view.
    pub(crate) fn current(&self) -> Arc<ViewSnapshot> {
        self.current.read().clone()
    }

    /// Makes a view the newest one. Only the committer does this.
    pub(crate) fn publish(&self, view: Arc<View>) {
        *self.current.write() = Arc::new(ViewSnapshot(view));
    }

    /// The error to answer with after the store has stopped.
    pub(crate) fn check_running(&self) -> Result<()> {
        match self.stopped.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Stopped(reason.clone())),
        }
    }
}
