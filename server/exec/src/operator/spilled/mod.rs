//! Rows that operators read back from disk.

pub(crate) mod overflow;
pub(crate) mod queue;
pub(crate) mod stream_scan;
