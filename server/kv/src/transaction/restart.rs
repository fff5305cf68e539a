//! A restart of the transaction that keeps its locks.

use super::handle::{Phase, State};
use crate::{
    Result, Transaction,
    transaction::state::{FirstRead, ReadSet, WriteBuffer},
};

impl Transaction {
    /// Restarts the transaction. Its writes, its reads and its snapshot are forgotten. Its locks
    /// stay, so that it keeps its place in every queue. Its number stays too, so it does not become
    /// the youngest of a deadlock. Statement numbers go on.
    ///
    /// For a caller that throws away everything that it has learned from the transaction so far,
    /// as after a rollback. No statement may be under way. If the store has lost one of the locks,
    /// the others go as well, because a transaction with a lost lock cannot commit.
    pub fn restart(&self) -> Result<()> {
        let read_set_bytes_max = self.database.options().read_set_bytes_max;
        let mut state = self.active()?;
        state.forget_everything(read_set_bytes_max);
        let store = &self.database.inner.store;
        if store.has_lost_locks(self.id()) {
            state.has_locks = false;
            drop(state);
            drop(store.release(self.id()));
        }
        Ok(())
    }

    /// The same after a commit that the store has refused and that has kept the locks.
    pub(super) fn reopen(&self) {
        let read_set_bytes_max = self.database.options().read_set_bytes_max;
        let mut state = self.lock_state();
        state.phase = Phase::Active;
        state.has_locks = true;
        state.forget_everything(read_set_bytes_max);
    }
}

impl State {
    /// All but the locks. Known values go as well: reading them again is cheap, and what they are
    /// worth then depends on nothing that happened before.
    pub(super) fn forget_everything(&mut self, read_set_bytes_max: usize) {
        if !self.snapshot_is_fixed {
            self.snapshot = None;
        }
        self.statements.clear();
        self.first_reader = None;
        self.buffer = WriteBuffer::default();
        self.local = WriteBuffer::default();
        self.reads = ReadSet::new(read_set_bytes_max);
        self.checks.clear();
        self.left.clear();
        self.required.clear();
        self.unchanged.clear();
        self.known.clear();
        self.met_newer = false;
        self.fence = None;
        self.observer = None;
        self.first_read = FirstRead::None;
    }
}
