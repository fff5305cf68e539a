//! The kv contract over a TiKV cluster: serializable transactions on TiKV's snapshot isolation.
//!
//! ```text
//!   TikvStore      the contract; Keyspace adds and removes the key prefix here
//!     │
//!     ├── read     snapshot, lookup, cursor
//!     ├── locks    lock_manager, lock_resolver, transaction_registry, heartbeat
//!     ├── commit   plan, prewrite, validate (proofs at C), run (commit at C)
//!     ├── gc       safe points, dropped ranges
//!     │
//!     └── cluster  client ── regions ── rpc        requests, regions, retries
//!                    │
//!                  pd, timestamps, dialer          leaders, stores, connections
//! ```
//!
//! # A timeline
//!
//! ```text
//!   T1  reads a at 10 … prewrites b … C=20 … reads a at 20: T2's lock, pushed above 20 … commits
//!   T2  reads b at 11 … prewrites a … C=21 … reads b at 21: T1's lock, committed at 20 → retry
//! ```
//!
//! T1 and T2 each read what the other writes. Each has its locks in place before it takes its C, so
//! the later reader meets the other's lock. T1 pushes T2 above 20 and reads past its lock. T2 then
//! finds that T1 committed below 21, so b has changed. If T2 had pushed T1 as well, T1 would take a
//! later C and validate again.
//!
//! # What must always hold
//!
//! - A transaction's start timestamp names it in TiKV: no two transactions share one.
//! - A transaction that is reported as committed is decided in TiKV. A transaction that is reported
//!   as aborted can no longer be committed. Everything else is unknown. See the module `commit`.
//! - A point key is left out of the proofs only if it is locked and is prewritten with the check
//!   that it still is.
//! - A lost lock is a lost read: the transaction runs again. No key is locked a second time for a
//!   value that came with the first lock. See `locks::lost_locks`.
//! - Every request has a deadline, and may be carried out twice.
//!
//! TiKV has no locks on spans: the commit proves instead that the span is unchanged. Locks that are
//! kept through a retry are taken again under a new timestamp.

mod address;
mod cluster;
mod commit;
mod error;
mod format;
mod gc;
mod keyspace;
mod locks;
mod metrics;
mod options;
mod read;
mod store;
mod timestamp;
mod version;

pub use address::TikvAddress;
pub use cluster::TlsFiles;
pub use error::{OpenError, VERSION_MIN};
pub use format::FORMAT_VERSION;
pub use options::TikvOptions;
pub use store::TikvStore;
