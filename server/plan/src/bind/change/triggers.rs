//! The triggers that a statement may fire, and the conditions of triggers.
//!
//! WHEN reads two rows: `old` and `new`. In its stored form these are the items 1 and 2.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{
    Routine, StoredExpr, Table, Trigger, TriggerEvent, TriggerState, TriggerTiming,
};
use braid_sql::TABLE_ROW;
use braid_sql::ast::Expr as Ast;
use braid_types::{Error, Result};

use crate::bind::Binder;
use crate::bind::partitions::leaves::place_in;
use crate::bind::query::lock::slots_of;
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::{bind_condition, without_places};
use crate::bind::stored::{assign_to, row_scope};
use crate::collate::assign_collations_over;
use crate::layout;
use crate::tree::expr::{Expr, Slot};
use crate::tree::row_change::{PlannedTrigger, RootTriggers, TableTriggers};

/// What expressions in WHEN are called in messages.
pub(crate) const WHEN_CLAUSE: &str = "trigger WHEN conditions";

/// The triggers of a table that these events may fire. `updated` are the places of the columns that
/// UPDATE assigns.
pub(crate) fn bind_triggers(
    binder: &mut Binder<'_>,
    table: &Table,
    events: &[TriggerEvent],
    updated: &BTreeSet<usize>,
) -> Result<Arc<TableTriggers>> {
    if table.triggers.is_empty() {
        return Ok(Arc::default());
    }
    let mut found = TableTriggers::default();
    for trigger in &table.triggers {
        if trigger.state == TriggerState::Disabled {
            continue;
        }
        let is_meant = |event: &&TriggerEvent| {
            trigger.is_for(**event)
                && (**event != TriggerEvent::Update || is_for_columns(table, trigger, updated))
        };
        let events: Vec<TriggerEvent> = events.iter().filter(is_meant).copied().collect();
        if events.is_empty() {
            continue;
        }
        let function = function_of(binder, trigger)?;
        binder.tables.insert(function.id);
        let when = match &trigger.when {
            Some(when) => Some(bind_when(binder, table, when)?),
            None => None,
        };
        let trigger = trigger.clone();
        found.list.push(Arc::new(PlannedTrigger { trigger, events, function, when }));
    }
    if !found.is_empty() {
        binder.fires_triggers = true;
        found.adjusted = adjusted(binder, table)?;
    }
    Ok(Arc::new(found))
}

/// Whether a partitioned table has triggers that fire for each statement.
pub(crate) fn has_statement_triggers(table: &Table) -> bool {
    let may_fire = |known: &Trigger| !known.for_each_row && known.state != TriggerState::Disabled;
    table.triggers.iter().any(may_fire)
}

/// The triggers FOR EACH STATEMENT of a partitioned table, for the change of a partition. `updated`
/// are places in the partition.
pub(crate) fn root_triggers(
    binder: &mut Binder<'_>,
    root: &Arc<Table>,
    partition: &Table,
    (events, updated): (&[TriggerEvent], &BTreeSet<usize>),
) -> Result<Option<Arc<RootTriggers>>> {
    if !has_statement_triggers(root) {
        return Ok(None);
    }
    let places: Vec<Option<usize>> =
        root.columns.iter().map(|column| place_in(partition, &column.name)).collect();
    let is_updated = |(place, own): (usize, &Option<usize>)| {
        own.is_some_and(|own| updated.contains(&own)).then_some(place)
    };
    let updated = places.iter().enumerate().filter_map(is_updated).collect();
    let bound = bind_triggers(binder, root, events, &updated)?;
    let statement = bound.list.iter().filter(|planned| !planned.trigger.for_each_row);
    let list: Vec<_> = statement.cloned().collect();
    if list.is_empty() {
        return Ok(None);
    }
    let is_update = events == [TriggerEvent::Update];
    Ok(Some(Arc::new(RootTriggers { table: root.clone(), list, places, is_update })))
}

/// Whether UPDATE of these columns concerns a trigger.
fn is_for_columns(table: &Table, trigger: &Trigger, updated: &BTreeSet<usize>) -> bool {
    trigger.columns.is_empty()
        || trigger
            .columns
            .iter()
            .filter_map(|id| table.position_of(*id))
            .any(|place| updated.contains(&place))
}

fn function_of(binder: &Binder<'_>, trigger: &Trigger) -> Result<Arc<Routine>> {
    let routines = binder.context().catalog.names().routines();
    routines.of_trigger(trigger.function).cloned().ok_or_else(|| {
        Error::broken(format!("the function of trigger \"{}\" is missing", trigger.name))
    })
}

