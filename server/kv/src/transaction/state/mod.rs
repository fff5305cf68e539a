//! What a transaction keeps in memory.
//!
//! - `write_buffer`: its own writes by statement number
//! - `arrivals`: what statements have added, in the order of arrival, for savepoints
//! - `first_read`: the state of a first read without a snapshot
//! - `read_set`: what it has read, and at which snapshot

mod arrivals;
mod first_read;
mod read_set;
mod write_buffer;

pub(super) use first_read::{FirstRead, ReadWithoutSnapshot};
pub(super) use read_set::ReadSet;
pub(super) use write_buffer::{BufferMark, Buffered, Overlay, WriteBuffer};
