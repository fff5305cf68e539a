//! The leader's half of a commit: validate, write, sync, publish, acknowledge.

use super::{
    journal::JournalRoom,
    queue::{Chore, Hidden, Job, Leader, Pause, Work},
    validate::{Overtaken, ProvenReads},
};
use crate::{
    account::Commit,
    files::{NUMBERS_RESERVED, encode_value, storage_error},
    reads::View,
    shared::Shared,
    tombstones::{Tombstone, TombstoneIndex, tombstone_key},
};
use braid_kv::{
    CommitOutcome, CommitRequest, Conflict, Error, KeepLocks, Result, Span, SpanSet, Timestamp,
};
use fjall::{OwnedWriteBatch, PersistMode};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A batch is written to the journal, then flushed, then compacted: room for each.
const BATCH_BYTES_FACTOR: u64 = 3;
/// Free disk space is checked again after this time, or after this many bytes were written.
const ROOM_KNOWN: Duration = Duration::from_millis(10);
const ROOM_KNOWN_BYTES: u64 = 1 << 20;
/// Old entries of the index of recent writes that a commit forgets, besides twice as many as it
/// has added. The limit keeps the next commit from waiting while a million are forgotten.
const FORGET_MIN: usize = 64;
const FORGET_ADDED_MAX: usize = 512;
/// Old entries that are forgotten at once while nobody waits.
const FORGET_IDLE: usize = 4_096;
/// A committer whose recent groups took no longer than this delays nobody.
const QUICK: Duration = Duration::from_millis(1);

/// The state of the committer. It goes from leader to leader; see `queue`.
pub(crate) struct Committer {
    pub(super) shared: Arc<Shared>,
    /// The last commit number given out.
    pub(super) number: u64,
    /// The last commit that has a record in the journal.
    written: u64,
    /// Commit numbers below this are reserved on disk.
    pub(super) reserved: u64,
    pub(super) tombstones: Arc<TombstoneIndex>,
    /// How long a group takes, the last ones counting most.
    usual: Duration,
    /// When there was room on the disk, and how much was written since.
    room: Option<(Instant, u64)>,
    journal: JournalRoom,
    /// Whether [`Chore::Tidy`] waits in the queue.
    is_untidy: bool,
}

impl Leader for Committer {
    fn is_quick(&self) -> bool {
        self.usual <= QUICK
    }

    fn lead(mut self: Box<Self>, work: Work) {
        let shared = self.shared.clone();
        let group = work.jobs.len();
        let start = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| self.work(work)));
        self.usual = (self.usual * 3 + start.elapsed()) / 4;
        match done {
            Ok(Ok(())) => shared.queue.give_back(self, group),
            Ok(Err(error)) => stop(&shared, &error.to_string()),
            Err(_) => stop(&shared, "the committer has panicked"),
        }
    }
}

impl Committer {
    /// A committer that goes on after `view`.
    pub(crate) fn new(shared: Arc<Shared>, view: &Arc<View>) -> Committer {
        let number = view.number();
        let tombstones = view.tombstones.clone();
        let reserved = number + 1;
        let journal = JournalRoom::new(&shared.files.folder.store());
        let usual = Duration::ZERO;
        let (room, is_untidy) = (None, false);
        let written = shared.durable.load(Relaxed);
        Committer { shared, number, written, reserved, tombstones, usual, room, journal, is_untidy }
    }

    /// The committer's thread: works until the queue is closed and empty, or until a failure.
    pub(crate) fn run(shared: &Arc<Shared>) {
        while let Some((committer, work)) = shared.queue.take(shared.options.group_bytes_max) {
            committer.lead(work);
        }
        if shared.stopped.get().is_some() {
            return;
        }
        match shared.files.db.persist(PersistMode::SyncAll) {
            Ok(()) => shared.write_account(true),
            Err(error) => tracing::error!(%error, "the last sync has failed"),
        }
    }

    fn work(&mut self, work: Work) -> Result<()> {
        if let Some((chore, done)) = work.chore {
            self.do_chore(chore)?;
            // The cleaner is gone if the store closes.
            let _ = done.send(());
            return Ok(());
        }
        self.commit_group(work.jobs)
    }

