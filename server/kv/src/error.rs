//! What can go wrong below SQL. `exec` turns each variant into one SQLSTATE, in one place.

use crate::{Key, LockStrength, Seq, TxnId};
use std::{fmt, sync::Arc};

/// The result of a kv operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a transaction must run again. The word is stable: users see it in DETAIL and in metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RetryReason {
    /// A row to be written or locked has a version newer than the snapshot.
    WriteConflict,
    /// A key that was read has changed.
    ReadChanged,
    /// A key range that was read has changed.
    SpanChanged,
    /// A table or another object that the transaction relied on has changed.
    SchemaChanged,
    /// A definition has closed a table to writers for a while.
    TableClosed,
    /// The snapshot is so old that its reads can no longer be checked.
    TooOld,
    /// The store has lost a lock of the transaction, so others may have changed the row.
    LockLost,
    /// Asked for by a test.
    Injected,
}

impl RetryReason {
    /// Every reason, in the order in which metrics list them.
    pub const ALL: [RetryReason; 8] = [
        RetryReason::WriteConflict,
        RetryReason::ReadChanged,
        RetryReason::SpanChanged,
        RetryReason::SchemaChanged,
        RetryReason::TableClosed,
        RetryReason::TooOld,
        RetryReason::LockLost,
        RetryReason::Injected,
    ];

    /// The stable word for this reason.
    pub fn as_str(self) -> &'static str {
        match self {
            RetryReason::WriteConflict => "write_conflict",
            RetryReason::ReadChanged => "read_changed",
            RetryReason::SpanChanged => "span_changed",
            RetryReason::SchemaChanged => "schema_changed",
            RetryReason::TableClosed => "table_closed",
            RetryReason::TooOld => "too_old",
            RetryReason::LockLost => "lock_lost",
            RetryReason::Injected => "injected",
        }
    }
}

impl fmt::Display for RetryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change by another transaction that this one cannot live with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What kind of change it is.
    pub reason: RetryReason,
    /// A key that changed, or the start of the span, where it is known.
    pub key: Option<Key>,
    /// The caller's tag of the read that changed (see [`crate::Record::Always`]): below
    /// SERIALIZABLE it names the violated constraint. 0 is none.
    pub tag: u32,
}

impl Conflict {
    /// A conflict at `key` without a tag.
    pub fn new(reason: RetryReason, key: Option<Key>) -> Conflict {
        Conflict { reason, key, tag: 0 }
    }
}

/// One edge of a deadlock: `waiter` waits for `holder` at `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockEdge {
    /// The transaction that waits.
    pub waiter: TxnId,
    /// The transaction that it waits for.
    pub holder: TxnId,
    /// Where it waits: a key, or the start of a span.
    pub key: Key,
    /// What it asks for there.
    pub strength: LockStrength,
}

/// An error of the kv layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The transaction must run again (40001).
    #[error("restart transaction: {}", .0.reason)]
    Retry(Box<Conflict>),
    /// A lock was not granted in time (55P03).
    #[error("canceling statement due to lock timeout")]
    LockTimeout {
        /// The key, or the start of the span.
        key: Key,
    },
    /// A lock is held by another and the caller did not want to wait (55P03).
    #[error("could not obtain lock")]
    LockNotAvailable {
        /// The key, or the start of the span.
        key: Key,
    },
    /// This transaction was chosen as the victim of a deadlock (40P01).
    #[error("deadlock detected")]
    Deadlock {
        /// The cycle, starting at the victim.
        cycle: Arc<[DeadlockEdge]>,
    },
    /// A named limit was reached (53200).
    #[error("limit \"{name}\" of {limit} reached")]
    LimitExceeded {
        /// The name of the limit, as in the configuration.
        name: &'static str,
        /// Its value.
        limit: u64,
    },
    /// A key that must not exist does (23505).
    #[error("duplicate key")]
    Duplicate {
        /// The key that exists.
        key: Key,
        /// The statement that wrote it.
        seq: Seq,
    },
    /// A statement with a higher number, which a routine has run inside of this one, has written
    /// the key already (27000).
    #[error("a key was written inside of the statement that writes it")]
    WrittenInside {
        /// The key.
        key: Key,
    },
    /// A read that has to hold at every isolation level has changed (23503, 23505).
    #[error("a checked key has changed")]
    CheckChanged(Box<Conflict>),
    /// Whether the commit took place is unknown (40003).
    #[error("the outcome of the commit is unknown")]
    Unknown,
    /// The snapshot is so old that the store may have removed what it shows (72000).
    #[error("snapshot too old")]
    SnapshotTooOld,
    /// A write in a read-only transaction (25006).
    #[error("cannot write in a read-only transaction")]
    ReadOnly,
    /// The transaction has ended; a bug of the caller.
    #[error("the transaction has ended")]
    Finished,
    /// The caller gave up waiting.
    #[error("canceled")]
    Cancelled,
    /// The store is shutting down or has stopped after a failure.
    #[error("the store has stopped: {0}")]
    Stopped(Arc<str>),
    /// There is no room for the commit; nothing was written (53100).
    #[error("disk full: {0}")]
    DiskFull(Arc<str>),
    /// Stored bytes are not what they should be.
    #[error("corrupt data: {0}")]
    Corrupt(Arc<str>),
    /// The cluster, or the part of it that is needed, does not answer (58000); it is tried on.
    #[error("the store is unreachable: {0}")]
    Unreachable(Arc<str>),
    /// The store failed otherwise.
    #[error("storage failure: {0}")]
    Storage(Arc<str>),
}

impl Error {
    /// A retry error at `key`.
    pub fn retry(reason: RetryReason, key: Option<Key>) -> Error {
        Error::Retry(Box::new(Conflict::new(reason, key)))
    }

    /// Whether running the whole transaction again may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Retry(_) | Error::Deadlock { .. })
    }
}
