//! What ALTER TABLE cannot do to partitioned tables and to partitions.

use std::sync::Arc;

use braid_catalog::partitions::{is_copy_of, with_partitions};
use braid_catalog::{ColumnId, ForeignKey, KeyPart, Table};
use braid_sql::ast::{
    AlterAction, AlterColumnAction, ColumnConstraintKind, ColumnDef, TableConstraint,
    TableConstraintKind,
};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::last;
use crate::table::expr_text::columns_used;

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidTableDefinition, message)
}

/// Whether a partition key reads a column.
pub(crate) fn is_in_key(table: &Table, column: ColumnId) -> bool {
    table.partitioning.iter().flat_map(|keys| &keys.keys).any(|key| match &key.part {
        KeyPart::Column(id) => *id == column,
        KeyPart::Expr(expr, _) => columns_used(table, expr).contains(&column),
    })
}

/// 42P16, 42809 or 0A000 for an action on a partition that belongs to its parent, or on a
/// partitioned table alone.
pub(crate) fn check_action(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    action: &AlterAction,
    only: bool,
) -> Result<()> {
    let has_partitions =
        table.partitioning.as_ref().is_some_and(|keys| !keys.partitions.is_empty());
    if only && has_partitions {
        check_only(table, action)?;
    }
    if table.partitioning.is_some() {
        check_partitioned(table, action)?;
        // The partitions' own keys read the column as well: an action on it goes down to them.
        for part in with_partitions(&cx.catalog(), table)? {
            check_key_columns(&part, action)?;
        }
    }
    let parent =
        table.partition_of.as_ref().and_then(|part| cx.catalog().table(part.parent).cloned());
    match parent {
        Some(parent) => check_partition(table, &parent, action),
        None => Ok(()),
    }
}

/// 42P16 for an action that may not leave the partitions of a table as they are.
fn check_only(table: &Table, action: &AlterAction) -> Result<()> {
    let what = match action {
        // Keys go with their parts in the partitions. Another name is not there at all.
        AlterAction::DropConstraint { name, .. } if !has_check(table, &fold(name)) => {
            return Ok(());
        }
        AlterAction::AddColumn { .. } => "column must be added to child tables too".to_owned(),
        AlterAction::DropColumn { .. } => {
            let message =
                "cannot drop column from only the partitioned table when partitions exist";
            return Err(invalid(message.to_owned()).hint("Do not specify the ONLY keyword."));
        }
        AlterAction::AddConstraint(constraint)
            if matches!(constraint.kind, TableConstraintKind::Check(_)) =>
        {
            "constraint must be added to child tables too".to_owned()
        }
        AlterAction::AlterColumn { name, action: AlterColumnAction::SetType { .. } } => format!(
            "type of inherited column \"{}\" must be changed in child tables too",
            fold(name)
        ),
        AlterAction::AlterColumn { action: AlterColumnAction::DropNotNull, .. }
        | AlterAction::DropConstraint { .. } => {
            let message =
                "cannot remove constraint from only the partitioned table when partitions exist";
            return Err(invalid(message.to_owned()).hint("Do not specify the ONLY keyword."));
        }
        AlterAction::AlterColumn { action: AlterColumnAction::SetNotNull, .. } => {
            "constraint must be added to child tables too".to_owned()
        }
        _ => return Ok(()),
    };
    Err(invalid(what))
}

fn has_check(table: &Table, name: &str) -> bool {
    table.checks.iter().any(|check| check.name == name)
}

fn check_partitioned(table: &Table, action: &AlterAction) -> Result<()> {
    match action {
        AlterAction::AlterPrimaryKey(_)
        | AlterAction::Interleave(_)
        | AlterAction::Uninterleave => {
            Err(Error::unsupported("this action of ALTER TABLE on a partitioned table")
                .hint("Change the partitions one by one."))
        }
        AlterAction::AddColumn { column, .. } if is_identity(column) => {
            Err(Error::unsupported("ADD COLUMN with an identity on a partitioned table")
                .hint("Use serial, or create the sequence and use nextval() as the default."))
        }
        AlterAction::AddConstraint(constraint) => check_foreign_key(table, constraint),
        _ => Ok(()),
    }
}

