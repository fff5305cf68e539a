//! Spans that are known to have no visible key: a scan jumps over them.
//!
//! A deleted key stays in fjall until a compaction, and an iterator steps over it. At the front of
//! a queue or of a log with retention, or of a secondary index whose entries move on, every scan
//! would step over everything that was ever there.
//!
//! ```text
//!   fjall     x x x x x x x x x x k1 k2 x k3          x: deleted
//!   empty     [─────── at 7 ─────)
//!   hints                             ^               one delete since the last look
//!   scan at 9 ──────── jumps ─────▶k1 k2 … k3
//! ```
//!
//! A span is entered by a scan that has read through it and found no key, and by a range delete.
//! The committer notes where keys were deleted; a scan that comes by enters what it has found
//! empty where many were. The cleaner reads where very many were, so that the first scan need not.
//!
//! # What must always hold
//!
//! - Nobody whose snapshot is at or above a span's number `at` sees a key in it. Older snapshots do
//!   not use it.
//! - The committer takes every key that a commit puts out of the spans while it holds the index of
//!   recent writes, and before the commit is visible. A scan enters a span under the same lock,
//!   after the index has said that nothing there is newer than its snapshot.
//! - Two neighbours become one, with the higher number of the two, only if no living view has a
//!   number between theirs: such a view could jump over one of the two only, and would lose that.
//!   New views have higher numbers than every commit that was accepted before them.
//! - The bytes of spans and hints stay under the limit: what is not used goes first.

mod map;
mod shared_map;
#[cfg(test)]
mod tests;

pub(crate) use shared_map::EmptySpans;
