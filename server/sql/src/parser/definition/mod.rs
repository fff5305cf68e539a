//! Statements that create, alter and drop objects, users and privileges.

pub(crate) mod alter;
pub(crate) mod create_index;
pub(crate) mod create_objects;
pub(crate) mod create_table;
pub(crate) mod domains;
pub(crate) mod drop;
mod drop_other;
pub(crate) mod grant;
mod partitions;
mod policies;
pub(crate) mod sequence;
pub(crate) mod types;
pub(crate) mod users;
