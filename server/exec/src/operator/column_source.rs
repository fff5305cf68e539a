//! Operators that give their rows by columns.

use braid_rows::Columns;
use braid_types::Result;
use futures_util::future::BoxFuture;

/// An operator that gives its rows by columns.
pub trait ColumnSource: Send {
    /// Replaces `columns` by the next rows, at least one; false at the end.
    ///
    /// A test leaves out rows before the columns are decoded that it does not read. It sees every
    /// row that is given exactly once.
    fn next_columns<'a>(
        &'a mut self,
        columns: &'a mut Columns,
        test: Option<&'a mut dyn RowTest>,
    ) -> BoxFuture<'a, Result<bool>>;
}

/// Says which rows are wanted.
pub trait RowTest: Send {
    /// The places of the columns that it reads.
    fn places(&self) -> &[usize];

    /// Takes the marks of rows that are not wanted away. Only the columns that it reads are there.
    fn mark(&mut self, columns: &Columns, marks: &mut [bool]);
}
