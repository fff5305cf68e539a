//! Triggers of partitioned tables: those of rows are copied to each partition.

use braid_catalog::{ColumnId, Id, StoredExpr, Table, Trigger};
use braid_types::Result;

use crate::context::DdlContext;

/// Gives a partition the row triggers of its parent.
pub(crate) fn copy_triggers(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
) -> Result<()> {
    for trigger in parent.triggers.iter().filter(|trigger| trigger.for_each_row) {
        copy_trigger(cx, table, parent, trigger)?;
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
        let is_old =
            |own: &Trigger| before.iter().any(|old| old.for_each_row && old.name == own.name);
        changed.triggers.retain(|own| !is_old(own));
        copy_triggers(cx, &mut changed, parent)?;
        cx.draft()?.put(changed.clone());
        spread_triggers(cx, &changed, &table.triggers)?;
    }
    Ok(())
}

fn copy_trigger(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
    trigger: &Trigger,
) -> Result<()> {
    let mut copy = trigger.clone();
    copy.id = cx.draft()?.allocate_id(table.id);
    copy.comment = None;
    if let Some(constraint) = &mut copy.constraint {
        constraint.id = cx.draft()?.allocate_id(table.id);
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
    table.triggers.retain(|own| own.name != copy.name);
    table.triggers.push(copy);
    Ok(())
}
