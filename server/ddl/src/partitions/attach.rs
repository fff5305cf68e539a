//! `ALTER TABLE … ATTACH PARTITION`, and `ALTER INDEX … ATTACH PARTITION`.

use std::sync::Arc;

use braid_catalog::partitions::lineage;
use braid_catalog::{Check, ForeignKey, Id, Index, Object, PartitionOf, Relation, Table};
use braid_sql::ast::{BoundClause, ObjectName};
use braid_types::{Error, Result, SqlState};

use super::bounds::partition_bound;
use super::checks::{check_default, check_rows};
use super::create::{add_to_parent, check_lifetime, current};
use super::indexes::{is_like, join_index, mark, shown_indexes, spec_like, spread_index};
use super::triggers::{copy_triggers, spread_triggers};
use crate::context::DdlContext;
use crate::names::lookup::{parts, undefined, wrong_kind};
use crate::rows::validate::validate_foreign_key;
use crate::table::foreign_keys::copy_foreign_keys;

fn mismatch(message: String) -> Error {
    Error::new(SqlState::DatatypeMismatch, message)
}

/// Makes a table a partition. Its rows are checked.
pub(crate) async fn attach(
    cx: &mut DdlContext<'_>,
    parent: Arc<Table>,
    name: &ObjectName,
    clause: &BoundClause,
) -> Result<()> {
    if parent.partitioning.is_none() {
        return Err(not_partitioned(&parent));
    }
    let table = cx.own_table(name)?;
    cx.refuse_if_owed(&table, "ALTER TABLE")?;
    check_table(cx, &parent, &table)?;
    check_columns(&parent, &table)?;
    let bound = partition_bound(cx, &parent, &table.name, clause)?;
    let mut changed = Table::clone(&table);
    let own_keys = changed.foreign_keys.len();
    copy_foreign_keys(cx, &mut changed, &parent)?;
    copy_triggers(cx, &mut changed, &parent)?;
    changed.partition_of = Some(Box::new(PartitionOf { parent: parent.id, bound }));
    let added = changed.foreign_keys.get(own_keys..).unwrap_or_default();
    let mut new_keys: Vec<(Id, ForeignKey)> =
        added.iter().map(|key| (table.id, key.clone())).collect();
    add_to_parent(cx, changed)?;
    let attached = current(cx, table.id)?;
    spread_triggers(cx, &attached, &table.triggers)?;
    spread_foreign_keys(cx, &*current(cx, table.id)?, &mut new_keys)?;
    for index in shown_indexes(&parent) {
        let table = current(cx, table.id)?;
        let number = join_index(cx, &table, &parent, index).await?;
        spread_index(cx, table.id, number).await?;
    }
    for (partition, key) in &new_keys {
        let partition = current(cx, *partition)?;
        if partition.partitioning.is_none() {
            validate_foreign_key(cx, &partition, key).await?;
        }
    }
    let table = current(cx, table.id)?;
    check_rows(cx, &table).await?;
    check_default(cx, &*current(cx, parent.id)?).await
}

/// 42P17: an action of ALTER TABLE needs a partitioned table.
pub(crate) fn not_partitioned(table: &Table) -> Error {
    let message = format!("table \"{}\" is not partitioned", table.name);
    Error::new(SqlState::InvalidObjectDefinition, message)
}

