//! The store itself: the kv contract over the parts.

use crate::{
    bulk,
    cleaner::{self, CleanerStop},
    committer::{self, Committer},
    empty_spans::EmptySpans,
    files::Files,
    folder::{Folder, OpenError},
    locks::{Request, Target},
    options::EmbeddedOptions,
    reads::{RangeCache, View, view_of},
    recent_writes::RecentWrites,
    shared::Shared,
    tombstones::TombstoneIndex,
};
use braid_kv::{
    Answer, BulkLoad, CommitOutcome, CommitRequest, Conflict, LockGrant, LockInfo, LockRequest,
    LockTarget, ReadSegment, Result, SessionLocks, Snapshot, Span, SpanSet, Store, StoreMetric,
    StoreMetrics, StoreValue, TxnId,
};
use parking_lot::Mutex;
use std::{
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::JoinHandle,
    time::Duration,
};

/// The kv contract on one machine. See the crate's documentation.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    cleaner: Arc<CleanerStop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The options after the environment's `BRAID_UNSAFE_*` switches.
#[cfg(feature = "unsafe-switches")]
fn switched(mut options: EmbeddedOptions) -> EmbeddedOptions {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| value == "1");
    if is_set("BRAID_UNSAFE_NO_SYNC") {
        tracing::warn!("BRAID_UNSAFE_NO_SYNC=1: commits are not synced and will be lost");
        options.sync = false;
    }
    if is_set("BRAID_UNSAFE_NO_VALIDATION") {
        tracing::warn!("BRAID_UNSAFE_NO_VALIDATION=1: nothing is serializable");
        options.validate = false;
    }
    options
}

impl EmbeddedStore {
    /// Opens the database in `folder`, or creates one if the folder is empty or missing.
    ///
    /// A build with the feature `unsafe-switches` reads two variables of the environment.
    /// `BRAID_UNSAFE_NO_SYNC=1` switches syncing off, for the test that must see lost commits.
    /// `BRAID_UNSAFE_NO_VALIDATION=1` switches the validation of reads off, for the test that must
    /// see an anomaly.
    pub fn open(
        folder: impl AsRef<Path>,
        options: EmbeddedOptions,
    ) -> std::result::Result<EmbeddedStore, OpenError> {
        #[cfg(feature = "unsafe-switches")]
        let options = switched(options);
        let folder = Folder::take(folder.as_ref())?;
        let files = Arc::new(Files::open(folder, &options)?);
        // Everything below the first free number is used up, whether or not it was given out.
        let number = files.next_number()?;
        let durable = files.last_commit()?.map_or(0, |last| last.number);
        let tombstones = Arc::new(TombstoneIndex::new(files.tombstones()?));
        let recent = Arc::new(Mutex::new(RecentWrites::new(number, options.recent_bytes_max)));
        let range_cache = Arc::new(RangeCache::new(
            recent.clone(),
            options.range_cache_bytes,
            options.range_cache_scan_bytes_min,
        ));
        let empty_spans = Arc::new(EmptySpans::new(recent.clone(), options.empty_span_deletes_min));
        let view = View::of_now(&files, &range_cache, &empty_spans, number, tombstones);
        let shared = Arc::new(Shared::new(files, options, recent, view.clone(), durable));
        let store = EmbeddedStore {
            shared: shared.clone(),
            cleaner: Arc::default(),
            threads: Mutex::default(),
        };
        shared.queue.give_back(Box::new(Committer::new(shared.clone(), &view)), 0);
        let for_committer = shared.clone();
        store.spawn("braid-committer", move || Committer::run(&for_committer))?;
        let stop = store.cleaner.clone();
        store.spawn("braid-cleaner", move || cleaner::run(&shared, &stop))?;
        Ok(store)
    }

    fn spawn(
        &self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> std::result::Result<(), OpenError> {
        let path = self.shared.files.folder.path();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Why the store has stopped, if it has.
    pub fn stopped(&self) -> Option<Arc<str>> {
        self.shared.stopped.get().cloned()
    }

    /// Why commits are refused because of the disk, if they are; reads go on.
    pub fn refuses_writes(&self) -> Option<String> {
        self.shared.files.folder.lacks_room(self.shared.options.disk_reserve_bytes, 0)
    }

    /// Reads all that is stored, so that every block is checked against its checksum: how many
    /// entries there are.
    pub fn read_all(&self) -> Result<u64> {
        self.shared.files.read_all()
    }

    fn shut_down(&self) {
        self.cleaner.stop();
        self.shared.queue.close();
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store has panicked");
            }
        }
    }

    async fn lock_and_read(
        &self,
        txn: TxnId,
        request: &LockRequest,
        since: &Arc<dyn Snapshot>,
        timeout: Option<Duration>,
    ) -> Result<LockGrant> {
        self.shared.check_running()?;
        let (order, targets) = ordered_targets(&request.target);
        let wanted = Request { txn, strength: request.strength, wait: request.wait, timeout };
        let in_order = self.shared.locks.take(wanted, &targets).await?;
        let mut granted = vec![false; targets.len()];
        for (at, granted_here) in order.into_iter().zip(in_order) {
            granted[at] = granted_here;
        }
        // The locks are held, so this view shows the last word about what is locked.
        let newest = self.shared.current();
        let (old, new) = (view_of(since)?, &newest.0);
        let mut changed = vec![false; granted.len()];
        let mut values = Vec::new();
        match &request.target {
            LockTarget::Keys(keys) => {
                for (i, key) in keys.iter().enumerate().filter(|(i, _)| granted[*i]) {
                    changed[i] = self.shared.key_changed(key, old, new)?;
                }
                if request.values {
                    values = new.read_all(keys)?;
                    let taken = values.iter_mut().zip(&granted);
                    taken.filter(|(_, granted)| !**granted).for_each(|(value, _)| *value = None);
                }
            }
            LockTarget::Spans(spans) => {
                for (i, span) in spans.iter().enumerate().filter(|(i, _)| granted[*i]) {
                    let spans = SpanSet::from_iter([span.clone()]);
                    let segment = ReadSegment { snapshot: since.clone(), spans };
                    changed[i] = self.shared.changed_by_now(&segment)?.is_some();
                }
            }
        }
        Ok(LockGrant { granted, changed, values, newest })
    }
}

