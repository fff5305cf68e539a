//! The cleaner: removes the values that range tombstones hide, then the tombstones.
//!
//! It reads the newest view, collects hidden keys with the commit numbers it saw, and hands them
//! to the committer in small portions, which removes each only if it still has that number. When
//! a whole tombstone is through, it is dropped: later views have nothing left for it to hide, and
//! older views carry their own index.

use crate::{committer::Chore, shared::Shared, tombstones::Tombstone};
use braid_kv::Result;
use parking_lot::{Condvar, Mutex};
use std::{
    sync::{Arc, atomic::AtomicBool, atomic::Ordering::Relaxed},
    time::Duration,
};

/// How many keys are handed over at once.
const PORTION: usize = 1_000;
/// How long the cleaner rests when there is nothing to do, and between two rounds.
const REST: Duration = Duration::from_millis(200);

/// Tells the cleaner to end.
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
    while !stop.is_stopped() {
        let records = shared.current().0.tombstones.records().to_vec();
        if !records.is_empty()
            && let Err(error) = clean(shared, stop, &records)
        {
            tracing::warn!(%error, "cleaning up after a range delete has failed");
        }
        stop.rest();
    }
}

fn clean(shared: &Shared, stop: &CleanerStop, records: &[Arc<Tombstone>]) -> Result<()> {
    for record in records {
        let mut portion = Vec::with_capacity(PORTION);
        let view = shared.current().0.clone();
        for entry in view.raw_versions(&record.span) {
            let (key, number) = entry?;
            if number < record.number {
                portion.push((key.to_vec(), number));
            }
            if portion.len() == PORTION {
                let full = std::mem::replace(&mut portion, Vec::with_capacity(PORTION));
                if stop.is_stopped() || !hand_over(shared, Chore::Remove(full)) {
                    return Ok(());
                }
            }
        }
        if stop.is_stopped() || !hand_over(shared, Chore::Remove(portion)) {
            return Ok(());
        }
    }
    hand_over(shared, Chore::Drop(records.to_vec()));
    Ok(())
}

/// Whether the committer has done it.
fn hand_over(shared: &Shared, chore: Chore) -> bool {
    shared.queue.push_chore(chore).blocking_recv().is_ok()
}
