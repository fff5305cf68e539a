//! Statements that create, alter and drop objects, users and privileges.

pub(crate) mod alter;
mod constraints;
pub(crate) mod create_index;
pub(crate) mod create_objects;
pub(crate) mod create_table;
pub(crate) mod domains;
pub(crate) mod drop;
mod drop_other;
mod partitions;
pub(crate) mod roles;
pub(crate) mod sequence;
mod statistics;
pub(crate) mod types;
