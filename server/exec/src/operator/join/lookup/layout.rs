//! What follows from the plan of a lookup join alone: made once, and kept in the plan
//! (`Scan::memo`).

use std::sync::Arc;

use braid_plan::{Bound, Expr, Join, JoinKind, Scan};
use braid_types::Result;

use crate::operator::join::lookup::decided::undecided;
use crate::operator::join::lookup::direct_keys::DirectKeys;
use crate::operator::join::lookup::found_rows::EntryDecoder;
use crate::operator::scan::column_filter::is_simple;
use crate::operator::scan::reader::{KeyBounds, Reader, Secondary, index_of};

/// How a lookup join reads its right side and makes its pairs.
pub(super) struct Layout {
    pub kind: JoinKind,
    pub reader: Reader,
    pub bounds: KeyBounds,
    pub secondary: Option<Secondary>,
    /// The right side is read by whole primary keys.
    pub points: bool,
    /// Spans may have many rows, because a bound is a range.
    pub has_ranges: bool,
    /// Nothing but the bounds decides whether a row matches, and each span is of one left row: the
    /// first rows of a span are enough if no more are wanted.
    pub first_ones_do: bool,
    /// What the right side needs of a left row.
    pub outer: Vec<Expr>,
    pub outer_waits: bool,
    /// Makes keys without the expressions of `outer`, if the keys need no more than columns.
    pub direct: Option<DirectKeys>,
    /// Conditions on right rows.
    pub filter: Vec<Expr>,
    /// Conditions on pairs that the bounds have not decided.
    pub on: Vec<Expr>,
    pub on_waits: bool,
    pub left_width: usize,
    pub right_width: usize,
    /// The conditions can be evaluated by columns.
    pub by_columns: bool,
}

impl Layout {
    /// The layout of a join. The plan's scan of the right side keeps it.
    pub(super) fn of(join: &Join, scan: &Scan) -> Result<Arc<Self>> {
        scan.memo.get_or_make(|| Self::new(join, scan))
    }

    fn new(join: &Join, scan: &Scan) -> Result<Self> {
        let is_range = |bound: &Bound| !bound.is_of_values();
        let has_ranges = scan.access.bounds.iter().any(is_range);
        let bounds = KeyBounds::new(scan)?;
        let places: Vec<usize> = scan.columns.iter().map(|(_, place)| *place).collect();
        let reader = Reader::new(&scan.table, &places, false)?.only_members(scan);
        let secondary = Secondary::new(scan, &places, &reader, false)?;
        let on = undecided(join, scan, index_of(scan)?);
        // Spans of values are equal or apart, so that no two of them become one.
        let first_ones_do = on.is_empty()
            && scan.filter.is_empty()
            && !has_ranges
            && bounds.shape.is_none()
            && (secondary.is_some() || scan.table.families.len() == 1);
        let on_waits = on.iter().any(Expr::waits);
        let reads_outer = scan.filter.iter().any(reads_outer);
        let direct = if reads_outer { None } else { DirectKeys::new(&bounds, &join.outer) };
        let pairs_decide = match join.kind {
            JoinKind::Inner => !on_waits,
            _ => on.is_empty(),
        };
        Ok(Self {
            kind: join.kind,
            points: secondary.is_none() && bounds.are_points(),
            by_columns: pairs_decide && !reads_outer && scan.filter.iter().all(is_simple),
            reader,
            bounds,
            secondary,
            has_ranges,
            first_ones_do,
            outer: join.outer.clone(),
            outer_waits: join.outer.iter().any(Expr::waits),
            direct,
            filter: scan.filter.clone(),
            on,
            on_waits,
            left_width: join.left.slots().len(),
            right_width: places.len(),
        })
    }

    /// What decodes the entries of the right side.
    pub(super) fn decoder(&self) -> EntryDecoder<'_> {
        match &self.secondary {
            Some(Secondary { covering: Some(decoder), .. }) => EntryDecoder::OfIndex(decoder),
            _ => EntryDecoder::OfRows(&self.reader.decoder),
        }
    }

    /// Whether the join gives left rows only.
    pub(super) fn gives_left_only(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// The columns of a row of the join.
    pub(super) fn width(&self) -> usize {
        if self.gives_left_only() { self.left_width } else { self.left_width + self.right_width }
    }
}

fn reads_outer(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e, Expr::Outer(..)))
}
