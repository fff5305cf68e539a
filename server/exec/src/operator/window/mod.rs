//! Window functions.

pub(crate) mod partition;
