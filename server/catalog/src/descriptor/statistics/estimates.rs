//! What ANALYZE found out about a table, kept apart from its descriptor.
//!
//! ```text
//!   values of a column   NULL │ common values with frequencies │ all others: histogram
//!   null_fraction ───────┘      sum of frequencies ─┘             bounds of equal parts ─┘
//! ```
//!
//! Statistics steer the planner only. No result depends on them.

use std::sync::Arc;

use braid_types::{Datum, SqlType};
use serde::{Deserialize, Serialize};

use super::super::ColumnId;

/// Statistics of a table. Copies share their parts.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Estimated rows.
    pub rows: u64,
    /// Average bytes of a row.
    pub row_bytes: u64,
    /// What is known of the columns; in no order.
    pub columns: Arc<[ColumnStatistics]>,
    /// What is known of several columns together: the prefixes of indexes.
    pub groups: Arc<[GroupStatistics]>,
}

/// Statistics of a column.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// The column.
    pub column: ColumnId,
    /// The number of distinct values, NULL apart. Below zero: their part of the rows, negated.
    pub distinct: f64,
    /// The details; `None` for statistics of a version that had only distinct values.
    pub values: Option<ValueStatistics>,
}

/// How the values of a column are distributed.
#[derive(Clone, Debug)]
pub struct ValueStatistics {
    /// The type that the column had.
    pub ty: SqlType,
    /// The part of the rows that have NULL.
    pub null_fraction: f64,
    /// Average bytes of a value that is not NULL.
    pub width: u32,
    /// The most common values with their parts of the rows, most frequent first.
    pub common: Vec<(Datum, f64)>,
    /// The other values in order, cut into parts of equal size: the bounds of the parts. Empty if
    /// there are no other values, or no order.
    pub histogram: Vec<Datum>,
    /// How far the order of the values follows that of the primary key, from -1 to 1.
    pub correlation: Option<f64>,
}

/// How many distinct values several columns have together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupStatistics {
    /// The columns, in ascending order.
    pub columns: Vec<ColumnId>,
    /// The number of distinct combinations. Below zero: their part of the rows, negated.
    pub distinct: f64,
}

impl TableStatistics {
    /// What is known of a column.
    pub fn column(&self, column: ColumnId) -> Option<&ColumnStatistics> {
        self.columns.iter().find(|known| known.column == column)
    }

    /// How many distinct combinations these columns have, in any order, if that was counted.
    pub fn group_distinct(&self, columns: &[ColumnId]) -> Option<f64> {
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        let group = self.groups.iter().find(|group| group.columns == sorted)?;
        Some(of_rows(group.distinct, self.rows))
    }

    /// How many distinct values a column has, if that was counted.
    pub fn column_distinct(&self, column: ColumnId) -> Option<f64> {
        Some(of_rows(self.column(column)?.distinct, self.rows))
    }
}

/// A number of distinct values, of a table that has that many rows now.
fn of_rows(distinct: f64, rows: u64) -> f64 {
    let rows = rows as f64;
    let number = if distinct < 0.0 { -distinct * rows } else { distinct };
    number.clamp(1.0, rows.max(1.0))
}
