//! Policies of row-level security: CREATE, ALTER, DROP, RENAME and COMMENT, and what they depend
//! on.

mod create;
mod dependents;
mod find;

pub(crate) use create::{alter, create, set_security};
pub(crate) use dependents::{
    describe_policy, drop_policies_using, policies_reading, policies_using, without_roles,
};
pub(crate) use find::{comment, drop_policy, rename};
