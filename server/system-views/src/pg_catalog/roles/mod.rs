//! Databases and roles: `pg_database`, `pg_authid` and the views on it, memberships, policies.

pub(crate) mod authid;
pub(crate) mod databases;
pub(crate) mod default_acl;
pub(crate) mod members;
pub(crate) mod policies;
pub(crate) mod settings;
