//! ORDER BY.

pub(crate) mod prefix;
pub(crate) mod rows;
pub(crate) mod sorting;
