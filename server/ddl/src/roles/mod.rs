//! Roles, their privileges and what they own.

pub(crate) mod default_privileges;
pub(crate) mod grant;
mod holdings;
pub(crate) mod membership;
pub(crate) mod owned;
pub(crate) mod role;
pub(crate) mod user;
