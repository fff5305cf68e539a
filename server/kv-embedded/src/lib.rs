//! The kv contract on one machine, over fjall.
//!
//! One process owns the data folder. Readers use published views and never wait; writers hand
//! their transactions to one committer.
//!
//! ```text
//!   readers ──▶ view 7 (fjall snapshot, tombstones)      locks: in memory, keys and spans
//!                 ▲ published after the sync
//!   writers ──▶ queue ──▶ committer ──▶ batch ──▶ sync ──▶ publish ──▶ unlock ──▶ acknowledge
//!                            │
//!                            └ recent writes: what read sets are checked against
//! ```
//!
//! # A timeline
//!
//! ```text
//!   T1  reads a (view 5) ………………… writes b ………… commit: a changed since 5? no → number 6
//!   T2     reads b (view 5) … writes a … commit: b changed since 5? yes, by 6 → retry
//!   T3                                        reads a, b at view 5: neither write
//!   T4                                              reads a, b at view 6: T1's write
//! ```
//!
//! T1 and T2 each read what the other writes. The committer looks at them one after the other;
//! once T1 is accepted its writes are in the index, so T2 meets them although nothing is on disk
//! yet. T3 and T4 see commits in number order and nothing that a crash could take back, because a
//! view is published after its sync. That is why a read-only transaction needs no check at all.
//!
//! # Values, versions, range deletes
//!
//! A stored value carries the number of the commit that put it. Old versions live in fjall as long
//! as a view shows them, so a transaction whose snapshot is older than the index of recent writes
//! can compare its read set by reading both views. A range delete is one tombstone record; see the
//! module `tombstones`. Commit numbers are reserved in blocks, so that they go on above the durable
//! maximum after a crash.
//!
//! # Long scans
//!
//! What a long scan has read stays in the range cache, as flat batches, until a commit writes
//! there or room is needed; see `reads::range_cache`. Where nothing is left but deleted keys a
//! scan jumps; see the module `empty_spans`.
//!
//! # Large commits
//!
//! The writes of a large commit become tables of fjall at once; see `committer::ingest`. The record
//! of its range deletes is in `ingestion`.
//!
//! # What must always hold
//!
//! - Only the committer writes, but for bulk loads, which write while it waits (module `bulk`).
//!   Its rules are in the module `committer`, those of the locks in `locks`, those of the folder
//!   in `folder`.
//! - Nothing is acknowledged before it is synced; after a failed sync the store stops.
//!
//! Reads of blocks that are not cached happen on the caller's thread.

mod account;
mod bulk;
mod cleaner;
mod committer;
mod empty_spans;
mod files;
mod folder;
mod ingestion;
mod key_head;
mod locks;
mod options;
mod reads;
mod recent_writes;
mod shared;
mod store;
mod tombstones;

pub use folder::{FORMAT_VERSION, OpenError, holds_database, make_files_private};
pub use options::{EmbeddedOptions, FatalHook};
pub use store::EmbeddedStore;
