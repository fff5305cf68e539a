//! Birth, statement numbers, savepoints, counting of waits, and the end by drop.

use crate::{
    Check, CommitFence, CommitObserver, Conflict, Database, Error, Isolation, Key, LockStrength,
    ReadSegment, Result, RetryReason, Seq, Snapshot, SpanSet, StatementWaits, TxnId, TxnOptions,
    Value,
    transaction::state::{BufferMark, FirstRead, ReadSet, WriteBuffer},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    any::Any,
    collections::{BTreeMap, HashMap, HashSet},
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// A position to which a transaction can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavepointId {
    seq: u32,
    buffer: BufferMark,
    local: BufferMark,
}

/// Whether the transaction still takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Active,
    /// Handed over to the store, which releases the locks.
    Committing,
    Ended,
}

/// A check with the statement that it belongs to; 0 is the transaction itself.
pub(super) struct StatementCheck {
    pub statement: u32,
    pub check: Check,
}

pub(super) struct State {
    pub phase: Phase,
    /// The snapshot of the transaction; at READ COMMITTED each statement has its own instead.
    pub snapshot: Option<Arc<dyn Snapshot>>,
    /// Others read at the snapshot, so it must not move.
    pub snapshot_is_fixed: bool,
    pub statements: BTreeMap<u32, Arc<dyn Snapshot>>,
    /// The first statement that has read anything.
    pub first_reader: Option<u32>,
    pub buffer: WriteBuffer,
    /// Writes to keys of the session's [`crate::LocalKeyspace`].
    pub local: WriteBuffer,
    pub reads: ReadSet,
    pub checks: Vec<StatementCheck>,
    /// What statements have left to be done before the commit.
    pub left: Vec<(Seq, Arc<dyn Any + Send + Sync>)>,
    /// Keys that a check of the transaction itself requires to be unchanged.
    pub required: HashSet<Key>,
    /// Asked for before there was a snapshot to compare with.
    pub unchanged: Vec<Key>,
    /// Locked keys whose value is known: nobody else can change them.
    pub known: HashMap<Key, (LockStrength, Option<Value>)>,
    pub has_locks: bool,
    /// How long one lock request waits from now on.
    pub lock_timeout: Option<Duration>,
    /// Whether a lock has brought something newer than the snapshot.
    pub met_newer: bool,
    /// What the commit is bound to.
    pub fence: Option<Arc<dyn CommitFence>>,
    /// Who is told of the commit.
    pub observer: Option<Arc<dyn CommitObserver>>,
    pub first_read: FirstRead,
}

/// A transaction. See the crate's documentation for what it sees and when it may commit.
///
/// Dropping it without a commit rolls it back.
pub struct Transaction {
    pub(super) database: Database,
    id: TxnId,
    pub(super) options: TxnOptions,
    statements: AtomicU32,
    round_trips: AtomicU64,
    in_flight: AtomicU32,
    state: Mutex<State>,
}

impl Transaction {
    pub(crate) fn new(database: Database, id: TxnId, options: TxnOptions) -> Transaction {
        let read_set_bytes_max = database.options().read_set_bytes_max;
        let lock_timeout = options.lock_timeout;
        Transaction {
            database,
            id,
            options,
            statements: AtomicU32::new(0),
            round_trips: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            state: Mutex::new(State {
                phase: Phase::Active,
                snapshot: None,
                snapshot_is_fixed: false,
                statements: BTreeMap::new(),
                first_reader: None,
                buffer: WriteBuffer::default(),
                local: WriteBuffer::default(),
                reads: ReadSet::new(read_set_bytes_max),
                checks: Vec::new(),
                left: Vec::new(),
                required: HashSet::new(),
                unchanged: Vec::new(),
                known: HashMap::new(),
                has_locks: false,
                lock_timeout,
                met_newer: false,
                fence: None,
                observer: None,
                first_read: FirstRead::None,
            }),
        }
    }

