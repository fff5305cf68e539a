//! The hand-over from callers to the committer.

use crate::tombstones::Tombstone;
use braid_kv::{CommitOutcome, CommitRequest, Key, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A transaction that waits for its commit.
pub(crate) struct Job {
    pub(super) request: CommitRequest,
    pub(super) bytes: usize,
    pub(super) reply: oneshot::Sender<Result<CommitOutcome>>,
}

/// Work of the cleaner, done between commits. Nobody waits for its sync.
pub(crate) enum Chore {
    /// Remove hidden values, each only if it still has the number that was seen.
    Remove(Vec<(Key, u64)>),
    /// Drop tombstones that hide nothing any more.
    Drop(Vec<Arc<Tombstone>>),
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    chores: Vec<(Chore, oneshot::Sender<()>)>,
    closed: bool,
}

/// What the committer has to do next.
pub(super) struct Work {
    pub(super) jobs: Vec<Job>,
    pub(super) chore: Option<(Chore, oneshot::Sender<()>)>,
}

/// Everything that waits for the committer.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

impl Queue {
    /// Adds a transaction. False if the store is closed.
    pub(super) fn push(&self, job: Job) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return false;
        }
        waiting.jobs.push(job);
        drop(waiting);
        self.arrived.notify_one();
        true
    }

    /// Adds work of the cleaner. The receiver fails if the store closes first.
    pub(crate) fn push_chore(&self, chore: Chore) -> oneshot::Receiver<()> {
        let (done, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if !waiting.closed {
            waiting.chores.push((chore, done));
            drop(waiting);
            self.arrived.notify_one();
        }
        receiver
    }

    /// Waits for work and takes it, transactions up to `bytes_max`. `None` once the queue is
    /// closed and empty.
    pub(super) fn take(&self, bytes_max: usize) -> Option<Work> {
        let mut waiting = self.waiting.lock();
        loop {
            if !waiting.jobs.is_empty() {
                let mut bytes = 0;
                let fits = waiting.jobs.iter().take_while(|job| {
                    bytes += job.bytes;
                    bytes <= bytes_max
                });
                let n = fits.count().max(1);
                let jobs = if n == waiting.jobs.len() {
                    std::mem::take(&mut waiting.jobs)
                } else {
                    waiting.jobs.drain(..n).collect()
                };
                return Some(Work { jobs, chore: None });
            }
            if waiting.closed {
                waiting.chores.clear();
                return None;
            }
            if !waiting.chores.is_empty() {
                return Some(Work { jobs: Vec::new(), chore: Some(waiting.chores.remove(0)) });
            }
            self.arrived.wait(&mut waiting);
        }
    }

    /// Refuses everything that comes from now on.
    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Refuses everything, also what waits already.
    pub(super) fn abandon(&self) -> Vec<Job> {
        let mut waiting = self.waiting.lock();
        waiting.closed = true;
        waiting.chores.clear();
        std::mem::take(&mut waiting.jobs)
    }
}
