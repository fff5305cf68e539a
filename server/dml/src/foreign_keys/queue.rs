//! What a statement's changes ask of foreign keys, in the order in which they were made.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_plan::{CascadeTable, Cascades};
use parking_lot::Mutex;

use crate::foreign_keys::event::Event;

/// The questions of a run.
#[derive(Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    events: Vec<Event>,
    /// Tables that cascades may write.
    tables: HashMap<Id, Arc<CascadeTable>>,
    /// Some table of the run has foreign keys, or is pointed at.
    is_used: bool,
    /// The statement's new keys are checked for duplicates later.
    deferred_unique_checks: bool,
    /// The run may write keys of deferrable constraints that are checked at its end.
    checks_keys: bool,
}

impl Queue {
    /// A table with foreign keys is changed in this run.
    pub(crate) fn register(&self, cascades: &Cascades) {
        let mut state = self.0.lock();
        state.is_used = true;
        for table in &cascades.tables {
            state.tables.entry(table.table.id).or_insert_with(|| table.clone());
        }
    }

    /// New keys of this run are looked at later.
    pub(crate) fn defer_unique_checks(&self) {
        self.0.lock().deferred_unique_checks = true;
    }

    /// Whether new keys of this run are looked at later.
    pub(crate) fn defers_unique_checks(&self) -> bool {
        self.0.lock().deferred_unique_checks
    }

    /// Keys of deferrable constraints may be written that are checked at the end of the run.
    pub(crate) fn check_keys(&self) {
        self.0.lock().checks_keys = true;
    }

    /// Whether such keys may have been written.
    pub(crate) fn checks_keys(&self) -> bool {
        self.0.lock().checks_keys
    }

    /// Whether the run has anything to do with foreign keys.
    pub(crate) fn is_used(&self) -> bool {
        self.0.lock().is_used
    }

    /// Whether a cascade may write a table.
    pub(crate) fn may_write(&self, table: Id) -> bool {
        self.0.lock().tables.contains_key(&table)
    }

    /// Queues events.
    pub(crate) fn push(&self, events: &mut Vec<Event>) {
        self.0.lock().events.append(events);
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().events)
    }

    pub(crate) fn tables(&self) -> HashMap<Id, Arc<CascadeTable>> {
        self.0.lock().tables.clone()
    }
}
