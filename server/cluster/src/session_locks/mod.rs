//! Advisory locks over a store that several gateways share.
//!
//! ```text
//!   take  ── turn of the key here ── read the record ── nobody in the way: commit in the lease
//!                                         └─────────── else wait, and look again
//!   keep  ── turn of the key here ── commit without the session ── wake the waiters here
//! ```
//!
//! TiKV's own locks belong to transactions and live for seconds. So each lock is a record in a
//! system table (`record`), which names the sessions that hold it and, after a second, those that
//! wait for it. Each change of a record is one transaction, which proves what it has read.
//!
//! Rules that must always hold:
//! - a lock is granted by a commit below the end of the lease that its gateway has then, and ends
//!   with that lease at the latest: entries of a gateway whose lease has ended do not count;
//! - commits of transactions in a session that holds locks are below the end of the same lease, so
//!   nothing is written under a lock that another session may hold by now;
//! - a session whose gateway has begun another lease has lost its locks ([`SharedLocks::lost`]);
//! - changes of one lock by one gateway follow each other: what was given up after it was asked
//!   for is given back after it was granted.
//!
//! Limits: who waits looks again after at most 200 ms (`LOOK_EVERY`), unless the lock is given back
//! here. Who has waited for a second looks again after at most a second (`LOOK_LATE`). A circle of
//! waits is found after some seconds, whether or not it goes through locks of rows (`deadlocks`).

mod deadlocks;
mod record;
mod shared_locks;
mod waits;

pub use shared_locks::SharedLocks;
