//! What is to be fired when the statement ends, and the rows of transition tables.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use braid_catalog::{Id, Table, TriggerEvent};
use braid_exec::Memory;
use braid_plan::PlannedTrigger;
use braid_types::{Datum, Row, SqlType};
use parking_lot::Mutex;

/// A trigger that is to fire.
pub(crate) struct QueuedTrigger {
    pub(crate) planned: Arc<PlannedTrigger>,
    /// Its table.
    pub(crate) table: Arc<Table>,
    pub(crate) event: TriggerEvent,
    /// The row that fires it; none of a statement.
    pub(crate) rows: Arc<ChangedRow>,
}

/// What a trigger that is to fire takes in the queue, beside its row. A queue that has just grown
/// is half empty.
pub(crate) const QUEUED_BYTES: usize = 2 * size_of::<(u64, QueuedTrigger)>();

/// A row before and after a change.
#[derive(Debug, Default)]
pub(crate) struct ChangedRow {
    pub(crate) old: Option<Row>,
    pub(crate) new: Option<Row>,
}

/// The rows of the transition tables of a table and an event.
#[derive(Default)]
struct Transition {
    old: Vec<Datum>,
    new: Vec<Datum>,
}

/// The triggers of a run, or of all runs that are parts of one statement.
#[derive(Default)]
pub(crate) struct TriggerQueue {
    state: Mutex<State>,
    /// Where rows that wait are counted, if that is not the memory of the run.
    memory: Option<Arc<Memory>>,
}

#[derive(Default)]
struct State {
    /// With numbers in the order of their arrival.
    queued: VecDeque<(u64, QueuedTrigger)>,
    arrived: u64,
    /// The statements whose BEFORE triggers have fired.
    begun: HashSet<(Id, TriggerEvent)>,
    transitions: HashMap<(Id, TriggerEvent), Transition>,
    is_used: bool,
}

impl State {
    fn push(&mut self, queued: QueuedTrigger) {
        self.arrived += 1;
        self.queued.push_back((self.arrived, queued));
    }
}

impl TriggerQueue {
    /// A queue whose rows count in an account of its own.
    pub(crate) fn counted_in(memory: Arc<Memory>) -> Self {
        Self { memory: Some(memory), ..Self::default() }
    }

    /// Where rows that wait are counted, if that is not the memory of the run.
    pub(crate) fn memory(&self) -> Option<&Arc<Memory>> {
        self.memory.as_ref()
    }

    /// A table with triggers is changed in this run.
    pub(crate) fn register(&self) {
        self.state.lock().is_used = true;
    }

    /// Whether the run may fire triggers.
    pub(crate) fn is_used(&self) -> bool {
        self.state.lock().is_used
    }

    /// Whether the triggers before a statement have not fired yet in this run; they have now.
    pub(crate) fn begin(&self, table: Id, event: TriggerEvent) -> bool {
        self.state.lock().begun.insert((table, event))
    }

    /// Adds a trigger to be fired.
    pub(crate) fn push(&self, queued: QueuedTrigger) {
        self.state.lock().push(queued);
    }

    /// Adds the triggers after a statement. Of several statements that change a table in the same
    /// way within one run only the last one fires them.
    pub(crate) fn push_statement(&self, queued: Vec<QueuedTrigger>) {
        let mut state = self.state.lock();
        for new in queued {
            state.queued.retain(|(_, known)| {
                known.planned.trigger.for_each_row
                    || known.planned.trigger.id != new.planned.trigger.id
                    || known.event != new.event
            });
            state.push(new);
        }
    }

    /// A position behind everything that is queued.
    pub(crate) fn mark(&self) -> u64 {
        self.state.lock().arrived
    }

    /// The next trigger to be fired of those that were queued before a mark.
    pub(crate) fn pop(&self, mark: u64) -> Option<QueuedTrigger> {
        let mut state = self.state.lock();
        let is_before = state.queued.front().is_some_and(|(number, _)| *number <= mark);
        if is_before { state.queued.pop_front().map(|(_, queued)| queued) } else { None }
    }

    /// Keeps a row for transition tables.
    pub(crate) fn keep_row(
        &self,
        table: &Table,
        event: TriggerEvent,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
    ) {
        let mut state = self.state.lock();
        let transition = state.transitions.entry((table.id, event)).or_default();
        transition.old.extend(old.map(|row| visible_row(table, row)));
        transition.new.extend(new.map(|row| visible_row(table, row)));
    }

    /// The transition tables of a trigger: names and rows.
    pub(crate) fn tables(&self, queued: &QueuedTrigger) -> Vec<(String, Datum)> {
        let trigger = &queued.planned.trigger;
        if !trigger.has_transitions() {
            return Vec::new();
        }
        let state = self.state.lock();
        let found = state.transitions.get(&(queued.table.id, queued.event));
        let ty = row_type(&queued.table);
        let rows = |pick: fn(&Transition) -> &Vec<Datum>| {
            Datum::array(ty.clone(), found.map(pick).cloned().unwrap_or_default())
        };
        let old = trigger.old_table.iter().map(|name| (name.clone(), rows(|t| &t.old)));
        let new = trigger.new_table.iter().map(|name| (name.clone(), rows(|t| &t.new)));
        old.chain(new).collect()
    }
}

/// The visible columns of a row as one value.
fn visible_row(table: &Table, row: &[Datum]) -> Datum {
    let visible = table.columns.iter().zip(row).filter(|(column, _)| !column.hidden);
    Datum::Record(visible.map(|(_, value)| value.clone()).collect())
}

/// The type of a table's rows.
fn row_type(table: &Table) -> SqlType {
    let columns = table.visible_columns();
    SqlType::Record(columns.map(|column| (column.name.clone(), column.ty.clone())).collect())
}
