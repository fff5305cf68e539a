//! Conditions that entries of a secondary index decide, before the rows that they lead to are read.
//!
//! ```text
//!   index (status, at)     status >= 'a' AND at < '2026-01-01' AND note IS NULL
//!                          └ bounds ───┘     └ the entry ────┘     └ the row
//! ```
//!
//! A condition on the row may stand before one on the entry. SQL does not evaluate the second one
//! where the first one is false, so the second one must not be able to fail.

use braid_plan::{Expr, Scan, cannot_fail};
use braid_rows::IndexDecoder;

use crate::operator::eval::Evaluator;
use crate::operator::scan::column_filter::places_of;
use crate::operator::scan::reader::index_rows;

/// The conditions of a scan that its index decides.
pub(super) struct EntryFilter {
    decoder: IndexDecoder,
    conditions: Vec<Expr>,
    /// No condition needs the row.
    pub decides: bool,
}

impl EntryFilter {
    /// The conditions of a scan that reads rows by a secondary index.
    pub(super) fn new(scan: &Scan) -> braid_types::Result<Self> {
        let rows = index_rows(scan)?;
        let (mut conditions, mut needed, mut decides) = (Vec::new(), Vec::new(), true);
        for condition in &scan.filter {
            let mut places = Vec::new();
            places_of(condition, &mut places);
            let has = |at: &usize| {
                let column = scan.columns.get(*at);
                column.is_some_and(|(_, place)| rows.has(&scan.table, *place))
            };
            if places.iter().all(has) && (decides || cannot_fail(condition)) {
                conditions.push(condition.clone());
                needed.extend(places);
            } else {
                decides = false;
            }
        }
        let places: Vec<usize> = scan.columns.iter().map(|(_, place)| *place).collect();
        let decoder = rows.reader_of(&scan.table, &places, |at| needed.contains(&at));
        Ok(Self { decoder, conditions, decides })
    }

    /// Whether the row of an entry may pass the filter. Where a condition fails, the scan meets the
    /// failure again when it looks at the row.
    pub(super) fn passes(&self, (key, value): (&[u8], &[u8]), evaluator: &Evaluator) -> bool {
        if self.conditions.is_empty() {
            return true;
        }
        let row = self.decoder.decode(key, value);
        !row.is_ok_and(|row| matches!(evaluator.holds_now(&self.conditions, &row), Ok(false)))
    }
}
