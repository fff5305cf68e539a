//! The pairs of a lookup join as rows.
//!
//! A left row is moved into its last pair. The columns of a right row are decoded into the pair
//! itself, and conditions are evaluated there.

use std::ops::Range;

use braid_plan::JoinKind;
use braid_types::{Datum, Result, Row};

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::join::lookup::found_rows::FoundRows;
use crate::operator::join::lookup::layout::Layout;
use crate::operator::reservation::MemoryReservation;

/// Bytes of pairs that are made between two checks for a cancel request.
const CHECK_BYTES: usize = 256 << 10;

/// The rows that are given next.
pub(super) struct RowPairs<'j> {
    pub layout: &'j Layout,
    pub evaluator: &'j Evaluator,
    pub held: &'j mut MemoryReservation,
    pub rows: Vec<Row>,
    /// Pairs have room for this many more columns.
    pub room: usize,
    /// Bytes of rows that `held` does not have yet.
    bytes: usize,
}

/// A left row while its pairs are made.
pub(super) struct LeftRow {
    /// Its columns, unless they have moved into a pair.
    row: Row,
    /// The place of the pair that they have moved into.
    moved_to: Option<usize>,
    pub has_match: bool,
}

impl LeftRow {
    pub(super) fn new(row: Row, has_match: bool) -> Self {
        Self { row, moved_to: None, has_match }
    }
}

impl<'j> RowPairs<'j> {
    /// No rows yet.
    pub(super) fn new(
        layout: &'j Layout,
        evaluator: &'j Evaluator,
        held: &'j mut MemoryReservation,
        rows: usize,
    ) -> Self {
        held.clear();
        Self { layout, evaluator, held, rows: Vec::with_capacity(rows), room: 0, bytes: 0 }
    }

    /// The bytes of the rows.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes() + self.bytes
    }

    /// Adds the pairs of a left row with the right rows at some places. `inner` evaluates the
    /// conditions on right rows.
    pub(super) async fn add(
        &mut self,
        left: &mut LeftRow,
        (found, places): (&FoundRows, Range<usize>),
        inner: &Evaluator,
    ) -> Result<()> {
        let layout = self.layout;
        let is_decided = layout.filter.is_empty() && layout.on.is_empty();
        let (left_width, decoder) = (layout.left_width, layout.decoder());
        for place in places {
            if !found.has(place) {
                continue;
            }
            if is_decided && layout.gives_left_only() {
                left.has_match = true;
                return Ok(());
            }
            if let Some(pair) = left.moved_to.take() {
                left.row.reserve_exact(layout.width() + self.room);
                left.row.extend_from_slice(&self.rows[pair][..left_width]);
            } else {
                left.row.reserve_exact(layout.right_width + self.room);
            }
            found.append(place, decoder, &mut left.row)?;
            if !is_decided && !self.holds(&left.row, inner).await? {
                left.row.truncate(left_width);
                continue;
            }
            left.has_match = true;
            if layout.gives_left_only() {
                left.row.truncate(left_width);
                return Ok(());
            }
            left.moved_to = Some(self.rows.len());
            self.push(std::mem::take(&mut left.row));
            if self.bytes >= CHECK_BYTES {
                self.held.take(std::mem::take(&mut self.bytes))?;
                self.evaluator.run.check_interrupts().await?;
            }
        }
        Ok(())
    }

    /// Whether the conditions hold on a pair.
    async fn holds(&self, pair: &[Datum], inner: &Evaluator) -> Result<bool> {
        let Layout { filter, on, on_waits, left_width, .. } = self.layout;
        Ok(inner.holds_now(filter, &pair[*left_width..])?
            && self.evaluator.holds(on, *on_waits, pair).await?)
    }

    fn push(&mut self, row: Row) {
        self.bytes += row_bytes(&row);
        self.rows.push(row);
    }

    /// Adds what a left row gives without a pair, after all its right rows.
    pub(super) fn end(&mut self, left: LeftRow) {
        let LeftRow { mut row, has_match, .. } = left;
        match self.layout.kind {
            JoinKind::Left if !has_match => {
                row.resize(row.len() + self.layout.right_width, Datum::Null);
                self.push(row);
            }
            JoinKind::Semi if has_match => self.push(row),
            JoinKind::Anti if !has_match => self.push(row),
            _ => {}
        }
    }
}
