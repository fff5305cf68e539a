//! Foreign keys over a column whose type changes: the types must fit, and with other values the
//! rows are looked at again.

use std::sync::Arc;

use braid_catalog::{Catalog, Column, ForeignKey, Table};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::rows::validate::validate_foreign_key;
use crate::table::descriptor::child_of;
use crate::table::foreign_keys::check_types;

/// The foreign keys that have a column on one of their sides, with the tables that have them.
fn keys_over(
    catalog: &Catalog,
    table: &Arc<Table>,
    column: &Column,
) -> Result<Vec<(Arc<Table>, ForeignKey)>> {
    let is_over = |child: &Table, key: &ForeignKey| {
        (child.id == table.id && key.columns.contains(&column.id))
            || (key.parent == table.id && key.parent_columns.contains(&column.id))
    };
    let mut children = vec![table.clone()];
    for id in table.referenced_by.iter().filter(|id| **id != table.id) {
        children.push(child_of(catalog, table, *id)?.clone());
    }
    let mut found = Vec::new();
    for child in children {
        let keys = child.foreign_keys.iter().filter(|key| is_over(&child, key));
        found.extend(keys.map(|key| (child.clone(), key.clone())));
    }
    Ok(found)
}

/// 42804 for a type of a column that a foreign key cannot compare with that of the other side.
pub(crate) fn check_key_types(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    column: &Column,
    ty: &SqlType,
) -> Result<()> {
    let catalog = cx.catalog();
    let with_type = |of: &Table, found: &Column| match of.id == table.id && found.id == column.id {
        true => Column { ty: ty.clone(), ..found.clone() },
        false => found.clone(),
    };
    for (child, key) in keys_over(&catalog, table, column)? {
        let parent = if key.parent == table.id { Some(table) } else { catalog.table(key.parent) };
        let Some(parent) = parent else { continue };
        for (own, other) in key.columns.iter().zip(&key.parent_columns) {
            let (Some(own), Some(other)) = (child.column(*own), parent.column(*other)) else {
                continue;
            };
            let (own, other) = (with_type(&child, own), with_type(parent, other));
            check_types(&key.name, &[(&own, &other)])?;
        }
    }
    Ok(())
}

/// 23503 if a row has no parent any more after a column has got another type. `old` is the column
/// as it was; `has_new_values` says that an expression has computed its values.
pub(crate) async fn check_keys_again(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    old: &Column,
    has_new_values: bool,
) -> Result<()> {
    let catalog = cx.catalog();
    let Some(changed) = catalog.table(table.id) else { return Ok(()) };
    let now = changed.column(old.id).map(|column| &column.ty);
    let keeps_values =
        now.is_some_and(|ty| *ty == old.ty || (ty.is_integer() && old.ty.is_integer()));
    if keeps_values && !has_new_values {
        return Ok(());
    }
    for (child, key) in keys_over(&catalog, changed, old)? {
        if key.parent == table.id && is_in_partitions(changed) {
            let message = "cannot alter type of a column used by a foreign key";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if key.validated {
            validate_foreign_key(cx, &child, &key).await?;
        }
    }
    Ok(())
}

/// Whether the rows of a table, or of those that it belongs to, are in several tables.
fn is_in_partitions(table: &Table) -> bool {
    table.partitioning.is_some() || table.partition_of.is_some()
}
