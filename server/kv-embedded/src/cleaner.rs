//! The cleaner: removes the values that range tombstones hide, then the tombstones.
//!
//! It reads the newest view, collects hidden keys with the commit numbers it saw, and hands them
//! to the committer in small portions. The committer removes each only if it is still the value
//! that was seen. The index of recent writes says so in memory: it goes back to the view, as long
//! as the cleaner has that. When a whole tombstone is through, it is dropped: later views have
//! nothing left for it to hide, and older views carry their own index.
//!
//! It also compacts when scans say that they read through much that is gone, and looks for empty
//! spans where very many keys were deleted, so that no scan of a client has to be the first.
//! And it keeps the account of the data folder up to date (module `account`).

use crate::{
    committer::{Chore, Hidden},
    files::storage_error,
    reads::ViewCursor,
    shared::Shared,
    tombstones::Tombstone,
};
use braid_kv::{Result, Span};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::{Arc, atomic::AtomicBool, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How many keys are handed over at once: commits of clients wait for that.
const PORTION: usize = 250;
/// How much the cleaner reads at once where it looks for empty spans.
const LOOK_ROWS: usize = 1_024;
const LOOK_BYTES: usize = 256 << 10;
/// How long the cleaner rests when there is nothing to do, and between two rounds.
const REST: Duration = Duration::from_millis(200);

/// How often the account of the data folder is brought up to date while there are commits.
const ACCOUNT_EVERY: Duration = Duration::from_secs(10);

/// Total time of slow scan batches after which a compaction is worth its cost. It runs at most once
/// every [`COMPACT_EVERY`], and only if something was committed since the last one.
const SLOW_MICROS: u64 = 30_000;
const COMPACT_EVERY: Duration = Duration::from_secs(1);
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(10);
/// Larger stores are left to fjall's own compaction after the flush.
const COMPACT_BYTES_MAX: u64 = 64 << 20;

/// The cleaner's stop switch.
#[derive(Default)]
pub(crate) struct CleanerStop {
    stopped: AtomicBool,
    mutex: Mutex<()>,
    wake: Condvar,
}

impl CleanerStop {
    /// Ends the cleaner at its next step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
        let _held = self.mutex.lock();
        self.wake.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    fn rest(&self) {
        let mut held = self.mutex.lock();
        if !self.is_stopped() {
            self.wake.wait_for(&mut held, REST);
        }
    }
}

/// Works until it is told to stop.
pub(crate) fn run(shared: &Shared, stop: &CleanerStop) {
    let mut compact_from = Instant::now() + COMPACT_EVERY;
    let mut compacted = None;
    let mut account_from = Instant::now() + ACCOUNT_EVERY;
    let mut account = shared.durable.load(Relaxed);
    while !stop.is_stopped() {
        let newest = Some(shared.current().0.number());
        if Instant::now() > compact_from
            && newest != compacted
            && shared.files.slow_micros.load(Relaxed) >= SLOW_MICROS
        {
            let start = Instant::now();
            if let Err(error) = compact(shared, stop) {
                tracing::warn!(%error, "compacting after slow scans has failed");
            }
            shared.files.slow_micros.store(0, Relaxed);
            shared.counters.compactions.fetch_add(1, Relaxed);
            compacted = newest;
            compact_from = Instant::now() + COMPACT_EVERY.max(start.elapsed() * 10);
        }
        let durable = shared.durable.load(Relaxed);
        if shared.options.sync && durable != account && Instant::now() > account_from {
            shared.write_account(false);
            account = durable;
            account_from = Instant::now() + ACCOUNT_EVERY;
        }
        if let Some(dense) = shared.empty_spans.dense()
            && let Err(error) = look_into(shared, stop, &dense)
        {
            tracing::warn!(%error, "looking for empty spans has failed");
        }
        let records = shared.current().0.tombstones.records().cloned().collect::<Vec<_>>();
        if !records.is_empty()
            && let Err(error) = clean(shared, stop, &records)
        {
            tracing::warn!(%error, "cleaning up after a range delete has failed");
        }
        stop.rest();
    }
}

/// Makes fjall forget versions and deletions that nobody can see any more. On its own it would
/// wait until the memtable is full, and until then a scan reads through every old version of a
/// busy row and every row that was taken from a queue.
fn compact(shared: &Shared, stop: &CleanerStop) -> Result<()> {
    let data = &shared.files.data;
    let oldest = shared.empty_spans.views.oldest();
    let start = Instant::now();
    let gives_up = || stop.is_stopped() || start.elapsed() > FLUSH_WAIT_MAX;
    if !shared.files.flush_data_unless(gives_up)? {
        return Ok(());
    }
    if data.disk_space() < COMPACT_BYTES_MAX {
        data.major_compact().map_err(storage_error)?;
        shared.empty_spans.compacted(oldest.unwrap_or(0));
    }
    // A snapshot reads the memtables and tables of its time for as long as it lives.
    hand_over(shared, Chore::Renew);
    Ok(())
}

/// Reads through a span with many deletes: what is empty there is known afterwards.
fn look_into(shared: &Shared, stop: &CleanerStop, span: &Span) -> Result<()> {
    let view = shared.current().0.clone();
    let mut cursor = ViewCursor::new(view, span.clone(), false, true, None);
    while !stop.is_stopped() && cursor.fill(LOOK_ROWS, LOOK_BYTES)?.resume.is_some() {}
    shared.empty_spans.looked_into(span);
    Ok(())
}

fn clean(shared: &Shared, stop: &CleanerStop, records: &[Arc<Tombstone>]) -> Result<()> {
    // Many small range deletes share portions: one for each would let them pile up.
    let mut portion = Vec::new();
    for record in records {
        let view = shared.current().0.clone();
        for entry in view.raw_versions(&record.span) {
            let (key, number) = entry?;
            if number < record.number {
                portion.push(Hidden { key: key.to_vec(), number, seen_at: view.number() });
            }
            if portion.len() == PORTION {
                let full = std::mem::take(&mut portion);
                if stop.is_stopped() || !hand_over(shared, Chore::Remove(full)) {
                    return Ok(());
                }
            }
        }
    }
    if stop.is_stopped() || (!portion.is_empty() && !hand_over(shared, Chore::Remove(portion))) {
        return Ok(());
    }
    hand_over(shared, Chore::Drop(records.to_vec()));
    Ok(())
}

/// Whether the committer has done it.
fn hand_over(shared: &Shared, chore: Chore) -> bool {
    shared.queue.push_chore(chore).blocking_recv().is_ok()
}
