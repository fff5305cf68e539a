//! Functions and procedures of users: CREATE, ALTER, DROP, COMMENT.

mod alter;
mod create;
mod find;
mod options;
mod signature;

pub(crate) use alter::{alter, comment, rename};
pub(crate) use create::create;
pub(crate) use find::{find_to_drop, find_to_grant};
