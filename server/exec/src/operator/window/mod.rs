//! Window functions.

pub(crate) mod partition;
pub(crate) mod running;
