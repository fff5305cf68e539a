//! Rows on disk: what operators write when the memory of their statement is used up.
//!
//! ```text
//! TempFolder (process) ──▶ TempSpace (session, temp_file_limit) ──▶ TempFile (operator)
//!                                                                        │
//!                            RowWriter ──▶ RowStream ──▶ RowReader ◀─────┤ blocks
//!                                                                        │
//!             Partitions (by hash)    Merge (sorted runs)    RowStore (in the order of input)
//! ```
//!
//! What it does not do: decide when to spill (a [`MemoryReservation`] says when memory is used up),
//! or know what the rows mean.
//!
//! Rules that must always hold:
//! - rows come back as they were written, in the order of their stream;
//! - a file goes with the operator that made it, however that ends;
//! - the memory of readers, buffers and merges has a bound that does not depend on the rows, but
//!   for the size of a single one;
//! - a wait for the disk never keeps other connections waiting.
//!
//! [`MemoryReservation`]: crate::MemoryReservation

pub(crate) mod encoding;
pub(crate) mod errors;
pub(crate) mod file;
pub(crate) mod folder;
pub(crate) mod merge;
pub(crate) mod pages;
pub(crate) mod partitions;
pub(crate) mod space;
pub(crate) mod store;
pub(crate) mod stream;

pub use folder::TempFolder;
pub use pages::RowPages;
pub use space::TempSpace;
pub use store::{RowStore, StoreCursor};
