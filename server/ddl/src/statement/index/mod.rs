//! CREATE INDEX and DROP INDEX.

pub(crate) mod create_index;
pub(crate) mod drop_index;
