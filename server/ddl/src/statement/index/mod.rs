//! CREATE INDEX, DROP INDEX and REINDEX.

pub(crate) mod create_index;
pub(crate) mod drop_index;
pub(crate) mod reindex;
