//! Tables and what belongs to them: foreign keys, indexes, interleaving, changes beside writers.

mod check_table;
mod definitions;
mod drop_database;
mod expression_index;
mod foreign_keys;
mod garbage;
mod online_foreign_key;
mod online_index;
mod online_interleave;
mod partial_index;
mod range_delete;
pub(crate) mod twin_tables;