    fn commit_group(&mut self, jobs: Vec<Job>) -> Result<()> {
        let shared = self.shared.clone();
        let bytes = jobs.iter().map(|job| job.bytes as u64).sum();
        if let Some(full) = self.disk_full(bytes) {
            for job in jobs {
                answer_refused(&shared, job, Err(full.clone()));
            }
            return Ok(());
        }
        let writes: usize = jobs.iter().map(|job| job.request.writes.len()).sum();
        let ingests = self.ingests(&jobs);
        let room = if ingests { 0 } else { writes + 2 };
        let mut batch = OwnedWriteBatch::with_capacity(shared.files.db.clone(), room);
        let mut tombstones = None;
        let mut accepted: Vec<(Job, u64)> = Vec::with_capacity(jobs.len());
        let mut overtaken = Overtaken::default();
        let mut jobs = jobs.into_iter();
        while let Some(mut job) = jobs.next() {
            let admitted = match overtaken.conflict(&job.request) {
                Some(conflict) if shared.options.validate => Ok(Some(conflict)),
                Some(_) | None => self.admit(&job.request),
            };
            match admitted {
                Ok(None) => {
                    overtaken.note(&job.request, jobs.as_slice());
                    if !ingests {
                        self.add(&mut job.request, &mut batch, &mut tombstones);
                    }
                    accepted.push((job, self.number));
                }
                Ok(Some(conflict)) => {
                    shared.counters.conflicts.fetch_add(1, Relaxed);
                    answer_refused(&shared, job, Ok(CommitOutcome::Retry(conflict)));
                }
                Err(error) => answer_refused(&shared, job, Err(error)),
            }
        }
        if accepted.is_empty() {
            return Ok(());
        }
        let written = match accepted.as_mut_slice() {
            [(job, _)] if ingests => self.ingest(&mut job.request, &mut tombstones),
            _ => self.write_group(batch, bytes),
        };
        if let Err(error) = written {
            for (job, _) in accepted {
                answer_refused(&shared, job, Ok(CommitOutcome::Unknown));
            }
            return Err(error);
        }
        if let Some(tombstones) = tombstones {
            self.tombstones = Arc::new(tombstones);
        }
        self.publish();
        let forgotten = self.forget_some(writes);
        self.acknowledge(accepted);
        if !forgotten || (shared.options.sync && self.journal.is_short()) {
            self.tidy_later();
        }
        Ok(())
    }

    /// What nobody waits for is done when nobody waits.
    fn tidy_later(&mut self) {
        if !std::mem::replace(&mut self.is_untidy, true) {
            drop(self.shared.queue.push_chore(Chore::Tidy));
        }
    }

    fn tidy(&mut self) {
        self.is_untidy = false;
        if self.shared.options.sync && self.journal.is_short() {
            self.journal.refill();
        }
        if !self.forget(FORGET_IDLE) {
            self.tidy_later();
        }
    }

    /// Takes what nobody asks for any more out of the index of recent writes; whether that is all.
    fn forget(&self, most: usize) -> bool {
        let oldest = self.shared.empty_spans.views.oldest().unwrap_or(self.number);
        !self.shared.recent.lock().trim(oldest, self.number, most)
    }

    /// Forgets the share of a commit with `added` writes.
    fn forget_some(&self, added: usize) -> bool {
        let is_full = self.shared.recent.lock().is_full();
        let added = if is_full { added } else { added.min(FORGET_ADDED_MAX) };
        self.forget(FORGET_MIN + 2 * added)
    }

    /// Proves the transaction's reads unchanged. If they are, it gets a number and enters the index
    /// before the next transaction is checked.
    fn admit(&mut self, request: &CommitRequest) -> Result<Option<Conflict>> {
        // Dropped after the lock.
        let _stale;
        let mut recent = match self.shared.prove_reads(request)? {
            ProvenReads::Unchanged(recent) => recent,
            ProvenReads::Changed(conflict) => return Ok(Some(conflict)),
        };
        self.number += 1;
        for span in request.deleted_spans.spans() {
            recent.add_span(self.number, span.clone());
        }
        recent.add_writes(self.number, &request.writes);
        let (deleted, writes) = (&request.deleted_spans, &request.writes);
        self.shared.empty_spans.commit(self.number, deleted, writes);
        _stale = self.shared.range_cache.forget(deleted, writes);
        Ok(None)
    }

    /// The range deletes of the commit that is being written.
    pub(super) fn range_deletes(&self, request: &CommitRequest) -> Vec<Tombstone> {
        let spans = request.deleted_spans.spans().iter().zip(0..);
        let record = |(span, index): (&Span, u32)| Tombstone {
            number: self.number,
            index,
            span: span.clone(),
        };
        spans.map(record).collect()
    }

