//! Triggers of partitioned tables: those of rows are copied to each partition.

use braid_catalog::{ColumnId, Id, StoredExpr, Table, Trigger};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;

/// 42710: the relation has a trigger of that name.
pub(crate) fn duplicate(name: &str, relation: &str) -> Error {
    let message = format!("trigger \"{name}\" for relation \"{relation}\" already exists");
    Error::new(SqlState::DuplicateObject, message)
}

/// Gives a partition the row triggers of its parent. 42710 if it has one of the same name.
pub(crate) fn copy_triggers(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
) -> Result<()> {
    for trigger in parent.triggers.iter().filter(|trigger| trigger.for_each_row) {
        copy_trigger(cx, table, parent, (trigger, None))?;
    }
    table.triggers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(())
}

/// Gives the partitions of a table the row triggers that it has now; `before` are those that it
/// had.
pub(crate) fn spread_triggers(
    cx: &mut DdlContext<'_>,
    parent: &Table,
    before: &[Trigger],
) -> Result<()> {
    let partitions: Vec<Id> =
        parent.partitioning.iter().flat_map(|keys| keys.partitions.clone()).collect();
    for id in partitions {
        let Some(table) = cx.catalog().table(id).cloned() else { continue };
        let mut changed = Table::clone(&table);
        let is_copy =
            |own: &Trigger| before.iter().any(|old| old.for_each_row && old.name == own.name);
        changed.triggers.retain(|own| !is_copy(own));
        for trigger in parent.triggers.iter().filter(|trigger| trigger.for_each_row) {
            // The copy of a trigger that was there stays the same object.
            let old = before.iter().find(|old| old.for_each_row && old.id == trigger.id);
            let is_of = |own: &&Trigger| old.is_some_and(|old| old.name == own.name);
            let copy = table.triggers.iter().find(is_of);
            copy_trigger(cx, &mut changed, parent, (trigger, copy))?;
        }
        changed.triggers.sort_by(|a, b| a.name.cmp(&b.name));
        cx.draft()?.put(changed.clone());
        spread_triggers(cx, &changed, &table.triggers)?;
    }
    Ok(())
}

/// Copies a trigger to a partition. With it comes the copy that was there before: the state, which
/// the partition may have changed, stays.
fn copy_trigger(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
    (trigger, known): (&Trigger, Option<&Trigger>),
) -> Result<()> {
    if table.triggers.iter().any(|own| own.name == trigger.name) {
        return Err(duplicate(&trigger.name, &table.name));
    }
    let mut copy = trigger.clone();
    copy.id = match known {
        Some(known) => known.id,
        None => cx.draft()?.allocate_id(table.id),
    };
    copy.comment = known.and_then(|known| known.comment.clone());
    if let Some(known) = known {
        copy.state = known.state;
    }
    if let Some(constraint) = &mut copy.constraint {
        constraint.id = match known.and_then(|known| known.constraint.as_ref()) {
            Some(known) => known.id,
            None => cx.draft()?.allocate_id(table.id),
        };
    }
    let names = trigger.columns.iter().filter_map(|id| parent.column(*id));
    let own = names.filter_map(|column| table.columns.iter().find(|own| own.name == column.name));
    copy.columns = own.map(|column| column.id).collect();
    if let Some(StoredExpr::Identified(when)) = &mut copy.when {
        // The condition names columns by their numbers, which may differ in the partition.
        let number = |id: ColumnId| {
            let name = &parent.column(id)?.name;
            table.columns.iter().find(|own| own.name == *name).map(|own| own.id)
        };
        let written = braid_sql::parse_expr(&when.sql)?;
        let own = braid_sql::with_column_numbers(&written, &number);
        when.sql = braid_sql::stored_expr_text(&own)?;
        when.columns = when.columns.iter().filter_map(|id| number(*id)).collect();
    }
    table.triggers.push(copy);
    Ok(())
}
