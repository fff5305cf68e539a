//! `ALTER TABLE … DETACH PARTITION`, and a partition that is dropped.

use std::sync::Arc;

use braid_catalog::{Id, PartitionBound, Table};
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, SqlState};

use super::attach::not_partitioned;
use super::references::check_detached;
use crate::context::DdlContext;
use crate::names::lookup::last;
use crate::table::descriptor::{change_table, not_in_block};

/// Makes a partition a table of its own. CONCURRENTLY does the same: nobody waits for readers.
pub(crate) async fn detach(
    cx: &mut DdlContext<'_>,
    parent: &Arc<Table>,
    name: &ObjectName,
    (concurrently, finalize): (bool, bool),
) -> Result<()> {
    if parent.partitioning.is_none() {
        return Err(not_partitioned(parent));
    }
    if concurrently && !cx.implicit {
        return Err(not_in_block("ALTER TABLE ... DETACH CONCURRENTLY"));
    }
    let table = cx.table(name)?;
    if table.partition_of.as_ref().is_none_or(|part| part.parent != parent.id) {
        let message = format!(
            "relation \"{}\" is not a partition of relation \"{}\"",
            last(name),
            parent.name
        );
        return Err(Error::new(SqlState::UndefinedTable, message));
    }
    if finalize {
        let message = format!("cannot complete detaching partition \"{}\"", table.name);
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
            .detail("There's no pending concurrent detach."));
    }
    if concurrently && has_default(cx, parent) {
        let message = "cannot detach partitions concurrently when a default partition exists";
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
    }
    cx.refuse_if_owed(parent, "ALTER TABLE")?;
    check_detached(cx, &table).await?;
    forget_partition(cx, parent.id, table.id)?;
    let copied: Vec<String> = parent
        .triggers
        .iter()
        .filter(|trigger| trigger.for_each_row)
        .map(|trigger| trigger.name.clone())
        .collect();
    let indexes: Vec<Id> = parent.all_indexes().map(|index| index.id).collect();
    change_table(cx, table.id, |table| {
        table.partition_of = None;
        table.triggers.retain(|trigger| !copied.contains(&trigger.name));
        for index in std::iter::once(&mut table.primary).chain(&mut table.indexes) {
            index.part_of = index.part_of.filter(|id| !indexes.contains(id));
        }
    })
}

fn has_default(cx: &DdlContext<'_>, parent: &Table) -> bool {
    let catalog = cx.catalog();
    let mut partitions = parent.partitioning.iter().flat_map(|keys| &keys.partitions);
    partitions.any(|id| {
        let part = catalog.table(*id).and_then(|table| table.partition_of.as_ref());
        part.is_some_and(|part| matches!(part.bound, PartitionBound::Default))
    })
}

/// Takes a partition off its parent's list.
pub(crate) fn forget_partition(cx: &mut DdlContext<'_>, parent: Id, partition: Id) -> Result<()> {
    change_table(cx, parent, |parent| {
        if let Some(keys) = &mut parent.partitioning {
            keys.partitions.retain(|id| *id != partition);
        }
    })
}
