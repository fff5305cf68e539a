//! What all parts of a transaction share: its settings, its counters and its state.
//!
//! One short mutex guards the state. It is never held across a wait.

use crate::{
    Check, CommitFence, CommitObserver, Conflict, Database, Error, Isolation, Key, LockStrength,
    ReadSegment, Result, RetryReason, Seq, Snapshot, SpanSet, Store, TxnId, TxnOptions, Value,
    transaction::state::{DeferredWork, FirstRead, ReadSet, RoundTrips, WriteBuffer},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

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
    /// What the locks of its session bind the commit to.
    pub session_fence: Option<Arc<dyn CommitFence>>,
    /// Who is told of the commit.
    pub observer: Option<Arc<dyn CommitObserver>>,
    pub first_read: FirstRead,
}

/// What all parts of a transaction share. Dropping it without a commit rolls the transaction back.
pub(super) struct Core {
    pub database: Database,
    pub id: TxnId,
    pub options: TxnOptions,
    pub round_trips: RoundTrips,
    pub deferred: DeferredWork,
    /// The number of the newest statement.
    statements: AtomicU32,
    state: Mutex<State>,
}

impl Core {
    pub(super) fn new(database: Database, id: TxnId, options: TxnOptions) -> Core {
        let read_set_bytes_max = database.options().read_set_bytes_max;
        let lock_timeout = options.lock_timeout;
        Core {
            round_trips: RoundTrips::new(database.clone()),
            deferred: DeferredWork::default(),
            database,
            id,
            options,
            statements: AtomicU32::new(0),
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
                required: HashSet::new(),
                unchanged: Vec::new(),
                known: HashMap::new(),
                has_locks: false,
                lock_timeout,
                met_newer: false,
                fence: None,
                session_fence: None,
                observer: None,
                first_read: FirstRead::None,
            }),
        }
    }

    pub(super) fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.database.store()
    }

    /// Whether its reads have to be proved unchanged at commit.
    pub(super) fn keeps_reads(&self) -> bool {
        self.options.isolation == Isolation::Serializable && !self.options.read_only
    }

    /// A new statement number. At READ COMMITTED its first read takes a new snapshot.
    pub(super) fn next_statement(&self) -> Seq {
        Seq((self.statements.fetch_add(1, Relaxed) + 1) << 1)
    }

    /// The number of the newest statement.
    pub(super) fn newest_statement(&self) -> Seq {
        Seq(self.statements.load(Relaxed) << 1)
    }

    /// Counts one wait for the store, and makes it as long as a remote one would be.
    pub(super) async fn round_trip<T>(&self, answer: impl Future<Output = T>) -> T {
        self.round_trips.wait(answer).await
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
    /// The transaction's snapshot, or at READ COMMITTED that of its newest statement.
    pub(super) fn snapshot_in_force(&self) -> Option<Arc<dyn Snapshot>> {
        let newest = || self.statements.last_key_value().map(|(_, snapshot)| snapshot.clone());
        self.snapshot.clone().or_else(newest)
    }

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

    /// What must be unchanged by [`crate::CommitTerms::require_unchanged`], as reads.
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

impl Drop for Core {
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
