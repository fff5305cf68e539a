//! Operators of one plan that several workers run, each over its own part of the rows.

pub(crate) mod gather;
pub(crate) mod morsels;
pub(crate) mod parallelism;
pub(crate) mod shared_build;
pub(crate) mod shared_rows;
pub(crate) mod shares;
pub(crate) mod stop_signal;
pub(crate) mod worker_task;
pub(crate) mod workers;
