//! Functions and procedures of users: CREATE, ALTER, DROP, COMMENT.

mod alter;
mod create;
mod find;

pub(crate) use alter::{alter, comment, rename};
pub(crate) use create::create;
pub(crate) use find::{drop_routine, find_to_grant};
