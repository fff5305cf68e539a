//! Roles, their privileges and what they own.

pub(crate) mod grant;
pub(crate) mod owned;
pub(crate) mod role;
