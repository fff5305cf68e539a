//! The hand-over from callers to the committer, and who works as the committer.
//!
//! The committer's state is here while nobody works with it. The thread that takes it out leads:
//!
//! ```text
//!   a caller, alone     takes it, commits its own transaction, puts it back
//!   any other caller    leaves a job; the thread takes the state and everything that waits
//! ```
//!
//! A caller that leads saves two changes of threads. Where several commit at the same time the
//! thread makes larger groups, so a caller leads only after [`SINGLE_GROUPS`] groups of one.
//!
//! Chores go when no transaction waits, and after [`GROUPS_BEFORE_CHORE`] groups in any case:
//! without the work of the cleaner those who write would become slower and slower.

use crate::{bulk::Watch, tombstones::Tombstone};
use braid_kv::{CommitOutcome, CommitRequest, Key, Result, Span};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    sync::{Arc, mpsc},
};
use tokio::sync::oneshot;

/// A transaction that waits for its commit.
pub(crate) struct Job {
    pub(super) request: CommitRequest,
    pub(super) bytes: usize,
    pub(super) reply: oneshot::Sender<Result<CommitOutcome>>,
}

/// A value that a range tombstone hides.
pub(crate) struct Hidden {
    pub(crate) key: Key,
    /// The commit that has put it.
    pub(crate) number: u64,
    /// The last commit of the view in which it was seen.
    pub(crate) seen_at: u64,
}

/// Work that is done between commits, of the cleaner and of the committer itself. Nobody waits for
/// its sync.
pub(crate) enum Chore {
    /// Remove hidden values, each only if it is still the one that was seen.
    Remove(Vec<Hidden>),
    /// Drop tombstones that hide nothing any more.
    Drop(Vec<Arc<Tombstone>>),
    /// Show the store as it is to new snapshots: one reads the files of its time.
    Renew,
    /// Forget old writes, make room in the journal.
    Tidy,
    /// Note what commits write in a span from now on.
    Watch(Arc<Watch>),
    /// Wait until a bulk load has made its pairs visible.
    Load(Pause),
}

/// The committer's part in a load: it waits from `ready` until `done`.
pub(crate) struct Pause {
    /// The span that becomes visible.
    pub(crate) span: Span,
    /// The committer says that everything is synced.
    pub(crate) ready: mpsc::SyncSender<()>,
    /// The load says whether its pairs are there. It fails if the load has panicked.
    pub(crate) done: mpsc::Receiver<bool>,
}

/// Groups of one transaction in a row, with nobody waiting, after which callers lead.
const SINGLE_GROUPS: u32 = 2;
/// How many groups of transactions go before a chore that waits.
const GROUPS_BEFORE_CHORE: u32 = 8;

struct Waiting<C: ?Sized> {
    jobs: Vec<Job>,
    chores: VecDeque<(Chore, oneshot::Sender<()>)>,
    closed: bool,
    /// The committer has failed; nobody will work again.
    failed: bool,
    /// The committer, while nobody leads.
    committer: Option<Box<C>>,
    /// Groups of one transaction in a row.
    singles: u32,
    /// Groups that were committed while a chore waited.
    passed: u32,
}

/// What the committer has to do next.
pub(crate) struct Work {
    pub(super) jobs: Vec<Job>,
    pub(super) chore: Option<(Chore, oneshot::Sender<()>)>,
}

impl Work {
    /// One transaction, which its caller commits.
    pub(super) fn one(job: Job) -> Work {
        Work { jobs: vec![job], chore: None }
    }
}

/// The committer as those see it who take it from the queue. The queue does not know its state,
/// so that what the committer shares with others can contain the queue.
pub(crate) trait Leader: Send {
    /// Whether a group is done so soon that its leader need not make way for others.
    fn is_quick(&self) -> bool;

    /// Does the work, then makes room for the next leader.
    fn lead(self: Box<Self>, work: Work);
}

/// What became of a transaction that was handed over.
#[expect(clippy::large_enum_variant, reason = "taken apart at once: a box would cost each commit")]
pub(super) enum HandOver<C: ?Sized> {
    /// The thread will commit it.
    Waits,
    /// The caller has to commit it, and to give the committer back.
    Lead(Box<C>, Job),
    /// The store is closed.
    Refused,
}

/// Everything that waits for the committer.
/// `C` is the state of the committer, which goes from leader to leader.
pub(crate) struct Queue<C: ?Sized> {
    waiting: Mutex<Waiting<C>>,
    arrived: Condvar,
}

impl<C: ?Sized> Default for Queue<C> {
    fn default() -> Queue<C> {
        Queue { waiting: Mutex::default(), arrived: Condvar::new() }
    }
}

