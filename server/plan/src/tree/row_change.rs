//! The nodes that change rows, and the triggers that their changes may fire.
//!
//! Triggers are found while planning, with their conditions bound, so that the run binds nothing.
//! Whether one of them fires is decided by the run: `session_replication_role` and WHEN count.

use std::sync::Arc;

use braid_catalog::{IndexNumber, Routine, Table, Trigger, TriggerEvent, TriggerTiming};

use super::cascades::Cascades;
use super::expr::{Expr, Slot};
use super::node::Node;
use super::partitions::{Destination, Moves, Routes};
use super::range::{RangeDelete, Refusal};

/// INSERT and UPSERT. The input gives the values of `targets` in order.
#[derive(Clone)]
pub struct Insert {
    /// The table.
    pub table: Arc<Table>,
    /// The input.
    pub input: Node,
    /// The value of each of the table's columns, over the input row; generated columns are
    /// computed afterwards from `generated`.
    pub values: Vec<Expr>,
    /// The slots of the table's columns in the row that is written.
    pub row_slots: Vec<Slot>,
    /// Where RETURNING finds `xmax`, after the row's columns, if it reads that: 0 in a row that was
    /// inserted, the transaction's number in one that was updated.
    pub replaced: Option<Slot>,
    /// The slots of the table's columns in the row that is in the way.
    pub existing_slots: Vec<Slot>,
    /// Generated columns: place and expression over the table's row.
    pub generated: Vec<(usize, Expr)>,
    /// CHECK constraints over the table's row: constraint name and expression.
    pub checks: Vec<(RowCheck, Expr)>,
    /// What to do on a conflict.
    pub on_conflict: OnConflict,
    /// Predicates of partial indexes and keys that are expressions, over the table's row.
    pub index_exprs: Vec<(IndexPart, Expr)>,
    /// What foreign keys may change in other tables when a row is replaced.
    pub cascades: Arc<Cascades>,
    /// The triggers that it may fire.
    pub triggers: Arc<TableTriggers>,
    /// The table is a view, whose INSTEAD OF triggers do the work.
    pub instead: bool,
    /// The table is partitioned: where its rows go.
    pub routes: Option<Box<Routes>>,
    /// RETURNING over the table's row.
    pub returning: Vec<(Slot, Expr)>,
}

/// A condition that each row that is written must meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowCheck {
    /// A CHECK constraint, which NULL satisfies.
    Constraint(String),
    /// A view WITH CHECK OPTION, which NULL does not satisfy.
    View(String),
    /// The bound of the partition, which is never NULL.
    Partition,
    /// The same for rows that a statement has put into the partition and may not move.
    SamePartition,
    /// Policies of the table, which NULL does not satisfy.
    Policy {
        /// The table's name.
        table: String,
        /// The policy's name, if it is one that has to hold by itself.
        name: Option<String>,
        /// Which rows are checked.
        when: PolicyUse,
    },
}

/// Which rows policies are checked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyUse {
    /// Rows that are inserted.
    Insert,
    /// Changed rows as they are written.
    Update,
    /// Rows in the way of inserted ones, which ON CONFLICT changes.
    Conflict,
    /// Rows that MERGE is about to change.
    MergeUpdate,
    /// Rows that MERGE is about to delete.
    MergeDelete,
}

impl RowCheck {
    /// Whether a policy is checked: then messages show no values of rows.
    pub fn is_policy(&self) -> bool {
        matches!(self, RowCheck::Policy { .. })
    }
}

/// What an expression over a table's row is to an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// The predicate of a partial index.
    Predicate(IndexNumber),
    /// The key at this place among the table's columns.
    Key(usize),
}

/// What INSERT does on a conflict.
#[derive(Clone)]
pub enum OnConflict {
    /// 23505
    Error,
    /// DO NOTHING, for these unique indexes (empty: all).
    Nothing(Vec<IndexNumber>),
    /// DO UPDATE for these unique indexes.
    Update {
        /// The arbiter indexes.
        indexes: Vec<IndexNumber>,
        /// Places of columns and their new values, over the existing row followed by the
        /// proposed one.
        assignments: Vec<(usize, Expr)>,
        /// WHERE, over the same.
        filter: Option<Expr>,
    },
    /// UPSERT: the row of that primary key is replaced in the columns given.
    Upsert(Vec<usize>),
}

