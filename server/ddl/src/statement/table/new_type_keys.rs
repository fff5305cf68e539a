//! Constraints over columns whose type was changed: the types have to fit, and the values too.

use std::sync::Arc;

use braid_catalog::partitions::with_partitions;
use braid_catalog::{ColumnId, Table};
use braid_sql::ast::{AlterAction, AlterColumnAction};
use braid_sql::fold;
use braid_types::Result;

use crate::context::DdlContext;
use crate::partitions::create::current;
use crate::rows::validate::{validate_changed_columns, validate_changed_key};
use crate::table::foreign_keys::{check_types, keys_naming, names_columns};

/// Checks the constraints of the changed columns after all actions of an ALTER TABLE, so that both
/// sides of a key, and all columns of a CHECK, may change. 42804 for types that do not fit, 23503
/// for rows without a parent, 23514 for rows that violate a CHECK.
pub(crate) async fn check_keys_of_new_types(
    cx: &mut DdlContext<'_>,
    before: &Table,
    actions: &[AlterAction],
) -> Result<()> {
    let changed: Vec<Change> = actions.iter().filter_map(|action| change(before, action)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    // Foreign keys may refer to each of them.
    for table in with_partitions(&cx.catalog(), &current(cx, before.id)?)? {
        // Columns have their numbers in a table; in its partitions they have their names.
        let ids = |keeps: bool| -> Vec<ColumnId> {
            let of_kind = changed.iter().filter(|change| change.keeps_values == keeps);
            let by_name = |change: &Change| {
                table.visible_columns().find(|c| c.name == change.column).map(|c| c.id)
            };
            of_kind.filter_map(by_name).collect()
        };
        let ids = [ids(true), ids(false)];
        check_keys(cx, &table, &ids).await?;
        if table.partitioning.is_none() {
            validate_changed_columns(cx, &table, &ids[1]).await?;
        }
    }
    Ok(())
}

/// A column that has another type.
struct Change {
    column: String,
    /// Each value is equal to the one before.
    keeps_values: bool,
}

fn change(before: &Table, action: &AlterAction) -> Option<Change> {
    let AlterAction::AlterColumn { name, action: AlterColumnAction::SetType { using, .. } } =
        action
    else {
        return None;
    };
    let column = fold(name);
    let old = before.visible_columns().find(|known| known.name == column)?;
    // A larger or smaller integer: one that does not fit is an error.
    Some(Change { keeps_values: using.is_none() && old.ty.is_integer(), column })
}

/// Checks the keys of a table and those that refer to it, by the columns whose values are what they
/// were and those with new values.
async fn check_keys(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    [same, new]: &[Vec<ColumnId>; 2],
) -> Result<()> {
    let columns = [same.as_slice(), new.as_slice()].concat();
    for (child, key) in keys_naming(&cx.catalog(), table, &columns)? {
        let parent = current(cx, key.parent)?;
        let pairs = key.columns.iter().zip(&key.parent_columns).map(|(own, other)| {
            let (own, other) = (child.place_of(*own)?, parent.place_of(*other)?);
            Ok((&child.columns[own], &parent.columns[other]))
        });
        check_types(&key.name, &pairs.collect::<Result<Vec<_>>>()?)?;
        let has_new = names_columns((child.id, &key), table.id, new);
        if has_new && key.validated && child.partitioning.is_none() {
            validate_changed_key(cx, &child, &key).await?;
        }
    }
    Ok(())
}
