//! The left rows of a lookup join: a batch of rows, or one by columns.
//!
//! Rows stay in the batch until they have been joined, so a row whose right rows were not read to
//! the end is looked up again by its place.

use std::borrow::Cow;
use std::ops::Range;

use braid_rows::Columns;
use braid_types::{Datum, Result, Row};

use crate::operator::BoxedOperator;

/// The left side.
pub(super) struct LeftSide {
    input: BoxedOperator,
    batch: Batch,
    /// The first row of the batch that nothing was looked up for.
    at: usize,
}

enum Batch {
    Rows(Vec<Row>),
    Columns(Columns),
}

impl LeftSide {
    /// Nothing has been read yet.
    pub(super) fn new(input: BoxedOperator) -> Self {
        Self { input, batch: Batch::Rows(Vec::new()), at: 0 }
    }

    /// Rows of the input have room for this many more columns, if it can.
    pub(super) fn make_room(&mut self, columns: usize) {
        self.input.make_room(columns);
    }

    /// Whether the input gives its rows by columns.
    pub(super) fn has_columns(&mut self) -> bool {
        self.input.columns().is_some()
    }

    /// Reads the next batch; false at the end.
    pub(super) async fn read(&mut self, by_columns: bool) -> Result<bool> {
        self.at = 0;
        if !by_columns {
            let rows = self.input.next().await?;
            let is_more = rows.is_some();
            self.batch = Batch::Rows(rows.unwrap_or_default());
            return Ok(is_more);
        }
        let Some(source) = self.input.columns() else { return Ok(false) };
        let mut columns = match std::mem::replace(&mut self.batch, Batch::Rows(Vec::new())) {
            Batch::Columns(columns) => columns,
            Batch::Rows(_) => Columns::default(),
        };
        let is_more = source.next_columns(&mut columns, None).await?;
        if is_more {
            self.batch = Batch::Columns(columns);
        }
        Ok(is_more)
    }

    /// The places of the next rows, at most `rows` of them.
    pub(super) fn next(&self, rows: usize) -> Range<usize> {
        let all = match &self.batch {
            Batch::Rows(rows) => rows.len(),
            Batch::Columns(columns) => columns.rows,
        };
        self.at..self.at.saturating_add(rows).min(all)
    }

    /// What is looked up next begins with this row.
    pub(super) fn go_on_at(&mut self, place: usize) {
        self.at = place;
    }

    /// The value of a column of a row.
    pub(super) fn value(&self, place: usize, column: usize) -> Cow<'_, Datum> {
        match &self.batch {
            Batch::Rows(rows) => Cow::Borrowed(&rows[place][column]),
            Batch::Columns(columns) => columns.list[column].value(place),
        }
    }

    /// A row.
    pub(super) fn row(&self, place: usize) -> Cow<'_, [Datum]> {
        match &self.batch {
            Batch::Rows(rows) => Cow::Borrowed(rows[place].as_slice()),
            Batch::Columns(columns) => {
                let mut row = Row::new();
                columns.read_row(place, &mut row);
                Cow::Owned(row)
            }
        }
    }

    /// A row, which is not needed any more, or is given back.
    pub(super) fn take(&mut self, place: usize) -> Row {
        match &mut self.batch {
            Batch::Rows(rows) => std::mem::take(&mut rows[place]),
            Batch::Columns(_) => self.row(place).into_owned(),
        }
    }

    /// Gives a row back that was taken.
    pub(super) fn put(&mut self, place: usize, row: Row) {
        if let Batch::Rows(rows) = &mut self.batch {
            rows[place] = row;
        }
    }

    /// The batch, where it is one by columns.
    pub(super) fn columns(&self) -> Option<&Columns> {
        match &self.batch {
            Batch::Columns(columns) => Some(columns),
            Batch::Rows(_) => None,
        }
    }
}
