//! The transactional contract between the SQL engine and its stores, in bytes.
//!
//! A [`Database`] hands out [`Transaction`]s; many tasks use one of them at once. What every store
//! would do alike lives here: the write buffer with its sequence numbers and savepoints, the read
//! set, refresh, must-not-exist duties, the round-trip counter. A [`Store`] answers reads at a
//! [`Snapshot`], keeps locks, validates and commits.
//!
//! ```text
//!        exec, session                     tables, rows, SQLSTATEs
//!   ───────────┬──────────────────────────────────────────────────
//!        Transaction   begin ─ next_statement ─ get, scan, put, lock … ─ commit
//!          │  │  └── Snapshots, Reads, Writes, Locks, Restarts, CommitTerms, DeferredWork
//!          │  └───── LocalKeyspace keys of the session only: temporary tables
//!          └──────── dyn Store     kv-embedded or kv-tikv
//! ```
//!
//! # A transaction's time
//!
//! ```text
//!   commits    ─────●────────●──────────────●───────────●─────▶ time
//!                   5        6              7           8
//!   SERIALIZABLE    [snapshot 5 … reads … refresh to 7 … commit as 8: reads unchanged up to 7?]
//!   REPEATABLE READ [snapshot 5 ……………………………………………… commit as 8: written keys not newer than 5?]
//!   READ COMMITTED  [5: statement 1][6: statement 2]…… commit as 8
//! ```
//!
//! - The snapshot is taken at the first read, not at BEGIN, and shows commits up to its number.
//! - At SERIALIZABLE the commit is allowed if everything that was read is still the same just
//!   before it, as if the whole transaction had run at that instant. When a lock meets a newer
//!   version, the transaction is *refreshed*: the same proof, made early, moves the snapshot.
//! - A read-only transaction needs no proof: a snapshot is a prefix of the commit order.
//! - At REPEATABLE READ only written keys are compared; at READ COMMITTED every statement takes a
//!   new snapshot and locked rows are what protects it.
//!
//! # What must always hold
//!
//! - A statement sees writes of lower statement numbers, never its own, unless it asks with
//!   [`Seq::after`]. Numbers are never used twice.
//! - Read-set entries hold what the store returned, before own writes were laid over it, and
//!   survive [`Transaction::rollback_to`]. Checks of statements that are taken back do so at
//!   SERIALIZABLE only.
//! - Must-not-exist duties lie apart from the buffer.
//! - Keys of a [`LocalKeyspace`] never reach the store: not as reads, locks, checks or writes.
//! - A commit is committed, to be retried, or unknown: three types, not three messages.
//!
//! This crate knows no SQL and no store.

mod database;
mod error;
mod garbage;
mod keys;
mod lease;
mod metrics;
mod options;
mod session;
mod store;
mod transaction;

pub use database::{Database, DatabaseOptions};
pub use error::{Conflict, DeadlockEdge, Error, Result, RetryReason};
pub use garbage::Garbage;
pub use keys::{
    BatchBuilder, EntryFilter, Inserted, Key, KeyMap, KeyShape, Matching, ScanBatch, Span, SpanMap,
    SpanSet, Value, key_after, prefix_end,
};
pub use lease::{CommitFence, SchemaLease, StoreClock};
pub use metrics::{
    BOUNDS_MAX, COUNT_BOUNDS, Histogram, HistogramValues, KvMetrics, Sharded, StatementWaits,
    StoreMetric, StoreValue, TIME_BOUNDS,
};
pub use options::{
    Isolation, LockRequest, LockStrength, LockTarget, LockWait, Record, Seq, Timestamp, TxnId,
    TxnOptions,
};
pub use session::{LocalKeyspace, SessionLock, SessionLocks};
pub use store::{
    Answer, BulkLoad, Check, CommitObserver, CommitOutcome, CommitRequest, Cursor, KeepLocks,
    Loaded, LockGrant, LockInfo, NewKey, ReadSegment, SharedWait, Snapshot, Store, StoreMetrics,
    Write,
};
pub use transaction::{
    CommitTerms, DeferredWork, LockResult, Locks, Preparation, PreparedTransaction, Reads,
    Restarts, RoundTrips, SavepointId, ScanRequest, Scanner, SharedSnapshot, Snapshots,
    Transaction, Writes,
};