/// UPDATE. The input gives the whole old row first, then whatever the assignments read.
#[derive(Clone)]
pub struct Update {
    /// The table.
    pub table: Arc<Table>,
    /// The input; its first columns are all of the table's, in order.
    pub input: Node,
    /// Places of columns and their new values over the input row.
    pub assignments: Vec<(usize, Expr)>,
    /// The slots of the table's columns in the row that is written.
    pub row_slots: Vec<Slot>,
    /// Generated columns over the table's row.
    pub generated: Vec<(usize, Expr)>,
    /// CHECK constraints over the table's row.
    pub checks: Vec<(RowCheck, Expr)>,
    /// Predicates of partial indexes and keys that are expressions, over the table's row.
    pub index_exprs: Vec<(IndexPart, Expr)>,
    /// What foreign keys may change in other tables.
    pub cascades: Arc<Cascades>,
    /// The triggers that it may fire.
    pub triggers: Arc<TableTriggers>,
    /// The table is a view, whose INSTEAD OF triggers do the work.
    pub instead: bool,
    /// The table is changed as a partition: what happens to rows that leave it.
    pub moves: Option<Box<Moves>>,
    /// Where rows are in the end, if RETURNING asks for it.
    pub destination: Option<Box<Destination>>,
    /// RETURNING over the new row followed by the input row, and the oid of the destination.
    pub returning: Vec<(Slot, Expr)>,
}

/// MERGE. The input gives the whole target row first, nulls if there is none, then the source's
/// columns.
#[derive(Clone)]
pub struct Merge {
    /// The table.
    pub table: Arc<Table>,
    /// The input; its first columns are all of the table's, in order.
    pub input: Node,
    /// ON, over the input row: it is looked at again when a row has changed before it was locked.
    pub on: Expr,
    /// The WHEN clauses, in order.
    pub whens: Vec<When>,
    /// The slots of the table's columns in the row that is written.
    pub row_slots: Vec<Slot>,
    /// Generated columns over the table's row.
    pub generated: Vec<(usize, Expr)>,
    /// CHECK constraints over the table's row.
    pub checks: Vec<(RowCheck, Expr)>,
    /// Predicates of partial indexes and keys that are expressions, over the table's row.
    pub index_exprs: Vec<(IndexPart, Expr)>,
    /// What foreign keys may change in other tables.
    pub cascades: Arc<Cascades>,
    /// The triggers that it may fire.
    pub triggers: Arc<TableTriggers>,
}

/// A WHEN clause of MERGE.
#[derive(Clone)]
pub struct When {
    /// MATCHED, else NOT MATCHED.
    pub matched: bool,
    /// AND, over the input row.
    pub condition: Option<Expr>,
    /// THEN.
    pub action: MergeAction,
}

/// What a WHEN clause of MERGE does.
#[derive(Clone)]
pub enum MergeAction {
    /// UPDATE: places of columns and their new values over the input row.
    Update(Vec<(usize, Expr)>),
    /// DELETE.
    Delete,
    /// INSERT: the value of each of the table's columns over the input row.
    Insert(Vec<Expr>),
    /// DO NOTHING.
    Nothing,
}

impl Merge {
    /// The expressions over the input row.
    pub fn over_input(&self) -> impl Iterator<Item = &Expr> {
        let whens = self.whens.iter().flat_map(|when| {
            let values: Vec<&Expr> = match &when.action {
                MergeAction::Update(assignments) => assignments.iter().map(|(_, e)| e).collect(),
                MergeAction::Insert(values) => values.iter().collect(),
                MergeAction::Delete | MergeAction::Nothing => Vec::new(),
            };
            when.condition.iter().chain(values)
        });
        std::iter::once(&self.on).chain(whens)
    }

    /// The same, to be changed.
    pub fn over_input_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let whens = self.whens.iter_mut().flat_map(|when| {
            let values: Vec<&mut Expr> = match &mut when.action {
                MergeAction::Update(assignments) => {
                    assignments.iter_mut().map(|(_, e)| e).collect()
                }
                MergeAction::Insert(values) => values.iter_mut().collect(),
                MergeAction::Delete | MergeAction::Nothing => Vec::new(),
            };
            when.condition.iter_mut().chain(values)
        });
        std::iter::once(&mut self.on).chain(whens)
    }

    /// The expressions over the row that is written.
    pub fn over_row(&self) -> impl Iterator<Item = &Expr> {
        let generated = self.generated.iter().map(|(_, e)| e);
        let checks = self.checks.iter().map(|(_, e)| e);
        generated.chain(checks).chain(self.index_exprs.iter().map(|(_, e)| e))
    }

    /// The same, to be changed.
    pub fn over_row_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let generated = self.generated.iter_mut().map(|(_, e)| e);
        let checks = self.checks.iter_mut().map(|(_, e)| e);
        generated.chain(checks).chain(self.index_exprs.iter_mut().map(|(_, e)| e))
    }
}

