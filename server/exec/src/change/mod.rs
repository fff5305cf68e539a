//! Operators that change rows, the writer of a table, and foreign keys.

pub(crate) mod counts;
pub(crate) mod delete;
pub(crate) mod foreign_keys;
pub(crate) mod insert;
pub(crate) mod range_delete;
pub(crate) mod table_writer;
pub(crate) mod update;
