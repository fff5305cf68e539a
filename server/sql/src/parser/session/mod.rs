//! Statements about the session: transactions, settings, cursors, prepared statements, COPY, and
//! the upkeep of tables.

pub(crate) mod characteristics;
pub(crate) mod copy;
pub(crate) mod explain;
pub(crate) mod lock_table;
pub(crate) mod maintenance;
pub(crate) mod prepared;
pub(crate) mod set;
pub(crate) mod transaction;