impl<C: ?Sized> Queue<C> {
    /// Adds a transaction, or makes its caller the leader if it `may_lead` and is alone.
    pub(super) fn hand_over(&self, job: Job, may_lead: bool) -> HandOver<C> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return HandOver::Refused;
        }
        let alone = may_lead && waiting.singles >= SINGLE_GROUPS && waiting.jobs.is_empty();
        if alone
            && !waiting.is_chore_due()
            && let Some(committer) = waiting.committer.take()
        {
            waiting.count_group();
            return HandOver::Lead(committer, job);
        }
        waiting.jobs.push(job);
        // The leader looks here again when it is done.
        let idle = waiting.committer.is_some();
        drop(waiting);
        if idle {
            self.arrived.notify_one();
        }
        HandOver::Waits
    }

    /// Puts the committer where the next leader finds it. `group`: how many transactions the last
    /// one has committed, 0 if it did something else.
    pub(crate) fn give_back(&self, committer: Box<C>, group: usize) {
        let mut waiting = self.waiting.lock();
        waiting.committer = Some(committer);
        match group {
            0 => {}
            1 if waiting.jobs.is_empty() => waiting.singles = waiting.singles.saturating_add(1),
            _ => waiting.singles = 0,
        }
        let is_wanted = !waiting.jobs.is_empty() || !waiting.chores.is_empty() || waiting.closed;
        drop(waiting);
        if is_wanted {
            self.arrived.notify_one();
        }
    }

    /// Adds work to be done between commits. The receiver fails if the store closes first.
    pub(crate) fn push_chore(&self, chore: Chore) -> oneshot::Receiver<()> {
        let (done, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if !waiting.closed {
            waiting.chores.push_back((chore, done));
            drop(waiting);
            self.arrived.notify_one();
        }
        receiver
    }

    /// Waits until there is work and nobody leads; takes both, transactions up to `bytes_max`.
    /// `None` once the queue is closed and empty, or after a failure.
    pub(super) fn take(&self, bytes_max: usize) -> Option<(Box<C>, Work)> {
        let mut waiting = self.waiting.lock();
        while !waiting.failed {
            if let Some(committer) = waiting.committer.take() {
                if let Some(work) = waiting.next(bytes_max) {
                    return Some((committer, work));
                }
                if waiting.closed {
                    // Nobody leads any more: it ends here.
                    waiting.chores.clear();
                    return None;
                }
                waiting.committer = Some(committer);
            }
            self.arrived.wait(&mut waiting);
        }
        None
    }

    /// Refuses everything that comes from now on.
    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Refuses everything, also what waits already. Nobody leads any more.
    pub(super) fn abandon(&self) -> Vec<Job> {
        let mut waiting = self.waiting.lock();
        waiting.closed = true;
        waiting.failed = true;
        waiting.chores.clear();
        let jobs = std::mem::take(&mut waiting.jobs);
        drop(waiting);
        self.arrived.notify_all();
        jobs
    }
}

impl<C: ?Sized> Default for Waiting<C> {
    fn default() -> Waiting<C> {
        Waiting {
            jobs: Vec::new(),
            chores: VecDeque::new(),
            closed: false,
            failed: false,
            committer: None,
            singles: 0,
            passed: 0,
        }
    }
}

impl<C: ?Sized> Waiting<C> {
    /// Whether a chore has waited long enough to go before transactions.
    fn is_chore_due(&self) -> bool {
        self.passed >= GROUPS_BEFORE_CHORE && !self.chores.is_empty() && !self.closed
    }

    fn count_group(&mut self) {
        self.passed = if self.chores.is_empty() { 0 } else { self.passed + 1 };
    }

    /// What is to be done next: transactions before chores, as long as these get their share.
    fn next(&mut self, bytes_max: usize) -> Option<Work> {
        if self.is_chore_due() || (self.jobs.is_empty() && !self.closed) {
            self.passed = 0;
            let chore = self.chores.pop_front()?;
            return Some(Work { jobs: Vec::new(), chore: Some(chore) });
        }
        if self.jobs.is_empty() {
            return None;
        }
        self.count_group();
        let mut bytes = 0;
        let fits = self.jobs.iter().take_while(|job| {
            bytes += job.bytes;
            bytes <= bytes_max
        });
        let n = fits.count().max(1);
        let jobs = if n == self.jobs.len() {
            std::mem::take(&mut self.jobs)
        } else {
            self.jobs.drain(..n).collect()
        };
        Some(Work { jobs, chore: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::{KeepLocks, SpanSet, TxnId};

    fn job() -> Job {
        let request = CommitRequest {
            txn: TxnId(1),
            reads: Vec::new(),
            checks: Vec::new(),
            conflicts_since: None,
            new_keys: Vec::new(),
            deleted_spans: SpanSet::new(),
            writes: Vec::new(),
            lock_timeout: None,
            keep_locks: KeepLocks::Never,
            fence: None,
            observer: None,
        };
        Job { request, bytes: 1, reply: oneshot::channel().0 }
    }

    /// However many transactions come, a chore waits for a few groups only.
    #[test]
    fn a_chore_gets_its_share_beside_steady_writers() {
        let mut waiting: Waiting<()> = Waiting::default();
        for _ in 0..3 {
            waiting.chores.push_back((Chore::Tidy, oneshot::channel().0));
        }
        let mut done = Vec::new();
        for _ in 0..4 * GROUPS_BEFORE_CHORE {
            waiting.jobs.push(job());
            let work = waiting.next(1 << 20).expect("there is a transaction");
            done.push(work.chore.is_some());
        }
        assert_eq!(done.iter().filter(|is_chore| **is_chore).count(), 3);
        assert!(!done[0] && done[GROUPS_BEFORE_CHORE as usize], "{done:?}");
    }
}
