//! Scans of tables, indexes, views and functions, and row locks.

pub(crate) mod column_filter;
pub(crate) mod function_scan;
pub(crate) mod kept_view;
pub(crate) mod lock_rows;
mod lock_target;
pub(crate) mod multi_scan;
pub(crate) mod pruned_scan;
pub(crate) mod reader;
pub(crate) mod row_lock;
pub(crate) mod spans;
pub(crate) mod table_scan;
pub(crate) mod virtual_scan;
