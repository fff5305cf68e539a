//! What a writer changes, for `pg_stat_*`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use braid_catalog::{Id, Table, is_temporary};
use braid_exec::ExecutionState;
use braid_system_views::RelationCounts;

/// The changes of one writer.
pub(crate) struct WriteCounts {
    run: Arc<ExecutionState>,
    table: Id,
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

impl WriteCounts {
    /// Nothing written yet.
    pub(crate) fn new(run: &Arc<ExecutionState>, table: &Table) -> Self {
        let (inserted, updated, deleted) = Default::default();
        Self { run: run.clone(), table: table.id, inserted, updated, deleted }
    }

    pub(crate) fn inserted(&self) {
        self.inserted.fetch_add(1, Relaxed);
    }

    pub(crate) fn updated(&self, rows: usize) {
        self.updated.fetch_add(rows as u64, Relaxed);
    }

    pub(crate) fn deleted(&self, rows: usize) {
        self.deleted.fetch_add(rows as u64, Relaxed);
    }
}

impl Drop for WriteCounts {
    fn drop(&mut self) {
        let counts = RelationCounts {
            inserted: *self.inserted.get_mut(),
            updated: *self.updated.get_mut(),
            deleted: *self.deleted.get_mut(),
            ..RelationCounts::default()
        };
        if counts != RelationCounts::default() && !is_temporary(self.table) {
            self.run.cx.services.count_relation(self.table, &counts);
        }
    }
}