    /// Puts the writes into the batch. Their values are in memory once only: the request keeps
    /// empty ones.
    fn add(
        &self,
        request: &mut CommitRequest,
        batch: &mut OwnedWriteBatch,
        tombstones: &mut Option<TombstoneIndex>,
    ) {
        let files = &self.shared.files;
        self.shared.watches.note(&request.deleted_spans, &request.writes);
        for record in self.range_deletes(request) {
            files.put_tombstone(batch, &record);
            let all = tombstones.get_or_insert_with(|| self.tombstones.as_ref().clone());
            all.insert(Arc::new(record));
        }
        let mut stored = Vec::new();
        for (key, value) in &mut request.writes {
            match value {
                Some(value) => {
                    encode_value(&mut stored, self.number, &std::mem::take(value));
                    batch.insert(&files.data, key.as_ref(), stored.as_slice());
                }
                None => batch.remove(&files.data, key.as_ref()),
            }
        }
    }

    /// Writes a group with its commit record. Afterwards it is durable.
    pub(super) fn write_group(&mut self, mut batch: OwnedWriteBatch, bytes: u64) -> Result<()> {
        let shared = self.shared.clone();
        self.reserve_number(&mut batch);
        let commit = Commit { number: self.number, previous: self.written };
        shared.files.record_commit(&mut batch, commit);
        if shared.options.sync {
            self.journal.prepare(bytes);
        }
        self.write(batch)?;
        self.written = self.number;
        shared.durable.store(self.written, Relaxed);
        Ok(())
    }

    /// Reserves more commit numbers with this batch, if the one of this commit is not reserved.
    pub(super) fn reserve_number(&mut self, batch: &mut OwnedWriteBatch) {
        if self.number >= self.reserved {
            self.reserved = self.number + NUMBERS_RESERVED;
            self.shared.files.reserve_numbers(batch, self.reserved);
        }
    }

    fn write(&self, batch: OwnedWriteBatch) -> Result<()> {
        let counters = &self.shared.counters;
        if !self.shared.options.sync {
            return batch.durability(None).commit().map_err(storage_error);
        }
        batch.durability(Some(PersistMode::Buffer)).commit().map_err(storage_error)?;
        let fails = &self.shared.options.fail_syncs;
        if fails.as_ref().is_some_and(|fails| fails.load(Relaxed)) {
            return Err(Error::Storage("the sync has failed (injected)".into()));
        }
        let start = Instant::now();
        if let Some(delay) = self.shared.options.sync_delay {
            std::thread::sleep(delay);
        }
        self.shared.files.db.persist(PersistMode::SyncData).map_err(storage_error)?;
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        counters.syncs.fetch_add(1, Relaxed);
        counters.sync_nanos.observe(nanos);
        Ok(())
    }

    /// Shows everything that is written now to new snapshots.
    fn publish(&mut self) {
        let view = {
            let Shared { files, range_cache, empty_spans, .. } = &*self.shared;
            View::of_now(files, range_cache, empty_spans, self.number, self.tombstones.clone())
        };
        self.shared.publish(view);
    }

    fn acknowledge(&self, accepted: Vec<(Job, u64)>) {
        let counters = &self.shared.counters;
        let n = accepted.len() as u64;
        counters.commits.fetch_add(n, Relaxed);
        counters.batch_sizes.observe(n);
        counters.batch_max.fetch_max(n, Relaxed);
        for (Job { request, .. }, _) in &accepted {
            match request.keep_locks {
                KeepLocks::OnceCommitted => self.shared.locks.part(request.txn),
                KeepLocks::Never | KeepLocks::AfterRetry | KeepLocks::UnlessCommitted => {
                    self.shared.locks.release(request.txn);
                }
            }
        }
        for (job, number) in accepted {
            if let Some(observer) = &job.request.observer {
                observer.committed(Timestamp(number));
            }
            // The client is gone if nobody listens; the commit stands all the same.
            let _ = job.reply.send(Ok(CommitOutcome::Committed(Timestamp(number))));
        }
    }

    /// The error to refuse a group with, if it would leave too little room.
    fn disk_full(&mut self, bytes: u64) -> Option<Error> {
        let needed = bytes.saturating_mul(BATCH_BYTES_FACTOR);
        if let Some((since, written)) = &mut self.room {
            *written = written.saturating_add(needed);
            if *written < ROOM_KNOWN_BYTES && since.elapsed() < ROOM_KNOWN {
                return None;
            }
        }
        self.room = None;
        let reserve = self.shared.options.disk_reserve_bytes;
        let folder = &self.shared.files.folder;
        if folder.lacks_room(reserve, needed.saturating_add(ROOM_KNOWN_BYTES)).is_none() {
            self.room = Some((Instant::now(), 0));
            return None;
        }
        folder.lacks_room(reserve, needed).map(|why| Error::DiskFull(why.into()))
    }

