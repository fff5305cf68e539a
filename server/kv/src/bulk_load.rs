//! Pairs that a store takes in as a whole, without a journal and without a read set.
//!
//! ```text
//!   begin ──▶ add, add, … ──▶ write ──▶ gate ──▶ visible
//!     └── from here on the store notes every key that others write in the span ──┘
//! ```
//!
//! A load is for a span that nobody reads yet, such as a new index while it is built. Its pairs are
//! those of one snapshot, which the caller takes after the load has begun.

use crate::{Key, Result, Value};
use std::sync::atomic::AtomicBool;

/// A bulk load. Dropping it before its end leaves nothing that anybody could read.
pub trait BulkLoad: Send + 'static {
    /// Adds a pair of the snapshot, in any order.
    fn add(&mut self, key: &[u8], value: &[u8]);

    /// Bytes of memory that the pairs take.
    fn memory_bytes(&self) -> usize;

    /// Moves the pairs from memory to a temporary file.
    fn spill(&mut self) -> Result<()>;

    /// Sorts the pairs, writes them, calls `gate`, and makes them visible at once.
    ///
    /// `gate` locks the span, so that no transaction that writes there is under way; the lock has
    /// to be held until this call ends. If `gate` answers false, or `stop` becomes true, nothing
    /// becomes visible. Blocks the thread.
    fn finish(self: Box<Self>, stop: &AtomicBool, gate: &mut dyn FnMut() -> bool)
    -> Result<Loaded>;
}

/// How a bulk load has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// Everything is visible, but what others have written since the load began stands as they
    /// have written it. These are the keys, each with every value that it had from them or from
    /// the load.
    Visible(Vec<(Key, Vec<Value>)>),
    /// Two pairs have this key. Nothing is visible.
    Twice(Key, [Value; 2]),
    /// It was stopped. Nothing is visible.
    Stopped,
    /// Others have written more than the store notes. Nothing is visible.
    Overtaken,
}