/// Targets in key order, and where each of them was in the request.
fn ordered_targets(target: &LockTarget) -> (Vec<usize>, Vec<Target>) {
    match target {
        LockTarget::Keys(keys) => {
            let mut order: Vec<usize> = (0..keys.len()).collect();
            order.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
            let at = |&i: &usize| Target::Key(Arc::from(keys[i].as_slice()));
            let targets = order.iter().map(at).collect();
            (order, targets)
        }
        LockTarget::Spans(spans) => {
            let mut order: Vec<usize> = (0..spans.len()).collect();
            order.sort_by(|&a, &b| spans[a].cmp(&spans[b]));
            let at = |&i: &usize| Target::Span(Arc::new(spans[i].clone()));
            let targets = order.iter().map(at).collect();
            (order, targets)
        }
    }
}

impl Store for EmbeddedStore {
    fn snapshot(&self) -> Answer<'_, Result<Arc<dyn Snapshot>>> {
        let running = self.shared.check_running();
        Answer::ready(running.map(|()| self.shared.current() as Arc<dyn Snapshot>))
    }

    fn lock<'a>(
        &'a self,
        txn: TxnId,
        request: &'a LockRequest,
        since: &'a Arc<dyn Snapshot>,
        timeout: Option<Duration>,
    ) -> Answer<'a, Result<LockGrant>> {
        Answer::wait(self.lock_and_read(txn, request, since, timeout))
    }

    fn validate<'a>(
        &'a self,
        reads: &'a [ReadSegment],
        _to: &'a Arc<dyn Snapshot>,
    ) -> Answer<'a, Result<Option<Conflict>>> {
        // What the committer has accepted beyond `to` counts as well: it is about to be there.
        let found =
            reads.iter().find_map(|segment| self.shared.changed_by_now(segment).transpose());
        Answer::ready(found.transpose())
    }

    fn commit(&self, request: CommitRequest) -> Answer<'_, Result<CommitOutcome>> {
        Answer::wait(committer::commit(&self.shared, request))
    }

    fn release(&self, txn: TxnId) -> Answer<'_, ()> {
        self.shared.locks.release(txn);
        Answer::ready(())
    }

    fn can_prepare(&self) -> bool {
        true
    }

    fn bulk_load(&self, span: Span) -> Answer<'_, Result<Option<Box<dyn BulkLoad>>>> {
        Answer::wait(bulk::begin(&self.shared, span))
    }

    fn session_locks(&self) -> Option<&dyn SessionLocks> {
        Some(&self.shared.locks)
    }

    fn locks(&self) -> Vec<LockInfo> {
        self.shared.locks.list()
    }

    fn awaited_locks(&self) -> Vec<LockInfo> {
        self.shared.locks.awaited()
    }

    fn metrics(&self) -> StoreMetrics {
        let counters = &self.shared.counters;
        let locks = &self.shared.locks;
        let (held, waiters, deadlocks) = locks.counts();
        StoreMetrics {
            commits: counters.commits.load(Relaxed),
            commit_batch_sizes: counters.batch_sizes.read(),
            commit_batch_max: counters.batch_max.load(Relaxed),
            syncs: counters.syncs.load(Relaxed),
            sync_nanos: counters.sync_nanos.read(),
            lock_wait_nanos: locks.wait_nanos.read(),
            locks_held: held as u64,
            lock_waiters: waiters as u64,
            deadlocks,
            conflicts: counters.conflicts.load(Relaxed),
            revalidations: counters.revalidations.load(Relaxed),
            recent_bytes: self.shared.recent.lock().bytes() as u64,
            range_cache_bytes: self.shared.range_cache.bytes() as u64,
            range_cache_hits: self.shared.range_cache.hits.load(Relaxed),
            range_cache_misses: self.shared.range_cache.misses.load(Relaxed),
            tombstones: self.shared.current().0.tombstones.len() as u64,
            cleaned: counters.cleaned.load(Relaxed),
            compactions: counters.compactions.load(Relaxed),
            disk_bytes: self.shared.files.db.disk_space().unwrap_or(0),
        }
    }

    fn own_metrics(&self) -> Vec<StoreMetric> {
        let empty_spans = &self.shared.empty_spans;
        let ingested = self.shared.counters.ingested.load(Relaxed);
        vec![
            StoreMetric {
                name: "braid_store_ingested_commits_total",
                help: "Commits so large that their writes became tables of the store at once.",
                label: None,
                value: StoreValue::Counter(ingested),
            },
            StoreMetric {
                name: "braid_store_empty_span_bytes",
                help: "Bytes of the map of spans that hold nothing but deleted keys.",
                label: None,
                value: StoreValue::Gauge(empty_spans.bytes() as u64),
            },
            StoreMetric {
                name: "braid_store_empty_span_jumps_total",
                help: "Spans of deleted keys that scans have jumped over.",
                label: None,
                value: StoreValue::Counter(empty_spans.jumps.load(Relaxed)),
            },
        ]
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        self.shut_down();
        Answer::ready(self.shared.check_running())
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.shut_down();
    }
}
