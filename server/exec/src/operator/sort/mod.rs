//! ORDER BY.

pub(crate) mod rows;
pub(crate) mod sorting;
