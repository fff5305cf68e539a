//! A transaction: one handle that many tasks use at once.
//!
//! The state behind it is guarded by one short mutex that is never held across a wait.
//!
//! - `handle`: birth, statement numbers, savepoints, the round-trip counter, the end by drop
//! - `read`: snapshots, get, multi-get, scan
//! - `lone`: a first read that does without a snapshot
//! - `local`: keys of the session only
//! - `write`: put, must-not-exist put, delete, range delete
//! - `lock`: locks, refresh, running a statement again
//! - `commit`: commit and rollback
//! - `restart`: beginning anew without giving up locks
//! - `session`: locks of the session around it
//! - `shared_snapshot`: a snapshot that several transactions read at

mod commit;
mod handle;
mod local;
mod lock;
mod lone;
mod read;
mod restart;
mod session;
mod shared_snapshot;
mod write;

pub use handle::{SavepointId, Transaction};
pub use lock::LockResult;
pub use shared_snapshot::SharedSnapshot;
