//! A transaction: one handle that many tasks use at once.
//!
//! ```text
//!   Transaction   the handle, and everyday operations
//!     ├── Snapshots ◀── Reads ◀── Locks
//!     │       ▲ └─────◀ Writes
//!     │       └──────── Restarts ◀── End (commit, rollback)
//!     ├── CommitTerms
//!     └── Core        settings, one mutex around the state, DeferredWork, RoundTrips
//! ```
//!
//! Each part is a view of the one `Core`, because a step of most of them changes several
//! fields of the state at once.
//!
//! - `handle`: the beginning, statement numbers, savepoints, the way to the parts
//! - `core`: what the parts share, and the end by drop
//! - `snapshots`: taking, refreshing and sharing them
//! - `reads`: get and multi-get; a first read without a snapshot
//! - `recording`: what is remembered of reads
//! - `local`: keys of the session only
//! - `writes`: put, must-not-exist put, delete, range delete
//! - `locks`: locks of the transaction, and of the session around it
//! - `restarts`: a new attempt at a statement or at the transaction that keeps the locks
//! - `commit_terms`: what the commit depends on
//! - `commit`: commit and rollback
//! - `prepare`: two-phase commit
//! - `scanner`: scans with own writes laid over the store's entries
//! - `state`: write buffer, read set, deferred work, count of waits

mod commit;
mod commit_terms;
mod core;
mod handle;
mod local;
mod locks;
mod prepare;
mod reads;
mod recording;
mod restarts;
mod scanner;
mod snapshots;
mod state;
mod writes;

pub use commit_terms::CommitTerms;
pub use handle::{SavepointId, Transaction};
pub use locks::{LockResult, Locks};
pub use prepare::{Preparation, PreparedTransaction};
pub use reads::Reads;
pub use restarts::Restarts;
pub use scanner::{ScanRequest, Scanner};
pub use snapshots::{SharedSnapshot, Snapshots};
pub use state::{DeferredWork, RoundTrips};
pub use writes::Writes;