/// 42P16 for an action that would change a column of a table's partition key.
fn check_key_columns(table: &Table, action: &AlterAction) -> Result<()> {
    let (name, verb) = match action {
        AlterAction::DropColumn { name, .. } => (name, "drop"),
        AlterAction::AlterColumn { name, action: AlterColumnAction::SetType { .. } } => {
            (name, "alter")
        }
        _ => return Ok(()),
    };
    let name = fold(name);
    match table.columns.iter().find(|column| column.name == name) {
        Some(column) if is_in_key(table, column.id) => Err(invalid(format!(
            "cannot {verb} column \"{name}\" because it is part of the partition key of relation \
             \"{}\"",
            table.name
        ))),
        _ => Ok(()),
    }
}

fn is_identity(column: &ColumnDef) -> bool {
    let mut constraints = column.constraints.iter();
    constraints.any(|found| matches!(found.kind, ColumnConstraintKind::Identity { .. }))
}

/// 42809 for a foreign key that the rows of the partitions need not meet.
fn check_foreign_key(table: &Table, constraint: &TableConstraint) -> Result<()> {
    let TableConstraintKind::ForeignKey(key) = &constraint.kind else { return Ok(()) };
    if !constraint.not_valid {
        return Ok(());
    }
    let message = format!(
        "cannot add NOT VALID foreign key on partitioned table \"{}\" referencing relation \"{}\"",
        table.name,
        last(&key.table)
    );
    Err(Error::new(SqlState::WrongObjectType, message)
        .detail("This feature is not yet supported on partitioned tables."))
}

fn check_partition(table: &Table, parent: &Table, action: &AlterAction) -> Result<()> {
    let upper = |name: &str| parent.visible_columns().find(|column| column.name == name);
    match action {
        AlterAction::AddColumn { .. } => {
            let message = "cannot add column to a partition";
            Err(Error::new(SqlState::WrongObjectType, message))
        }
        AlterAction::DropColumn { name, .. } if upper(&fold(name)).is_some() => {
            Err(invalid(format!("cannot drop inherited column \"{}\"", fold(name))))
        }
        AlterAction::AlterColumn { name, action } => {
            let name = fold(name);
            match (action, upper(&name)) {
                (AlterColumnAction::SetType { .. }, Some(_)) => {
                    Err(invalid(format!("cannot alter inherited column \"{name}\"")))
                }
                (AlterColumnAction::DropNotNull, Some(column)) if !column.nullable => {
                    let message = format!("column \"{name}\" is marked NOT NULL in parent table");
                    Err(invalid(message))
                }
                _ => Ok(()),
            }
        }
        AlterAction::DropConstraint { name, .. } => {
            let name = fold(name);
            let inherited = has_check(parent, &name)
                || parent.foreign_keys.iter().any(|key| key.name == name)
                || is_only_of_parent(table, parent, &name)
                || table.all_indexes().any(|index| index.name == name && index.part_of.is_some());
            match inherited {
                true => Err(invalid(format!(
                    "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
                    table.name
                ))),
                false => Ok(()),
            }
        }
        AlterAction::AlterPrimaryKey(_)
        | AlterAction::Interleave(_)
        | AlterAction::Uninterleave => {
            Err(Error::unsupported("this action of ALTER TABLE on a partition"))
        }
        _ => Ok(()),
    }
}

/// Whether a foreign key of a partition, under a name of its own, is the one that stands for a key
/// of the parent. ATTACH takes a key that is there already.
fn is_only_of_parent(table: &Table, parent: &Table, name: &str) -> bool {
    let Some(key) = table.foreign_keys.iter().find(|key| key.name == name) else { return false };
    let is_same = |of: &Table, other: &ForeignKey| is_copy_of(table, key, of, other);
    let of_parent = parent.foreign_keys.iter().filter(|other| is_same(parent, other)).count();
    let all = table.foreign_keys.iter().filter(|other| is_same(table, other)).count();
    of_parent > 0 && all <= of_parent
}
