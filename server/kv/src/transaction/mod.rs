//! A transaction: one handle that many tasks use at once.
//!
//! One short mutex guards its state. It is never held across a wait.
//!
//! - `handle`: birth, statement numbers, savepoints, the round-trip counter, the end by drop
//! - `read`: snapshots, get, multi-get, scan
//! - `first_read`: a first read without a snapshot
//! - `local`: keys of the session only
//! - `write`: put, must-not-exist put, delete, range delete
//! - `lock`: locks, refresh, running a statement again
//! - `commit`: commit and rollback
//! - `restart`: a new attempt that keeps the locks
//! - `scanner`: scans with own writes laid over the store's entries
//! - `state`: write buffer, read set
//! - `session`: locks of the session around it
//! - `shared_snapshot`: a snapshot that several transactions read at

mod commit;
mod first_read;
mod handle;
mod local;
mod lock;
mod read;
mod restart;
mod scanner;
mod session;
mod shared_snapshot;
mod state;
mod write;

pub use handle::{SavepointId, Transaction};
pub use lock::LockResult;
pub use scanner::{ScanRequest, Scanner};
pub use shared_snapshot::SharedSnapshot;