fn check_table(cx: &DdlContext<'_>, parent: &Table, table: &Table) -> Result<()> {
    let name = &table.name;
    if table.partition_of.is_some() {
        let message = format!("\"{name}\" is already a partition");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    let above = lineage(&cx.catalog(), parent);
    if table.id == parent.id || above.iter().any(|upper| upper.id == table.id) {
        let message = "circular inheritance not allowed";
        return Err(Error::new(SqlState::DuplicateTable, message)
            .detail(format!("\"{}\" is already a child of \"{name}\".", parent.name)));
    }
    check_lifetime(parent, table).map_err(|_| {
        let (kind, other) = match braid_catalog::is_temporary(parent.id) {
            true => ("permanent", "temporary"),
            false => ("temporary", "permanent"),
        };
        let message = format!(
            "cannot attach a {kind} relation as partition of {other} relation \"{}\"",
            parent.name
        );
        Error::new(SqlState::WrongObjectType, message)
    })?;
    let interleaved = table.all_indexes().any(|index| index.interleaving.is_some());
    if interleaved || !table.primary.below.is_empty() || table.moving.is_some() {
        return Err(Error::unsupported("an interleaved table as a partition"));
    }
    Ok(())
}

/// Gives the partitions of a table the foreign keys that it has. Adds those that are new.
fn spread_foreign_keys(
    cx: &mut DdlContext<'_>,
    parent: &Table,
    new_keys: &mut Vec<(Id, ForeignKey)>,
) -> Result<()> {
    for id in parent.partitioning.iter().flat_map(|keys| keys.partitions.clone()) {
        let mut changed = Table::clone(&*current(cx, id)?);
        let own_keys = changed.foreign_keys.len();
        copy_foreign_keys(cx, &mut changed, parent)?;
        let added = changed.foreign_keys.get(own_keys..).unwrap_or_default();
        new_keys.extend(added.iter().map(|key| (id, key.clone())));
        cx.draft()?.put(changed.clone());
        spread_foreign_keys(cx, &changed, new_keys)?;
    }
    Ok(())
}

/// 42804 unless the columns and CHECK constraints are those of the parent.
fn check_columns(parent: &Table, table: &Table) -> Result<()> {
    let name = &table.name;
    let known = |column: &str| parent.visible_columns().any(|upper| upper.name == column);
    if let Some(column) = table.visible_columns().find(|column| !known(&column.name)) {
        let message = format!(
            "table \"{name}\" contains column \"{}\" not found in parent \"{}\"",
            column.name, parent.name
        );
        return Err(mismatch(message)
            .detail("The new partition may contain only the columns present in parent."));
    }
    for upper in parent.visible_columns() {
        let column = &upper.name;
        let Some(own) = table.visible_columns().find(|own| own.name == *column) else {
            return Err(mismatch(format!("child table is missing column \"{column}\"")));
        };
        if own.ty != upper.ty || own.modifier != upper.modifier || own.domain != upper.domain {
            let message =
                format!("child table \"{name}\" has different type for column \"{column}\"");
            return Err(mismatch(message));
        }
        if own.collation != upper.collation {
            let message =
                format!("child table \"{name}\" has different collation for column \"{column}\"");
            return Err(mismatch(message));
        }
        if !upper.nullable && own.nullable {
            let message = format!("column \"{column}\" in child table must be marked NOT NULL");
            return Err(mismatch(message));
        }
        let message = match (upper.generated.is_some(), own.generated.is_some()) {
            (true, false) => {
                format!("column \"{column}\" in child table must be a generated column")
            }
            (false, true) => {
                format!("column \"{column}\" in child table must not be a generated column")
            }
            _ => continue,
        };
        return Err(mismatch(message));
    }
    parent.checks.iter().try_for_each(|check| check_check(check, table))
}

/// 42804 unless a table has this CHECK constraint of its parent. 42P17 if only the parent's rows
/// were checked.
fn check_check(check: &Check, table: &Table) -> Result<()> {
    let (name, constraint) = (&table.name, &check.name);
    let Some(own) = table.checks.iter().find(|own| own.name == *constraint) else {
        return Err(mismatch(format!("child table is missing constraint \"{constraint}\"")));
    };
    let same_numbers = check.columns == own.columns;
    if same_numbers && own.expr != check.expr {
        return Err(mismatch(format!(
            "child table \"{name}\" has different definition for check constraint \
             \"{constraint}\""
        )));
    }
    if check.validated && !own.validated {
        let message = format!(
            "constraint \"{constraint}\" conflicts with NOT VALID constraint on child table \
             \"{name}\""
        );
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    Ok(())
}

/// Makes an index of a partition a part of the parent's index.
pub(crate) fn attach_index(
    cx: &mut DdlContext<'_>,
    upper: &ObjectName,
    name: &ObjectName,
) -> Result<()> {
    let (parent, index) = named_index(cx, upper)?;
    let (table, own) = named_index(cx, name)?;
    let refused = |detail: String| {
        let message = format!(
            "cannot attach index \"{}\" as a partition of index \"{}\"",
            own.name, index.name
        );
        Error::new(SqlState::InvalidObjectDefinition, message).detail(detail)
    };
    if own.part_of == Some(index.id) {
        return Ok(());
    }
    if table.partition_of.as_ref().is_none_or(|part| part.parent != parent.id) {
        return Err(refused(format!(
            "Index \"{}\" is not an index on any partition of table \"{}\".",
            own.name, parent.name
        )));
    }
    if table.all_indexes().any(|other| other.part_of == Some(index.id)) {
        let error = refused(String::new());
        let detail = format!("Another index is already attached for partition \"{}\".", table.name);
        return Err(
            Error::new(SqlState::ObjectNotInPrerequisiteState, error.message()).detail(detail)
        );
    }
    if own.part_of.is_some() {
        return Err(refused(format!(
            "Index \"{}\" is already attached to another index.",
            own.name
        )));
    }
    let spec = spec_like(cx, &table, &parent, &index)?;
    if !is_like(&table, &own, &spec) {
        return Err(refused("The index definitions do not match.".to_owned()));
    }
    let mut changed = Table::clone(&table);
    mark(&mut changed, own.number, Some(index.id));
    cx.draft()?.put(changed);
    Ok(())
}

fn named_index(cx: &DdlContext<'_>, name: &ObjectName) -> Result<(Arc<Table>, Arc<Index>)> {
    match cx.find(name)? {
        Some(Relation::Index(table, index)) => {
            cx.check_owner(Object::Table(&table))?;
            Ok((table, index))
        }
        Some(other) => Err(wrong_kind(other.name(), "index")),
        None => Err(undefined("relation", &parts(name))),
    }
}
