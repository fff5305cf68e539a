//! `ADD PRIMARY KEY USING INDEX` and `ADD UNIQUE USING INDEX`.

use std::sync::Arc;

use braid_catalog::{ColumnId, Index, IndexKey, IndexNumber, Named, Table};
use braid_sql::ast::{DropBehavior, UniqueRules};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::rows::delete::delete_index_entries;
use crate::statement::table::primary_key::{add_primary_key, add_unique};
use crate::table::constraint_names::multiple_primary_keys;
use crate::table::descriptor::free_index;
use crate::table::key_spec::KeySpec;

/// The index of `USING INDEX`, if a constraint can be made of it.
pub(crate) fn usable_index(
    cx: &mut DdlContext<'_>,
    table: &Table,
    name: &str,
    constraint: Option<&str>,
) -> Result<Index> {
    let wrong = |state: SqlState, message: String| {
        let detail = "Cannot create a primary key or unique constraint using such an index.";
        Err(Error::new(state, message).detail(detail))
    };
    let Some(index) = table.all_indexes().find(|index| index.name == name) else {
        let catalog = cx.catalog();
        let is_elsewhere =
            matches!(catalog.names().find(table.schema, name), Some(Named::Index(..)));
        let (state, message) = if is_elsewhere {
            let message = format!("index \"{name}\" does not belong to table \"{}\"", table.name);
            (SqlState::ObjectNotInPrerequisiteState, message)
        } else {
            (SqlState::UndefinedObject, format!("index \"{name}\" does not exist"))
        };
        return Err(Error::new(state, message));
    };
    if index.constraint.is_some() {
        let message = format!("index \"{name}\" is already associated with a constraint");
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
    }
    if !index.unique {
        return wrong(SqlState::WrongObjectType, format!("\"{name}\" is not a unique index"));
    }
    let is_expr = |key: &IndexKey| {
        let column = table.column(key.column);
        column.is_some_and(|column| column.is_key_expr && column.sorted_text().is_none())
    };
    if index.keys.iter().any(is_expr) {
        return wrong(SqlState::WrongObjectType, format!("index \"{name}\" contains expressions"));
    }
    if index.predicate.is_some() {
        return wrong(SqlState::WrongObjectType, format!("\"{name}\" is a partial index"));
    }
    let is_plain = |key: &IndexKey| *key == IndexKey::plain(key.column);
    let unusual = index.keys.iter().position(|key| !is_plain(key));
    if let Some(place) = unusual {
        let number = place + 1;
        let message = format!(
            "index \"{name}\" column number {number} does not have default sorting behavior"
        );
        return wrong(SqlState::WrongObjectType, message);
    }
    if let Some(constraint) = constraint.filter(|constraint| *constraint != name) {
        let message = format!(
            "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{name}\" to \"{constraint}\""
        );
        cx.notice(SqlState::SuccessfulCompletion, message);
    }
    Ok(index.clone())
}

/// `ADD UNIQUE USING INDEX`: an index that is there becomes the constraint.
pub(crate) fn use_index(
    cx: &mut DdlContext<'_>,
    table: &Table,
    number: IndexNumber,
    name: Option<String>,
) -> Result<()> {
    let mut changed = Table::clone(table);
    let constraint = cx.draft()?.allocate_id(table.id);
    for index in changed.indexes.iter_mut().filter(|index| index.number == number) {
        index.constraint = Some(constraint);
        if let Some(name) = &name {
            index.name.clone_from(name);
        }
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// `ADD PRIMARY KEY USING INDEX`, and `ADD UNIQUE USING INDEX … DEFERRABLE`. The primary key stores
/// the rows, and the entries of a deferrable key differ from those of a unique index. So a new key
/// is built over the index's columns, and the index is dropped.
pub(crate) async fn become_key(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    index: Index,
    name: Option<String>,
    (primary, rules): (bool, UniqueRules),
) -> Result<()> {
    if primary && table.primary_key().is_some() {
        return Err(multiple_primary_keys(&table.name));
    }
    let name_of = |id: &ColumnId| Ok(table.columns[table.place_of(*id)?].name.clone());
    let columns: Vec<String> =
        index.keys.iter().map(|key| name_of(&key.column)).collect::<Result<_>>()?;
    let mut spec =
        KeySpec::constraint(Some(name.unwrap_or_else(|| index.name.clone())), primary, columns);
    spec.rules = UniqueRules { nulls_not_distinct: index.nulls_not_distinct, ..rules };
    spec.storing = index.included().iter().map(name_of).collect::<Result<_>>()?;
    let mut changed = Table::clone(&table);
    free_index(cx, &mut changed, &index, DropBehavior::Restrict)?;
    changed.indexes.retain(|other| other.number != index.number);
    delete_index_entries(cx, &table, &index)?;
    cx.draft()?.put(changed.clone());
    match primary {
        true => add_primary_key(cx, Arc::new(changed), spec).await,
        false => add_unique(cx, Arc::new(changed), spec).await,
    }
}
