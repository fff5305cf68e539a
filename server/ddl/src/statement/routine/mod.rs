//! Functions, procedures and aggregates of users: CREATE, ALTER, DROP, COMMENT.

mod aggregate;
mod alter;
mod column_types;
mod create;
mod find;
mod options;
mod signature;

pub(crate) use aggregate::create_aggregate;
pub(crate) use alter::{alter, comment, rename};
pub(crate) use create::create;
pub(crate) use find::{find_to_drop, find_to_grant};
