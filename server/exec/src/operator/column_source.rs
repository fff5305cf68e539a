//! Operators that give their rows by columns.

use braid_rows::Columns;
use braid_types::Result;
use futures_util::future::BoxFuture;

/// An operator that gives its rows by columns.
pub trait ColumnSource: Send {
    /// Replaces `columns` by the next rows, at least one; false at the end.
    fn next_columns<'a>(&'a mut self, columns: &'a mut Columns) -> BoxFuture<'a, Result<bool>>;
}