    /// Its number.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// Whether writes and locks are refused.
    pub fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    /// The database it belongs to.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Whether its reads have to be proved unchanged at commit.
    pub(super) fn keeps_reads(&self) -> bool {
        self.options.isolation == Isolation::Serializable && !self.options.read_only
    }

    /// A new statement number. At READ COMMITTED its first read takes a new snapshot.
    pub fn next_statement(&self) -> Seq {
        Seq((self.statements.fetch_add(1, Relaxed) + 1) << 1)
    }

    /// How long each lock request waits from now on, those of the commit included; `None` waits
    /// for ever.
    pub fn set_lock_timeout(&self, timeout: Option<Duration>) {
        self.lock_state().lock_timeout = timeout;
    }

    /// Says that nothing more will be read for this statement. Only READ COMMITTED profits: its
    /// snapshot is dropped.
    pub fn end_statement(&self, seq: Seq) {
        if self.options.isolation == Isolation::ReadCommitted {
            self.lock_state().statements.remove(&seq.number());
        }
    }

    /// A position to come back to with [`Transaction::rollback_to`]. Statements that begin later
    /// come after it.
    pub fn savepoint(&self) -> SavepointId {
        let state = self.lock_state();
        let seq = self.statements.load(Relaxed) << 1;
        let (buffer, local) = (state.buffer.savepoint(seq), state.local.savepoint(seq));
        SavepointId { seq, buffer, local }
    }

    /// Takes back the writes of statements that began after the savepoint. Locks, the read set
    /// and the statement numbers stay.
    ///
    /// Must-not-exist duties of those statements go as well, so a caller that has told its client
    /// anything about them calls [`Transaction::check_new_keys`] before.
    pub fn rollback_to(&self, savepoint: SavepointId) {
        let mut state = self.lock_state();
        state.buffer.rollback_to(savepoint.buffer);
        state.local.rollback_to(savepoint.local);
        state.left.retain(|(seq, _)| seq.0 <= savepoint.seq);
    }

    /// Leaves work of a statement to be done before the commit, by the caller that commits. It goes
    /// with the statement's writes: by a rollback to a savepoint, and when the statement runs
    /// again.
    pub fn leave(&self, seq: Seq, what: Arc<dyn Any + Send + Sync>) {
        self.lock_state().left.push((seq.before(), what));
    }

    /// What is left to be done, in the order of the statements.
    pub fn left(&self) -> Vec<(Seq, Arc<dyn Any + Send + Sync>)> {
        let mut left = self.lock_state().left.clone();
        left.sort_by_key(|(seq, _)| *seq);
        left
    }

    /// The newest thing of this type that was left, with its statement.
    pub fn last_left<T: Any + Send + Sync>(&self) -> Option<(Seq, Arc<T>)> {
        let state = self.lock_state();
        let (seq, what) = state.left.iter().rev().find(|(_, what)| what.is::<T>())?;
        Some((*seq, what.clone().downcast().ok()?))
    }

    /// Whether something of this type was left.
    pub fn has_left<T: Any + Send + Sync>(&self) -> bool {
        self.lock_state().left.iter().any(|(_, what)| what.is::<T>())
    }

    /// Drops what has been done of what was left.
    pub fn retain_left(&self, keep: impl Fn(&Arc<dyn Any + Send + Sync>) -> bool) {
        self.lock_state().left.retain(|(_, what)| keep(what));
    }

