//! Bulk loads: sorted pairs become tables of fjall directly, without journal and memtable.
//!
//! ```text
//!   add      sorter: memory, then sorted runs in temporary files
//!   write    ingestion: new table files, in key order; fjall does not know them yet
//!   gate     the caller locks the span
//!   pause    committer: sync the journal ─▶ ingestion ends ─▶ writers' keys again ─▶ new view
//! ```
//!
//! fjall gives all pairs of an ingestion the newest sequence number at its end. So they cover what
//! writers have put or deleted there meanwhile, although they are older. [`Watch`] notes the keys
//! of all commits in the span. At the end each of them gets again what it had before.
//!
//! # What must always hold
//!
//! - The watch begins between two groups of the committer, before the caller takes its snapshot. So
//!   a commit is in the snapshot or in the watch.
//! - The pairs have the commit number at which the watch began. So they are hidden by later range
//!   deletes only, and a load over which a range delete went does not become visible.
//! - The end of an ingestion flushes the memtable. So it runs while the committer waits, after a
//!   sync: no commit is in a table before it is in the journal.
//! - The index of recent writes has the span before the pairs can be seen. So no scan that saw the
//!   span empty before leaves that in the map of empty spans or in the range cache.
//! - Nothing of a load is in the journal, so the chain of commits has no gap after it.

mod load;
mod sorter;
mod watch;

pub(crate) use load::begin;
pub(crate) use watch::{Watch, Watches};
