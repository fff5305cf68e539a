//! Estimates of tables' sizes, shared by every snapshot of the catalog.
//!
//! They steer the planner only: nobody's result depends on them, so they live outside of
//! transactions. ANALYZE stores exact ones; between two of them writers report how many rows
//! they added or removed, which is kept in memory only.

use std::collections::HashMap;

use parking_lot::RwLock;

use crate::{Id, TableStatistics};

/// What is assumed of a table that was never analyzed or written since the start.
const ROWS_UNKNOWN: u64 = 1000;
/// The same for the bytes of a row.
const ROW_BYTES_UNKNOWN: u64 = 64;

/// Estimates by table.
#[derive(Debug, Default)]
pub struct Statistics {
    tables: RwLock<HashMap<Id, TableStatistics>>,
}

impl Statistics {
    /// The estimates of a table.
    pub fn of(&self, table: Id) -> TableStatistics {
        let known = self.tables.read().get(&table).cloned();
        known.unwrap_or_else(|| TableStatistics {
            rows: ROWS_UNKNOWN,
            row_bytes: ROW_BYTES_UNKNOWN,
            ..TableStatistics::default()
        })
    }

    /// Whether anything is known of a table.
    pub fn is_known(&self, table: Id) -> bool {
        self.tables.read().contains_key(&table)
    }

    /// Replaces the estimates of a table.
    pub fn set(&self, table: Id, statistics: TableStatistics) {
        self.tables.write().insert(table, statistics);
    }

    /// Forgets a table (dropped, or emptied by TRUNCATE).
    pub fn forget(&self, table: Id) {
        self.tables.write().remove(&table);
    }

    /// A committed statement added (or, below zero, removed) that many rows.
    pub fn add_rows(&self, table: Id, rows: i64) {
        let mut tables = self.tables.write();
        if let Some(known) = tables.get_mut(&table) {
            known.rows = known.rows.saturating_add_signed(rows);
        }
    }

    /// A table was just created and is empty: from here on its rows can be counted along.
    pub fn start_empty(&self, table: Id) {
        let statistics = TableStatistics { row_bytes: ROW_BYTES_UNKNOWN, ..Default::default() };
        self.tables.write().insert(table, statistics);
    }
}