/// What a value of a column has to become after a trigger has set it.
fn adjusted(binder: &mut Binder<'_>, table: &Table) -> Result<Vec<(usize, Expr)>> {
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut found = Vec::new();
    for (place, column) in table.columns.iter().enumerate() {
        if column.domain.is_none() && column.modifier.is_none() {
            continue;
        }
        let value = Expr::Column(slots[place], column.ty.clone());
        let mut value = without_places(binder, |this| assign_to(this, value, column))?;
        layout::layout_expr(&mut value, &slots)?;
        found.push((place, value));
    }
    Ok(found)
}

/// The old and the new row of a trigger's table.
pub(crate) struct TriggerRows {
    /// What names mean.
    pub(crate) scope: Scope,
    /// The slots of the old row.
    pub(crate) old: Vec<Slot>,
    /// The slots of the new row.
    pub(crate) new: Vec<Slot>,
}

impl TriggerRows {
    /// The rows under their names, or under the numbers that the stored form has.
    pub(crate) fn new(binder: &mut Binder<'_>, table: &Table, is_stored: bool) -> Result<Self> {
        let old: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
        let new: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
        let mut scope = Scope::default();
        for ((label, name), slots) in (TABLE_ROW..).zip(["old", "new"]).zip([&old, &new]) {
            let shown = if is_stored { label.to_string() } else { name.to_owned() };
            let mut row = row_scope(table, &shown, slots);
            for (entry, column) in row.columns.iter_mut().zip(&table.columns) {
                entry.item = (label, column.id);
            }
            scope.merge(row)?;
        }
        Ok(Self { scope, old, new })
    }

    /// A condition over the rows.
    pub(crate) fn bind(&self, binder: &mut Binder<'_>, ast: &Ast) -> Result<Expr> {
        let scopes = Scopes { scope: &self.scope, parent: None };
        let mut cx = ExprCx::plain(scopes, WHEN_CLAUSE);
        bind_condition(binder, ast, &mut cx, "WHEN")
    }
}

/// WHEN as it is stored, over the old row followed by the new one.
fn bind_when(binder: &mut Binder<'_>, table: &Table, when: &StoredExpr) -> Result<Expr> {
    let ast = braid_sql::parse_expr(when.sql())?;
    let rows = TriggerRows::new(binder, table, when.is_identified())?;
    let before = std::mem::replace(&mut binder.is_stored, when.is_identified());
    let variables = binder.cx.variables.take();
    let bound = without_places(binder, |this| rows.bind(this, &ast));
    binder.is_stored = before;
    binder.cx.variables = variables;
    let mut bound = bound?;
    let slots: Vec<Slot> = rows.old.iter().chain(&rows.new).copied().collect();
    assign_collations_over(binder, table, &[&rows.old, &rows.new], &mut bound)?;
    layout::layout_expr(&mut bound, &slots)?;
    Ok(bound)
}

/// The places of the columns that a condition reads.
#[derive(Debug, Default)]
pub struct ConditionReads {
    /// Of the old row.
    pub old: Vec<usize>,
    /// Of the new row.
    pub new: Vec<usize>,
}

/// What WHEN as it is written reads.
pub(crate) fn condition_reads(rows: &TriggerRows, bound: &Expr) -> ConditionReads {
    let read = slots_of(std::iter::once(bound));
    let places = |slots: &[Slot]| {
        slots.iter().enumerate().filter(|(_, s)| read.contains(s)).map(|(place, _)| place).collect()
    };
    ConditionReads { old: places(&rows.old), new: places(&rows.new) }
}

/// The places of the columns that UPDATE assigns, and of those that are computed from them.
pub(crate) fn updated_places(
    table: &Table,
    assigned: impl Iterator<Item = usize>,
) -> BTreeSet<usize> {
    let generated = table.columns.iter().enumerate().filter(|(_, c)| c.generated.is_some());
    assigned.chain(generated.map(|(place, _)| place)).collect()
}

/// Whether a trigger may change a row before it is updated, in any column.
pub(crate) fn may_rewrite(table: &Table) -> bool {
    table.triggers.iter().any(|trigger| {
        trigger.state != TriggerState::Disabled
            && trigger.for_each_row
            && trigger.timing == TriggerTiming::Before
            && trigger.is_for(TriggerEvent::Update)
    })
}
