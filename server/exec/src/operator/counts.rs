//! What a run does with tables and indexes, for `pg_stat_*`: counted by each operator for itself
//! and handed over when the operator ends.
//!
//! Temporary tables are not counted: nobody else sees them. An attempt that has to run again counts
//! as well, since its work was done.

use std::sync::Arc;

use braid_catalog::{Id, is_temporary};
use braid_plan::Scan;
use braid_system_views::RelationCounts;

use crate::operator::state::ExecutionState;

/// The reads of one scan.
pub(crate) struct ScanCounts {
    run: Arc<ExecutionState>,
    table: Id,
    /// The index that leads to the rows; `None` if all rows are read.
    index: Option<Id>,
    scans: u64,
    read: u64,
    fetched: u64,
}

impl ScanCounts {
    /// Nothing read yet.
    pub(crate) fn new(run: &Arc<ExecutionState>, scan: &Scan) -> Self {
        let table = &scan.table;
        let is_whole = scan.access.index == table.primary.number && scan.access.bounds.is_empty();
        let index = table.all_indexes().find(|index| index.number == scan.access.index);
        let index = index.filter(|_| !is_whole).map(|index| index.id);
        Self { run: run.clone(), table: table.id, index, scans: 0, read: 0, fetched: 0 }
    }

    /// Counts scans that begin.
    pub(crate) fn begin(&mut self, scans: usize) {
        self.scans += scans as u64;
    }

    /// Entries of the index, or rows of the whole table, were read.
    pub(crate) fn read(&mut self, entries: usize) {
        self.read += entries as u64;
    }

    /// Rows were read that the index has led to.
    pub(crate) fn fetched(&mut self, rows: usize) {
        self.fetched += rows as u64;
    }
}

impl Drop for ScanCounts {
    fn drop(&mut self) {
        if self.scans == 0 || is_temporary(self.table) {
            return;
        }
        // A row that its whole key leads to is read without an entry.
        let read = self.read.max(self.fetched);
        let counts = RelationCounts {
            scans: self.scans,
            read,
            fetched: if self.index.is_some() { self.fetched } else { 0 },
            ..RelationCounts::default()
        };
        let cx = &self.run.cx;
        cx.services.count_relation(self.index.unwrap_or(self.table), &counts);
    }
}
