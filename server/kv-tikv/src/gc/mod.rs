//! Garbage collection: which old versions may still be read, and how the others and dropped ranges
//! are removed.
//!
//! ```text
//!   every gateway   oldest snapshot ──▶ PD: "keep what stands from here on", for a minute
//!                                        │
//!   one gateway     now - life time ──▶ as far as PD lets ──▶ locks below settled ──▶ safe point
//!                                                                                         │
//!                                      stores remove what is hidden below it ◀────────────┤
//!                                      ranges that were dropped below it are destroyed ◀──┘
//! ```
//!
//! The safe point is the cluster's, not the database's: it holds for every prefix. So locks of
//! everybody are settled before it moves, and PD lets it go no further than the oldest snapshot of
//! any gateway of any database. Where another system moves it (TiDB), `gc_life_time=off` in the
//! address leaves it to that.
//!
//! # What must always hold
//!
//! - The safe point never passes a snapshot that a gateway has told PD of and not taken back. It
//!   stays below the start of such a transaction, where the record of its rollback would stand.
//! - A commit looks whether that still held after its last prewrite. A gateway whose word has
//!   lapsed, since it was paused or cut off, asks PD after each read whether what it has read could
//!   have been gone.
//! - Before the safe point passes a lock, its transaction is settled; one that lives holds it up.
//!   Else the record of a commit could go while some of its keys still wait for it.
//! - A destroyed range is inside the keyspace of the database, and nobody can read it any more.

mod collector;
mod registration;
mod snapshot_age;
mod snapshot_registry;

pub(crate) use collector::Collector;
pub(crate) use registration::unregister;
pub(crate) use snapshot_age::{check_age, check_start};
pub(crate) use snapshot_registry::{OpenSnapshot, SnapshotRegistry};