    fn do_chore(&mut self, chore: Chore) -> Result<()> {
        match chore {
            Chore::Remove(seen) => self.remove_hidden(seen),
            Chore::Drop(records) => self.drop_tombstones(&records),
            Chore::Renew => {
                self.publish();
                Ok(())
            }
            Chore::Tidy => {
                self.tidy();
                Ok(())
            }
            Chore::Watch(watch) => {
                self.shared.watches.begin(watch, self.number);
                Ok(())
            }
            Chore::Load(pause) => self.pause(pause),
        }
    }

    /// Waits for the end of a bulk load, which flushes the memtable: before that everything has to
    /// be in the journal. The load is a commit of its own to all that goes by numbers.
    fn pause(&mut self, pause: Pause) -> Result<()> {
        if self.shared.options.sync {
            self.shared.files.db.persist(PersistMode::SyncData).map_err(storage_error)?;
        }
        self.number += 1;
        // Dropped after the lock.
        let _stale;
        {
            let mut recent = self.shared.recent.lock();
            recent.add_span(self.number, pause.span.clone());
            self.shared.empty_spans.leave(&pause.span);
            _stale = self.shared.range_cache.forget(&SpanSet::from_iter([pause.span]), &[]);
        }
        // If the load has gone, or fails, its pairs are of no use: nobody is shown them.
        if pause.ready.send(()).is_ok() && pause.done.recv() == Ok(true) {
            self.publish();
        }
        Ok(())
    }

    /// Nobody sees the difference, so nobody waits for a sync: the journal keeps the order, and
    /// the tombstone goes later than the values that it hides.
    fn remove_hidden(&mut self, seen: Vec<Hidden>) -> Result<()> {
        let files = &self.shared.files;
        let mut batch = files.db.batch();
        for hidden in seen {
            if self.is_as_seen(&hidden)? {
                batch.remove(&files.data, hidden.key);
            }
        }
        self.shared.counters.cleaned.fetch_add(batch.len() as u64, Relaxed);
        batch.durability(Some(PersistMode::Buffer)).commit().map_err(storage_error)
    }

    /// Whether a value is still the one that was seen. A later value is not hidden, or another
    /// tombstone's to remove.
    fn is_as_seen(&self, hidden: &Hidden) -> Result<bool> {
        {
            let recent = self.shared.recent.lock();
            if recent.knows(hidden.seen_at) {
                return Ok(!recent.key_changed(&hidden.key, hidden.seen_at));
            }
        }
        let stored = self.shared.files.data.get(&hidden.key).map_err(storage_error)?;
        let Some(stored) = stored else { return Ok(false) };
        Ok(crate::files::decode_value(&stored)?.0 == hidden.number)
    }

    fn drop_tombstones(&mut self, records: &[Arc<Tombstone>]) -> Result<()> {
        let files = &self.shared.files;
        let mut batch = files.db.batch();
        for record in records {
            batch.remove(&files.ranges, tombstone_key(record));
        }
        batch.durability(Some(PersistMode::Buffer)).commit().map_err(storage_error)?;
        self.tombstones = Arc::new(self.tombstones.without(records));
        self.publish();
        Ok(())
    }
}

/// Nothing can be promised any more: say so to everyone, once.
fn stop(shared: &Shared, reason: &str) {
    let reason: Arc<str> = reason.into();
    tracing::error!(%reason, "the store has stopped");
    let first = shared.stopped.set(reason.clone()).is_ok();
    for job in shared.queue.abandon() {
        shared.locks.release(job.request.txn);
        let _ = job.reply.send(Err(Error::Stopped(reason.clone())));
    }
    if let (true, Some(hook)) = (first, &shared.options.on_fatal) {
        hook(&reason);
    }
}

/// Releases the locks, then answers: the caller may begin again at once. Locks that the caller
/// keeps go only if it is not there to take them.
fn answer_refused(shared: &Shared, job: Job, answer: Result<CommitOutcome>) {
    let kept = job.request.keep_locks.after(&answer);
    if !kept {
        shared.locks.release(job.request.txn);
    }
    if job.reply.send(answer).is_err() && kept {
        shared.locks.release(job.request.txn);
    }
}
