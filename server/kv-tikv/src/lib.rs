//! The kv contract over a TiKV cluster: serializable transactions on TiKV's snapshot isolation.
//!
//! ```text
//!   Store     snapshot ─ lock ─ validate ─ commit ─ release
//!     │           │        │        │         │
//!     │       snapshot,  locks,   commit/   commit/  prewrite, proofs at C, commit at C
//!     │       cursor     locals   validate
//!     │           └────────┴────┬───┴─────────┘
//!     │                   meeting, resolve         locks of others
//!     │                         │
//!     └── heartbeat ───── cluster, regions, rpc    requests, regions, retries
//!                               │
//!                            pd, tso, dial         timestamps, leaders, stores, connections
//!
//!   probe, troubles, metrics                       what can be told of the cluster
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
//! whichever looks later meets the other: T1 pushes T2 above 20 and may pass over its lock; then
//! T2, which finds T1 committed below 21, sees that b has changed. Were T1 the one that was pushed
//! as well, it would take a later C and look again.
//!
//! # What must always hold
//!
//! - A transaction's start timestamp names it in TiKV: no two transactions share one.
//! - What is reported as committed is decided in TiKV, and what is reported as aborted can no
//!   longer be committed. Everything else is unknown. See the module `commit`.
//! - A point key is left out of the proofs only if it is locked and is prewritten with the check
//!   that it still is.
//! - A lost lock is a lost read: the transaction runs again. No key is locked a second time for a
//!   value that came with the first lock. See the module `lost`.
//! - Every request has a deadline, and may be carried out twice.
//!
//! Locks on spans do not exist: at the commit the span has to be what it was. Locks that are to
//! stay through a retry are taken anew under a new timestamp.

mod address;
mod backoff;
mod cluster;
mod commit;
mod cursor;
mod dial;
mod error;
mod format;
mod gc;
mod heartbeat;
mod keys;
mod locals;
mod locks;
mod lost;
mod meeting;
mod metrics;
mod options;
mod pace;
mod pd;
mod probe;
mod regions;
mod resolve;
mod rpc;
mod snapshot;
mod store;
mod troubles;
mod tso;
mod version;

pub use address::TikvAddress;
pub use dial::TlsFiles;
pub use error::OpenError;
pub use format::FORMAT_VERSION;
pub use options::TikvOptions;
pub use store::TikvStore;
pub use version::VERSION_MIN;
