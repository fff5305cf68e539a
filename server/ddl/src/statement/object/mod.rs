//! Schemas, databases, views, sequences, statistics objects; RENAME and COMMENT.

pub(crate) mod collation;
pub(crate) mod comment;
pub(crate) mod create_schema;
pub(crate) mod database;
mod differences;
pub(crate) mod large_object;
pub(crate) mod materialized;
pub(crate) mod rename;
pub(crate) mod sequence;
pub(crate) mod statistics;
pub(crate) mod view;
