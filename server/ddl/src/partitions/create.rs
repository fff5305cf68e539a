//! `CREATE TABLE p PARTITION OF parent`.

use std::sync::Arc;

use braid_catalog::{Check, Column, PartitionOf, Table, is_temporary};
use braid_sql::ast::{CreateTable, PartitionOfClause, TableConstraintKind};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::bounds::partition_bound;
use super::checks::check_default;
use super::indexes::copy_indexes;
use super::keys::partitioning;
use super::triggers::copy_triggers;
use crate::context::DdlContext;
use crate::table::columns::{Behind, finish_column, give_options, read_behind};
use crate::table::constraint_names::multiple_primary_keys;
use crate::table::constraints::{
    add_check_constraint, add_key, add_table_constraint, add_unique_constraint,
};
use crate::table::foreign_keys::{copy_foreign_keys, define_foreign_key};
use crate::table::key_spec::KeySpec;
use crate::table::rowid::add_rowid;

/// Defines a partition, which has no rows, and adds it to its parent.
pub(crate) async fn define_partition(
    cx: &mut DdlContext<'_>,
    mut table: Table,
    create: &CreateTable,
    clause: &PartitionOfClause,
) -> Result<()> {
    let parent = cx.own_table(&clause.parent)?;
    cx.refuse_if_owed(&parent, "CREATE TABLE .. PARTITION OF")?;
    check_parent(&parent, &table)?;
    let bound = partition_bound(cx, &parent, &table.name, &clause.bound)?;
    copy_columns(cx, &mut table, &parent)?;
    let mut behind: Vec<(u16, Behind<'_>)> = Vec::new();
    for options in &clause.columns {
        let name = fold(&options.name);
        let own = read_behind(&options.constraints, &name, &table.name)?;
        let Some(place) = table.columns.iter().position(|column| column.name == name) else {
            let message = format!("column \"{name}\" does not exist");
            return Err(Error::new(SqlState::UndefinedColumn, message));
        };
        give_options(&mut table.columns[place], &own)?;
        behind.push((table.columns[place].id, own));
    }
    for (id, own) in &behind {
        finish_column(cx, &mut table, *id, own)?;
    }
    if let Some(by) = &create.partition_by {
        table.partitioning = Some(Box::new(partitioning(cx, &table, by)?));
    }
    add_keys(cx, &mut table, &parent, create, &behind)?;
    copy_foreign_keys(cx, &mut table, &parent)?;
    add_references(cx, &mut table, create, &behind)?;
    copy_triggers(cx, &mut table, &parent)?;
    table.partition_of = Some(Box::new(PartitionOf { parent: parent.id, bound }));
    add_to_parent(cx, table)?;
    let Some(parent) = cx.catalog().table(parent.id).cloned() else {
        return Err(Error::broken("the parent of a new partition is missing"));
    };
    check_default(cx, &parent).await
}

/// Puts a partition into the draft, with its parent.
pub(crate) fn add_to_parent(cx: &mut DdlContext<'_>, table: Table) -> Result<()> {
    let broken = || Error::broken(format!("partition \"{}\" has no parent", table.name));
    let part = table.partition_of.as_ref().ok_or_else(broken)?;
    // Foreign keys may have changed the parent meanwhile.
    let parent = cx.catalog().table(part.parent).cloned().ok_or_else(broken)?;
    let mut parent = Table::clone(&parent);
    let id = table.id;
    parent.partitioning.as_mut().ok_or_else(broken)?.partitions.push(id);
    cx.draft()?.put(parent);
    cx.draft()?.put(table);
    Ok(())
}

/// 42P17, 42809 or 0A000 for a table that cannot have this partition.
fn check_parent(parent: &Table, table: &Table) -> Result<()> {
    if parent.partitioning.is_none() {
        let message = format!("\"{}\" is not partitioned", parent.name);
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    check_lifetime(parent, table)
}

/// 42809 unless a table and its partition are both temporary or both permanent.
pub(crate) fn check_lifetime(parent: &Table, table: &Table) -> Result<()> {
    let name = &parent.name;
    let message = match (is_temporary(parent.id), is_temporary(table.id)) {
        (true, false) => {
            format!(
                "cannot create a permanent relation as partition of temporary relation \"{name}\""
            )
        }
        (false, true) => {
            format!(
                "cannot create a temporary relation as partition of permanent relation \"{name}\""
            )
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::WrongObjectType, message))
}

/// The columns of the parent with their numbers, families and CHECK constraints.
fn copy_columns(cx: &mut DdlContext<'_>, table: &mut Table, parent: &Table) -> Result<()> {
    table.families.clone_from(&parent.families);
    (table.next_family, table.next_column) = (parent.next_family, parent.next_column);
    for column in parent.visible_columns() {
        // An identity belongs to the parent alone.
        table.columns.push(Column {
            identity: None,
            owned_sequence: None,
            missing: None,
            comment: None,
            ..column.clone()
        });
    }
    for check in &parent.checks {
        let id = cx.draft()?.allocate_id(table.id);
        table.checks.push(Check { id, comment: None, validated: true, ..check.clone() });
    }
    Ok(())
}

/// The primary key first, then the other keys and CHECK constraints.
fn add_keys(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
    create: &CreateTable,
    behind: &[(u16, Behind<'_>)],
) -> Result<()> {
    let name_of =
        |table: &Table, id| Ok::<_, Error>(table.columns[table.place_of(id)?].name.clone());
    copy_indexes(cx, table, parent, true)?;
    for (id, own) in behind {
        if let Some((name, rules)) = &own.primary {
            if table.primary_key().is_some() {
                return Err(multiple_primary_keys(&table.name));
            }
            let spec = KeySpec::constraint(name.clone(), true, vec![name_of(table, *id)?]);
            add_key(cx, table, &KeySpec { rules: *rules, ..spec })?;
        }
    }
    let is_primary =
        |kind: &TableConstraintKind| matches!(kind, TableConstraintKind::PrimaryKey { .. });
    for constraint in create.constraints.iter().filter(|c| is_primary(&c.kind)) {
        add_table_constraint(cx, table, constraint)?;
    }
    add_rowid(cx, table)?;
    copy_indexes(cx, table, parent, false)?;
    for (id, own) in behind {
        for (name, rules) in &own.unique {
            let spec = KeySpec::constraint(name.clone(), false, vec![name_of(table, *id)?]);
            add_unique_constraint(cx, table, &KeySpec { rules: *rules, ..spec })?;
        }
        for (name, expr) in &own.checks {
            let column = name_of(table, *id)?;
            add_check_constraint(cx, table, name.clone(), expr, Some(&column))?;
        }
    }
    for constraint in create.constraints.iter().filter(|c| !is_primary(&c.kind)) {
        if !matches!(constraint.kind, TableConstraintKind::ForeignKey(_)) {
            add_table_constraint(cx, table, constraint)?;
        }
    }
    Ok(())
}

fn add_references(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    create: &CreateTable,
    behind: &[(u16, Behind<'_>)],
) -> Result<()> {
    for (id, own) in behind {
        for (name, key) in &own.references {
            let columns = vec![table.columns[table.place_of(*id)?].name.clone()];
            define_foreign_key(cx, table, name.clone(), key, columns)?;
        }
    }
    for constraint in &create.constraints {
        if let TableConstraintKind::ForeignKey(_) = constraint.kind {
            add_table_constraint(cx, table, constraint)?;
        }
    }
    Ok(())
}

/// A partition of a table by its number in the draft.
pub(crate) fn current(cx: &DdlContext<'_>, id: u32) -> Result<Arc<Table>> {
    let found = cx.catalog().table(id).cloned();
    found.ok_or_else(|| Error::broken(format!("table {id} is missing")))
}
