//! Users, privileges and policies.

pub(crate) mod grant;
pub(crate) mod policies;
pub(crate) mod users;
