//! The pairs of a lookup join by columns: both sides are batches of columns, and two lists of
//! places say which rows of them are joined.
//!
//! ```text
//!   left batch     right rows of a page      pairs                columns of the join
//!   0  a           0  x                      left  0 0 2 3        a a c d
//!   1  b           1  y                      right 0 1 1 –        x y y NULL
//!   2  c                                           (– : NO_ROW)
//!   3  d
//! ```

use std::ops::Range;

use braid_plan::JoinKind;
use braid_plan::eval::EvalContext;
use braid_rows::{Columns, NO_ROW};
use braid_types::{Error, Result};

use crate::operator::column_source::RowTest;
use crate::operator::join::lookup::found_rows::FoundRows;
use crate::operator::join::lookup::layout::Layout;
use crate::operator::scan::column_filter::ColumnFilter;

/// The pairs that are given next, and the right rows of the page that they come from.
#[derive(Default)]
pub(super) struct ByColumns {
    /// The right rows of the page.
    right: Columns,
    /// Where the row at each place of the page is in `right`; [`NO_ROW`] if it is no match of any
    /// left row.
    rows: Vec<u32>,
    /// The right rows of the page have been decoded.
    is_decoded: bool,
    left_places: Vec<u32>,
    right_rows: Vec<u32>,
    filter: ColumnFilter,
}

impl ByColumns {
    /// The right rows are those of another page from now on.
    pub(super) fn forget_page(&mut self) {
        self.is_decoded = false;
    }

    /// Decodes the right rows of a page, unless that has been done.
    pub(super) fn decode(
        &mut self,
        found: &FoundRows,
        layout: &Layout,
        cx: &EvalContext<'_>,
    ) -> Result<()> {
        if std::mem::replace(&mut self.is_decoded, true) {
            return Ok(());
        }
        let mut next = 0..;
        let number = |place| if found.has(place) { next.next() } else { None };
        self.rows.clear();
        self.rows.extend((0..found.len()).map(number).map(|row| row.unwrap_or(NO_ROW)));
        if layout.gives_left_only() && layout.filter.is_empty() {
            return Ok(());
        }
        if self.right.list.is_empty() {
            self.right = layout.decoder().columns();
        }
        found.read_columns(layout.decoder(), &mut self.right)?;
        if layout.filter.is_empty() {
            return Ok(());
        }
        // Such conditions cannot fail: `Layout::by_columns`.
        let (marks, error) = self.filter.mark_up_to_error(&layout.filter, &self.right, cx);
        for row in &mut self.rows {
            if marks.get(*row as usize) == Some(&false) {
                *row = NO_ROW;
            }
        }
        error.map_or(Ok(()), Err)
    }

    /// Begins another batch.
    pub(super) fn clear(&mut self) {
        self.left_places.clear();
        self.right_rows.clear();
    }

    /// How many pairs there are.
    pub(super) fn len(&self) -> usize {
        self.left_places.len()
    }

    /// Adds the pairs of a left row with the right rows at some places; whether there are any.
    pub(super) fn add(&mut self, left: usize, places: Range<usize>, kind: JoinKind) -> bool {
        let known = self.left_places.len();
        for row in &self.rows[places] {
            if *row == NO_ROW {
                continue;
            }
            if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                return true;
            }
            self.left_places.push(left as u32);
            self.right_rows.push(*row);
        }
        self.left_places.len() > known
    }

    /// Adds what a left row gives without a pair, after all its right rows.
    pub(super) fn end(&mut self, left: usize, has_match: bool, kind: JoinKind) {
        let is_given = match kind {
            JoinKind::Semi => has_match,
            JoinKind::Left | JoinKind::Anti => !has_match,
            _ => false,
        };
        if is_given {
            self.left_places.push(left as u32);
            self.right_rows.push(NO_ROW);
        }
    }

    /// Makes the pairs the rows of `columns`, without those on which a condition does not hold, or
    /// that a test does not want. The error is that of the row after the last one.
    pub(super) fn give(
        &mut self,
        left: &Columns,
        columns: &mut Columns,
        layout: &Layout,
        cx: &EvalContext<'_>,
        test: Option<&mut dyn RowTest>,
    ) -> Option<Error> {
        if columns.list.is_empty() {
            *columns = left.without_rows();
            if !layout.gives_left_only() {
                columns.list.append(&mut self.right.without_rows().list);
            }
        }
        columns.start(self.len());
        let (to_left, to_right) = columns.list.split_at_mut(left.list.len());
        for (to, from) in to_left.iter_mut().zip(&left.list) {
            to.gather(from, &self.left_places);
        }
        for (to, from) in to_right.iter_mut().zip(&self.right.list) {
            to.gather(from, &self.right_rows);
        }
        let mut failed = None;
        if !layout.on.is_empty() {
            let (marks, error) = self.filter.mark_up_to_error(&layout.on, columns, cx);
            columns.keep(marks);
            failed = error;
        }
        if let Some(test) = test.filter(|_| columns.rows > 0) {
            let marks = self.filter.all_of(columns.rows);
            test.mark(columns, marks);
            columns.keep(marks);
        }
        failed
    }
}
