//! What TiKV does with keys, locks and versions, in memory and without a network.
//!
//! ```text
//! key ── lock (at most one)          start_ts, primary, ttl, min_commit_ts …
//!     └─ versions by commit_ts       Put | Delete | Lock | Rollback, start_ts, value
//! ```
//!
//! The rules are TiKV's (version 9), as its clients see them; the names and the code are ours. A
//! command sees the engine alone and is done at once: waiting, regions and faults are above.
//!
//! `max_ts` is each store's: the highest timestamp that anybody has read at there. The caller
//! hands it in, because it knows which store serves the request.

mod commit;
mod garbage;
mod key_table;
mod model;
mod pessimistic;
mod prewrite;
mod read;
mod status;
#[cfg(test)]
mod tests;

pub use key_table::{Engine, KeyTable};
pub use model::{
    Abort, KeyError, LOGICAL_BITS, Lock, LockInfo, LockKind, Reason, Released, Ts, physical,
};
pub use pessimistic::{Acquire, Acquired};
pub use prewrite::{Action, Mutation, Op, Prewrite, Prewritten};
pub use read::{Pair, Scan, Versioned, View};
pub use status::{SecondaryStatus, Status, StatusQuery};
