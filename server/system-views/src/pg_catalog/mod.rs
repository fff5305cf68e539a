//! `pg_catalog`: PostgreSQL's system catalogs and the views over them.

pub(crate) mod attributes;
pub(crate) mod constraints;
pub(crate) mod dependencies;
pub(crate) mod descriptions;
pub(crate) mod partitions;
pub(crate) mod pg_type;
pub(crate) mod procedures;
pub(crate) mod relations;
pub(crate) mod roles;
pub(crate) mod sessions;
pub(crate) mod statements;
pub(crate) mod statistics;
pub(crate) mod triggers;
pub(crate) mod types;
