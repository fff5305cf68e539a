//! The handle of a transaction: its beginning, its savepoints, its end, and the way to its parts.
//! The most common reads and writes have a shorthand here.

use super::{
    commit::End,
    commit_terms::CommitTerms,
    core::Core,
    locks::{LockResult, Locks},
    reads::Reads,
    restarts::Restarts,
    snapshots::Snapshots,
    state::{BufferMark, DeferredWork, RoundTrips},
    writes::Writes,
};
use crate::{
    CommitOutcome, Database, Isolation, LockRequest, Record, Result, Seq, Timestamp, TxnId,
    TxnOptions, Value,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

impl Database {
    /// Begins a transaction. Nothing is asked of the store before its first read.
    pub fn begin(&self, options: TxnOptions) -> Arc<Transaction> {
        self.inner.counters.here().begun.fetch_add(1, Relaxed);
        Arc::new(Transaction { core: Core::new(self.clone(), self.new_number(), options) })
    }
}

/// A position to which a transaction can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavepointId {
    seq: Seq,
    buffer: BufferMark,
    local: BufferMark,
}

/// A transaction. See the crate's documentation for what it sees and when it may commit.
///
/// Dropping it without a commit rolls it back.
pub struct Transaction {
    pub(super) core: Core,
}

impl Transaction {
    /// Its number.
    pub fn id(&self) -> TxnId {
        self.core.id
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.core.isolation()
    }

    /// Whether writes and locks are refused.
    pub fn is_read_only(&self) -> bool {
        self.core.is_read_only()
    }

    /// The database it belongs to.
    pub fn database(&self) -> &Database {
        &self.core.database
    }

    /// A new statement number. At READ COMMITTED its first read takes a new snapshot.
    pub fn next_statement(&self) -> Seq {
        self.core.next_statement()
    }

    /// Its snapshots.
    pub fn snapshots(&self) -> Snapshots<'_> {
        Snapshots(&self.core)
    }

    /// Its reads.
    pub fn reads(&self) -> Reads<'_> {
        Reads(&self.core)
    }

    /// Its writes.
    pub fn writes(&self) -> Writes<'_> {
        Writes(&self.core)
    }

    /// Its locks.
    pub fn locks(&self) -> Locks<'_> {
        Locks(&self.core)
    }

    /// New attempts at one of its statements, or at all of it.
    pub fn restarts(&self) -> Restarts<'_> {
        Restarts(&self.core)
    }

    /// What its commit depends on.
    pub fn commit_terms(&self) -> CommitTerms<'_> {
        CommitTerms(&self.core)
    }

    /// Work that is deferred until the commit.
    pub fn deferred(&self) -> &DeferredWork {
        &self.core.deferred
    }

    /// Its waits for the store.
    pub fn round_trips(&self) -> &RoundTrips {
        &self.core.round_trips
    }

    /// The value of a key as the statement sees it.
    pub async fn get(&self, seq: Seq, key: &[u8]) -> Result<Option<Value>> {
        self.reads().get_recorded(seq, key, Record::Default).await
    }

    /// Puts a value, whatever was there.
    pub fn put(&self, seq: Seq, key: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<()> {
        self.writes().put(seq, key, value)
    }

    /// Puts a value under a key that must not exist: see [`Writes::put_new`].
    pub fn put_new(&self, seq: Seq, key: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<()> {
        self.writes().put_new(seq, key, value)
    }

    /// Deletes a key, whether it exists or not.
    pub fn delete(&self, seq: Seq, key: impl AsRef<[u8]>) -> Result<()> {
        self.writes().delete(seq, key)
    }

    /// Locks keys or spans, in one wait with reading their newest values: see [`Locks::take`].
    pub async fn lock(&self, seq: Seq, request: LockRequest) -> Result<LockResult> {
        self.locks().take(seq, &request).await
    }

    /// A position to come back to with [`Transaction::rollback_to`]. Statements that begin later
    /// come after it.
    pub fn savepoint(&self) -> SavepointId {
        let mut state = self.core.lock_state();
        let seq = self.core.newest_statement();
        let (buffer, local) = (state.buffer.savepoint(seq.0), state.local.savepoint(seq.0));
        SavepointId { seq, buffer, local }
    }

    /// Takes back the writes of statements that began after the savepoint. Locks, the read set
    /// and the statement numbers stay. Below SERIALIZABLE their checks go too: these prove that the
    /// writes are allowed, and say nothing else.
    ///
    /// Must-not-exist duties of those statements go as well, so a caller that has told its client
    /// anything about them calls [`Writes::check_new_keys`] before.
    pub fn rollback_to(&self, savepoint: SavepointId) {
        let mut state = self.core.lock_state();
        state.buffer.rollback_to(savepoint.buffer);
        state.local.rollback_to(savepoint.local);
        if self.core.isolation() != Isolation::Serializable {
            let newest = savepoint.seq.number();
            state.checks.retain(|check| check.statement <= newest);
        }
        self.core.deferred.rollback_to(savepoint.seq);
    }

    /// Commits. Locks are released however it ends.
    ///
    /// A transaction without writes (and without an observer, who wants its place in the order of
    /// commits) has nothing to ask the store: its snapshot is consistent. Only
    /// a store that may lose locks is asked whether they were held all the time. A transaction
    /// with writes waits once.
    pub async fn commit(&self) -> Result<CommitOutcome> {
        End(&self.core).commit(false).await
    }

    /// Commits like [`Transaction::commit`], but a retry leaves the transaction open, restarted
    /// as by [`Restarts::transaction`]: its locks stay.
    pub async fn commit_or_restart(&self) -> Result<CommitOutcome> {
        End(&self.core).commit(true).await
    }

    /// Commits and makes every outcome but success an error.
    pub async fn commit_or_error(&self) -> Result<Timestamp> {
        self.commit().await?.into_result()
    }

    /// Rolls back: nothing was written yet, so only locks have to go. Harmless after the end.
    pub async fn rollback(&self) {
        End(&self.core).rollback().await;
    }
}
