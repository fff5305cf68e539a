//! One file a statement.

pub(crate) mod drop;
pub(crate) mod extension;
pub(crate) mod index;
pub(crate) mod object;
pub(crate) mod policy;
pub(crate) mod routine;
pub(crate) mod table;
pub(crate) mod trigger;
pub(crate) mod types;