    /// How often the transaction has waited for the store. Requests that are under way at the
    /// same time are one wait.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Relaxed)
    }

    /// Whether a commit would have something to write into the store.
    pub fn has_writes(&self) -> bool {
        !self.lock_state().buffer.is_empty()
    }

    /// Roughly how many bytes the write buffer holds.
    pub fn buffer_bytes(&self) -> usize {
        self.lock_state().buffer.bytes()
    }

    /// Requires at commit, at every isolation level, that `key` has not changed since the
    /// transaction's snapshot (at READ COMMITTED: since the statement snapshot in force now, or
    /// else the next one). Otherwise the commit is a retry with reason `schema_changed`.
    pub fn require_unchanged(&self, key: Key) {
        let mut state = self.lock_state();
        let newest = state.statements.last_key_value().map(|(_, s)| s.clone());
        match state.snapshot.clone().or(newest) {
            Some(snapshot) => state.add_unchanged(key, &snapshot),
            None => state.unchanged.push(key),
        }
    }

    /// Binds the next commit to a point of time. It then proves its schema by itself.
    pub fn set_fence(&self, fence: Arc<dyn CommitFence>) {
        self.lock_state().fence = Some(fence);
    }

    /// Tells the observer of the commit, in the order of commits; see
    /// [`crate::CommitRequest::observer`]. Such a commit is that of a writer, whatever it writes.
    pub fn observe_commit(&self, observer: Arc<dyn CommitObserver>) {
        self.lock_state().observer = Some(observer);
    }

    /// While it lives, all requests count as one wait: for many that are sent side by side. The
    /// caller waits for them together.
    pub fn side_by_side(&self) -> impl Drop + '_ {
        Flight::start(self)
    }

    /// Counts one wait for the store, and makes it as long as a remote one would be.
    pub(crate) async fn round_trip<T>(&self, answer: impl Future<Output = T>) -> T {
        let _flight = Flight::start(self);
        if let Some(rtt) = self.database.options().simulate_rtt {
            tokio::time::sleep(rtt).await;
        }
        answer.await
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The state, if the transaction still takes work.
    pub(super) fn active(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        match state.phase {
            Phase::Active => Ok(state),
            Phase::Committing | Phase::Ended => Err(Error::Finished),
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().phase == Phase::Ended
    }

    /// Counts a conflict and makes the retry error of it.
    pub(super) fn retry(&self, conflict: Conflict) -> Error {
        self.database.inner.counters.add_retry(conflict.reason);
        Error::Retry(Box::new(conflict))
    }
}

impl State {
    pub(super) fn add_unchanged(&mut self, key: Key, snapshot: &Arc<dyn Snapshot>) {
        if !self.required.insert(key.clone()) {
            return;
        }
        let conflict = Conflict::new(RetryReason::SchemaChanged, Some(key.clone()));
        let check = Check {
            snapshot: snapshot.clone(),
            span: crate::Span::key(key),
            exists: false,
            matching: None,
            conflict,
        };
        self.checks.push(StatementCheck { statement: 0, check });
    }

    /// What must be unchanged by [`Transaction::require_unchanged`], as reads.
    pub(super) fn schema_segments(&self) -> Vec<ReadSegment> {
        let checks = self.checks.iter().map(|c| &c.check);
        let schema = checks.filter(|c| c.conflict.reason == RetryReason::SchemaChanged);
        let segment = |check: &Check| ReadSegment {
            snapshot: check.snapshot.clone(),
            spans: SpanSet::from_iter([check.span.clone()]),
        };
        schema.map(segment).collect()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.phase == Phase::Active {
            self.database.inner.counters.here().aborted.fetch_add(1, Relaxed);
            if state.has_locks {
                drop(self.database.inner.store.release(self.id));
            }
        }
    }
}

/// One request under way.
struct Flight<'a> {
    txn: &'a Transaction,
    waits: Option<Arc<StatementWaits>>,
}

impl<'a> Flight<'a> {
    fn start(txn: &'a Transaction) -> Flight<'a> {
        if txn.in_flight.fetch_add(1, Relaxed) == 0 {
            txn.round_trips.fetch_add(1, Relaxed);
            txn.database.inner.counters.here().round_trips.fetch_add(1, Relaxed);
        }
        let waits = StatementWaits::current();
        if let Some(waits) = &waits {
            waits.begin();
        }
        Flight { txn, waits }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.txn.in_flight.fetch_sub(1, Relaxed);
        if let Some(waits) = &self.waits {
            waits.end();
        }
    }
}
