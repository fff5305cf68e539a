//! Rows under DDL: read, validated, written again, deleted.

pub(crate) mod delete;
pub(crate) mod domain_values;
pub(crate) mod messages;
pub(crate) mod reader;
pub(crate) mod rewrite;
pub(crate) mod validate;
