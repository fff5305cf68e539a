//! ALTER TABLE … DROP COLUMN.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{ColumnId, ForeignKey, Id, Index, Object, Table};
use braid_sql::ast::DropBehavior;
use braid_types::{Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{is_system_column, unchangeable_column};
use crate::partitions::create::current;
use crate::rows::delete::delete_index_entries;
use crate::statement::drop::column_dependents::check_column_dependents;
use crate::statement::drop::dependents::Doomed;
use crate::statement::drop::relations::drop_all;
use crate::statement::object::sequence::owned_sequences;
use crate::statement::table::primary_key::drop_primary_key;
use crate::statement::types::row_users::refuse_keys;
use crate::table::descriptor::{forget_reference, free_index};
use crate::table::expr_text::{index_reads, statistics_read};

/// The table without its foreign keys over a column. They go first: one may need an index of the
/// column.
fn without_keys_over(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    column: ColumnId,
) -> Result<Arc<Table>> {
    let mut changed = Table::clone(table);
    let is_over = |key: &ForeignKey| key.columns.contains(&column);
    changed.foreign_keys.retain(|key| !is_over(key));
    for key in table.foreign_keys.iter().filter(|key| is_over(key)) {
        forget_reference(cx, &mut changed, key.parent)?;
    }
    cx.draft()?.put(changed);
    current(cx, table.id)
}

pub(crate) async fn drop_column(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    name: &str,
    if_exists: bool,
    behavior: DropBehavior,
) -> Result<()> {
    let Some(column) = table.visible_columns().find(|column| column.name == name).cloned() else {
        let error = unchangeable_column(&table.name, name, "drop");
        if !if_exists || is_system_column(name) {
            return Err(error);
        }
        cx.notice(SqlState::SuccessfulCompletion, format!("{}, skipping", error.message()));
        return Ok(());
    };
    refuse_keys(cx, table.id, "table")?;
    for generated in check_column_dependents(cx, &table, &column, behavior)? {
        let table = current(cx, table.id)?;
        Box::pin(drop_column(cx, table, &generated, false, behavior)).await?;
    }
    let table = without_keys_over(cx, &current(cx, table.id)?, column.id)?;
    let mut changed = Table::clone(&table);
    let in_primary = table.primary.keys.iter().any(|key| key.column == column.id);
    if in_primary {
        free_index(cx, &mut changed, &table.primary, behavior)?;
    }
    let uses = |index: &&Index| index_reads(&table, index, column.id);
    for index in table.indexes.iter().filter(uses) {
        free_index(cx, &mut changed, index, behavior)?;
        changed.indexes.retain(|other| other.number != index.number);
        delete_index_entries(cx, &table, index)?;
    }
    changed.checks.retain(|check| !check.columns.contains(&column.id));
    changed.statistics.retain(|object| !statistics_read(&table, object, column.id));
    if in_primary {
        drop_primary_key(cx, &table, changed.clone()).await?;
        changed = Table::clone(&*current(cx, table.id)?);
    }
    changed.columns.retain(|other| other.id != column.id);
    cx.catalog().privileges().check_owner(cx.user(), Object::Table(&changed))?;
    cx.draft()?.put(changed);
    let owned: BTreeSet<Id> = owned_sequences(&cx.catalog(), table.id, Some(column.id)).collect();
    let doomed = Doomed { relations: owned.clone(), ..Doomed::default() };
    drop_all(cx, doomed, &owned, behavior)
}
