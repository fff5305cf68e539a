//! Statements about tables.

pub(crate) mod alter_column;
pub(crate) mod alter_table;
pub(crate) mod analyze;
pub(crate) mod create_table;
pub(crate) mod drop_column;
pub(crate) mod grouped_views;
pub(crate) mod index_marks;
pub(crate) mod key_from_index;
pub(crate) mod new_type_keys;
pub(crate) mod primary_key;
pub(crate) mod storage_options;
pub(crate) mod truncate;