/// DELETE. The input gives the whole old row first, then whatever RETURNING reads.
#[derive(Clone)]
pub struct Delete {
    /// The table.
    pub table: Arc<Table>,
    /// The input; its first columns are all of the table's, in order.
    pub input: Node,
    /// Predicates of partial indexes and keys that are expressions, over the table's row.
    pub index_exprs: Vec<(IndexPart, Expr)>,
    /// What foreign keys may change in other tables.
    pub cascades: Arc<Cascades>,
    /// The triggers that it may fire.
    pub triggers: Arc<TableTriggers>,
    /// The table is a view, whose INSTEAD OF triggers do the work.
    pub instead: bool,
    /// RETURNING over the input row.
    pub returning: Vec<(Slot, Expr)>,
    /// RETURNING NOTHING: nobody is told how many rows there were.
    pub returning_nothing: bool,
    /// Whether the schema allows range deletes; `None` if nothing is interleaved in the table.
    pub range: Option<std::result::Result<Arc<RangeDelete>, Refusal>>,
}

/// The triggers of a table that a statement may fire, by name.
#[derive(Default)]
pub struct TableTriggers {
    /// The triggers.
    pub list: Vec<Arc<PlannedTrigger>>,
    /// Values that a column's domain or the modifier of its type changes or refuses: place, and
    /// expression over the row. They are computed after a trigger has changed a row.
    pub adjusted: Vec<(usize, Expr)>,
    /// What the partitioned table has that the statement names, if the table is a partition of it.
    pub of_root: Option<Arc<RootTriggers>>,
}

/// The triggers FOR EACH STATEMENT of a partitioned table, for changes of a partition.
#[derive(Clone)]
pub struct RootTriggers {
    /// The partitioned table.
    pub table: Arc<Table>,
    /// The triggers.
    pub list: Vec<Arc<PlannedTrigger>>,
    /// For each of its columns the place in rows of the partition.
    pub places: Vec<Option<usize>>,
    /// The statement is an UPDATE: a row that it moves is deleted in one partition and inserted
    /// into another one.
    pub is_update: bool,
}

/// A trigger that a statement may fire.
pub struct PlannedTrigger {
    /// The trigger.
    pub trigger: Trigger,
    /// The events for which this statement may fire it.
    pub events: Vec<TriggerEvent>,
    /// The function that it calls.
    pub function: Arc<Routine>,
    /// WHEN, over the old row followed by the new one.
    pub when: Option<Expr>,
}

/// What fires triggers: when, for what, and whether for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// When.
    pub timing: TriggerTiming,
    /// For what.
    pub event: TriggerEvent,
    /// For each row, else once for the statement.
    pub for_each_row: bool,
}

impl Firing {
    /// Before each row.
    pub fn before_row(event: TriggerEvent) -> Self {
        Self { timing: TriggerTiming::Before, event, for_each_row: true }
    }

    /// After each row.
    pub fn after_row(event: TriggerEvent) -> Self {
        Self { timing: TriggerTiming::After, event, for_each_row: true }
    }

    /// In the place of each row's change.
    pub fn instead_of_row(event: TriggerEvent) -> Self {
        Self { timing: TriggerTiming::InsteadOf, event, for_each_row: true }
    }

    /// Before the statement.
    pub fn before_statement(event: TriggerEvent) -> Self {
        Self { timing: TriggerTiming::Before, event, for_each_row: false }
    }

    /// After the statement.
    pub fn after_statement(event: TriggerEvent) -> Self {
        Self { timing: TriggerTiming::After, event, for_each_row: false }
    }
}

impl PlannedTrigger {
    /// Whether it belongs to a firing.
    pub fn is_of(&self, firing: Firing) -> bool {
        self.trigger.timing == firing.timing
            && self.trigger.for_each_row == firing.for_each_row
            && self.events.contains(&firing.event)
    }
}

impl TableTriggers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.of_root.is_none()
    }

    /// Those of a firing.
    pub fn of(&self, firing: Firing) -> impl Iterator<Item = &Arc<PlannedTrigger>> {
        self.list.iter().filter(move |planned| planned.is_of(firing))
    }

    /// Whether there are any of a firing.
    pub fn has(&self, firing: Firing) -> bool {
        self.of(firing).next().is_some()
    }

    /// The first one that needs every row that an event concerns: it fires for each, or gets them
    /// as a table.
    pub fn needing_rows(&self, event: TriggerEvent) -> Option<&Trigger> {
        let needs = |trigger: &Trigger| trigger.for_each_row || trigger.has_transitions();
        let of_root = self.of_root.iter().flat_map(|root| &root.list);
        let list = self.list.iter().chain(of_root);
        let mut list = list.filter(|planned| planned.events.contains(&event));
        list.find(|planned| needs(&planned.trigger)).map(|planned| &planned.trigger)
    }
}
