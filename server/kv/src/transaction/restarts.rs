//! A new attempt at a statement, or at the whole transaction, that keeps the locks.

use super::{
    core::{Core, Phase, State},
    snapshots::Snapshots,
};
use crate::{
    Error, Isolation, Result, RetryReason, Seq,
    transaction::state::{FirstRead, ReadSet, WriteBuffer},
};

/// New attempts at a statement, or at the whole transaction.
#[derive(Clone, Copy)]
pub struct Restarts<'a>(pub(super) &'a Core);

impl Restarts<'_> {
    /// Whether statements with higher numbers have begun: those of routines that run inside of this
    /// one.
    pub fn has_later(self, seq: Seq) -> bool {
        self.0.newest_statement() > seq.before()
    }

    /// Prepares a statement that has met a newer version to run again: its writes and reads are
    /// forgotten, the snapshot moves forward, locks stay. Returns its new number.
    ///
    /// Allowed only if nothing of the statement's result was sent. It is a retry error if an
    /// earlier statement has read something that changed; at REPEATABLE READ, if an earlier
    /// statement has read at all; and if a lock was lost, which may be an earlier statement's.
    pub async fn statement(self, seq: Seq) -> Result<Seq> {
        if self.0.store().has_lost_locks(self.0.id) {
            return Err(Error::retry(RetryReason::LockLost, None));
        }
        let first = {
            let mut state = self.0.active()?;
            let is_bound = self.0.isolation() != Isolation::ReadCommitted;
            if is_bound && state.first_read.done().is_some_and(|read| !read.is_of(seq)) {
                // What an earlier statement has read without a snapshot cannot be shown any more.
                return Err(Error::retry(RetryReason::ReadChanged, None));
            }
            state.buffer.forget_statement(seq);
            state.local.forget_statement(seq);
            state.reads.forget_statement(seq);
            state.checks.retain(|c| c.statement != seq.number());
            self.0.deferred.forget_statement(seq);
            state.statements.remove(&seq.number());
            state.first_read = FirstRead::None;
            state.first_reader.is_none_or(|first| first >= seq.number())
        };
        match self.0.isolation() {
            Isolation::ReadCommitted => {}
            Isolation::RepeatableRead if first && !self.0.active()?.snapshot_is_fixed => {
                self.0.active()?.snapshot = None;
            }
            Isolation::RepeatableRead => {
                return Err(Error::retry(RetryReason::WriteConflict, None));
            }
            Isolation::Serializable => Snapshots(self.0).refresh().await?,
        }
        Ok(self.0.next_statement())
    }

    /// Restarts the transaction. Its writes, its reads and its snapshot are forgotten. Its locks
    /// stay, so that it keeps its place in every queue. Its number stays too, so it does not become
    /// the youngest of a deadlock. Statement numbers go on.
    ///
    /// For a caller that throws away everything that it has learned from the transaction so far,
    /// as after a rollback. No statement may be under way. If the store has lost one of the locks,
    /// the others go as well, because a transaction with a lost lock cannot commit.
    pub fn transaction(self) -> Result<()> {
        let read_set_bytes_max = self.0.database.options().read_set_bytes_max;
        let mut state = self.0.active()?;
        state.forget_everything(read_set_bytes_max);
        self.0.deferred.clear();
        let store = self.0.store();
        if store.has_lost_locks(self.0.id) {
            state.has_locks = false;
            drop(state);
            drop(store.release(self.0.id));
        }
        Ok(())
    }

    /// The same after a commit that the store has refused and that has kept the locks.
    pub(super) fn reopen(self) {
        let read_set_bytes_max = self.0.database.options().read_set_bytes_max;
        let mut state = self.0.lock_state();
        state.phase = Phase::Active;
        state.has_locks = true;
        state.forget_everything(read_set_bytes_max);
        self.0.deferred.clear();
    }
}

impl State {
    /// All but the locks. Known values go as well: reading them again is cheap, and what they are
    /// worth then depends on nothing that happened before.
    fn forget_everything(&mut self, read_set_bytes_max: usize) {
        if !self.snapshot_is_fixed {
            self.snapshot = None;
        }
        self.statements.clear();
        self.first_reader = None;
        self.buffer = WriteBuffer::default();
        self.local = WriteBuffer::default();
        self.reads = ReadSet::new(read_set_bytes_max);
        self.checks.clear();
        self.required.clear();
        self.unchanged.clear();
        self.known.clear();
        self.met_newer = false;
        self.fence = None;
        self.observer = None;
        self.first_read = FirstRead::None;
    }
}
