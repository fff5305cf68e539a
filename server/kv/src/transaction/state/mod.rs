//! What a transaction keeps in memory.
//!
//! - `write_buffer`: its own writes by statement number
//! - `arrivals`: what statements have added, in the order of arrival, for savepoints
//! - `deferred_work`: what statements have deferred until the commit
//! - `first_read`: the state of a first read without a snapshot
//! - `read_set`: what it has read, and at which snapshot
//! - `late_writes`: writes of a large statement that enter the write buffer together
//! - `round_trips`: how often it has waited for the store

mod arrivals;
mod deferred_work;
mod first_read;
mod late_writes;
mod read_set;
mod round_trips;
mod write_buffer;

pub use deferred_work::DeferredWork;
pub(super) use first_read::{FirstRead, ReadWithoutSnapshot};
pub(super) use read_set::ReadSet;
pub use round_trips::RoundTrips;
pub(super) use write_buffer::{BufferMark, Buffered, Overlay, WriteBuffer};
