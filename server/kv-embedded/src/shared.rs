//! What callers, the committer and the cleaner share.

use crate::{
    account::{self, Account},
    committer::Queue,
    empty_spans::EmptySpans,
    files::Files,
    locks::LockManager,
    options::EmbeddedOptions,
    range_cache::RangeCache,
    recent::RecentWrites,
    view::{View, ViewHandle},
};
use braid_kv::{
    COUNT_BOUNDS, Check, Conflict, Error, Histogram, Key, Matching, ReadSegment, Result,
    RetryReason, Snapshot, Span, SpanSet,
};
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
    pub(crate) queue: Queue,
    pub(crate) counters: Counters,
    pub(crate) stopped: OnceLock<Arc<str>>,
    /// The number of the last commit that is written and synced.
    pub(crate) durable: AtomicU64,
    /// Held while the account is written; true once it says that the stop was clean.
    account: Mutex<bool>,
    current: RwLock<Arc<ViewHandle>>,
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
            counters: Counters {
                batch_sizes: Histogram::new(&COUNT_BOUNDS),
                ..Counters::default()
            },
            stopped: OnceLock::new(),
            durable: AtomicU64::new(durable),
            account: Mutex::new(false),
            current: RwLock::new(Arc::new(ViewHandle(view))),
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
    pub(crate) fn current(&self) -> Arc<ViewHandle> {
        self.current.read().clone()
    }

    /// Makes a view the newest one. Only the committer does this.
    pub(crate) fn publish(&self, view: Arc<View>) {
        *self.current.write() = Arc::new(ViewHandle(view));
    }

    /// The error to answer with after the store has stopped.
    pub(crate) fn check_running(&self) -> Result<()> {
        match self.stopped.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Stopped(reason.clone())),
        }
    }

    /// Whether everything in the segment is unchanged, up to the newest view and, beyond it, up
    /// to what the committer has accepted since. Answers with the first change found.
    ///
    /// `recent` is passed in by those who must not let go of it between two checks.
    pub(crate) fn changed_since(
        &self,
        recent: &RecentWrites,
        segment: &ReadSegment,
    ) -> Result<Option<Conflict>> {
        if !self.options.validate {
            return Ok(None);
        }
        let view = view_of(&segment.snapshot)?;
        if recent.knows(view.number()) {
            let key = recent.changed(&segment.spans, view.number());
            return Ok(key.map(|key| conflict(&segment.spans, key)));
        }
        let now = self.current();
        match self.reread(view, &now.0, &segment.spans)? {
            Some(found) => Ok(Some(found)),
            None => {
                let key = recent.changed(&segment.spans, now.0.number());
                Ok(key.map(|key| conflict(&segment.spans, key)))
            }
        }
    }

    /// Whether the key of an existence check is gone, up to what the committer has accepted.
    pub(crate) fn gone_since(&self, recent: &RecentWrites, check: &Check) -> Result<bool> {
        if !self.options.validate {
            return Ok(false);
        }
        let view = view_of(&check.snapshot)?;
        let key = &check.span.start;
        if recent.knows(view.number()) {
            return Ok(recent.key_gone(key, view.number()));
        }
        let now = self.current();
        Ok(now.0.version(key)?.is_none() || recent.key_gone(key, now.0.number()))
    }

    /// Whether an entry that `matching` is about was put into the span after its snapshot, up to
    /// the newest view. What the committer has accepted since then is not in a view yet.
    pub(crate) fn has_come(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        span: &Span,
        matching: &Matching,
        now: &View,
    ) -> Result<bool> {
        let since = view_of(snapshot)?.number();
        if !self.options.validate || since >= now.number() {
            return Ok(false);
        }
        let recent = self.recent.lock();
        let puts = recent.knows(since).then(|| recent.puts(span, since));
        drop(recent);
        let matters = |key: &[u8]| {
            let value = now.read(key)?;
            Ok::<bool, Error>(value.is_some_and(|value| matching.0.matters(key, &value)))
        };
        if let Some(puts) = puts {
            for key in puts {
                if matters(&key)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        self.counters.revalidations.fetch_add(1, Relaxed);
        for entry in now.versions(span) {
            let (key, number) = entry?;
            if number > since && matters(&key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same as [`Shared::changed_since`] for callers who need no more than one answer: a
    /// comparison that has to read does not hold up the committer.
    pub(crate) fn changed_by_now(&self, segment: &ReadSegment) -> Result<Option<Conflict>> {
        let view = view_of(&segment.snapshot)?;
        if !self.options.validate || self.recent.lock().knows(view.number()) {
            return self.changed_since(&self.recent.lock(), segment);
        }
        let now = self.current();
        if let Some(found) = self.reread(view, &now.0, &segment.spans)? {
            return Ok(Some(found));
        }
        let spans = segment.spans.clone();
        self.changed_since(&self.recent.lock(), &ReadSegment { snapshot: now, spans })
    }

    /// Compares two views over `spans` by reading both.
    pub(crate) fn reread(
        &self,
        old: &View,
        new: &View,
        spans: &SpanSet,
    ) -> Result<Option<Conflict>> {
        self.counters.revalidations.fetch_add(1, Relaxed);
        for span in spans.spans() {
            if let Some(key) = old.difference(new, span)? {
                return Ok(Some(conflict(spans, key)));
            }
        }
        Ok(None)
    }

    /// Whether one key has changed between two views.
    pub(crate) fn key_changed(&self, key: &[u8], old: &View, new: &View) -> Result<bool> {
        if old.number() >= new.number() {
            return Ok(false);
        }
        let recent = self.recent.lock();
        if recent.knows(old.number()) {
            return Ok(recent.key_changed(key, old.number()));
        }
        drop(recent);
        Ok(old.version(key)? != new.version(key)?)
    }
}

/// The view behind a snapshot of this store.
pub(crate) fn view_of(snapshot: &Arc<dyn Snapshot>) -> Result<&View> {
    match snapshot.as_any().downcast_ref::<ViewHandle>() {
        Some(handle) => Ok(&handle.0),
        None => Err(Error::Storage("a snapshot of another store".into())),
    }
}

/// A conflict at `key`, worded by how it was read.
fn conflict(spans: &SpanSet, key: Key) -> Conflict {
    let at = spans.spans().partition_point(|s| s.end.as_slice() <= key.as_slice());
    let by_key = spans.spans().get(at).is_some_and(|s| s.is_key());
    let reason = if by_key { RetryReason::ReadChanged } else { RetryReason::SpanChanged };
    Conflict::new(reason, Some(key))
}
