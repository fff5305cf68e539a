//! DROP INDEX.

use braid_catalog::{Id, Object, Relation, Table};
use braid_sql::ast::{Drop, DropBehavior};
use braid_sql::quote_ident;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{lacks_schema, parts, skip, wrong_kind};
use crate::partitions::propagate::collect_parts;
use crate::rows::delete::delete_index_entries;
use crate::table::descriptor::free_index;

pub(crate) fn indexes(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<()> {
    if statement.concurrently && !cx.implicit {
        let message = "DROP INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(Error::new(SqlState::ActiveSqlTransaction, message));
    }
    for (place, name) in statement.names.iter().enumerate() {
        let at = statement.at_names.get(place).and_then(Option::as_ref);
        let found = match at {
            // table@index
            Some(index) => {
                let table = cx.table_or_materialized(name)?;
                let index = braid_sql::fold(index);
                let found = table.all_indexes().find(|found| found.name == index);
                found
                    .map(|found| Relation::Index(table.clone(), std::sync::Arc::new(found.clone())))
            }
            None => cx.find(name)?,
        };
        let (table, number) = match found {
            Some(Relation::Index(table, index)) => (table, index.number),
            Some(other) => return Err(wrong_kind(other.name(), "index")),
            None => {
                let written = parts(name);
                if !lacks_schema(cx, &written, statement.if_exists)? {
                    let name = written.last().map_or("", String::as_str);
                    let message = format!("index \"{name}\" does not exist");
                    skip(cx, SqlState::UndefinedObject, message, statement.if_exists)?;
                }
                continue;
            }
        };
        drop_index(cx, &table, number, statement.behavior)?;
    }
    Ok(())
}

fn drop_index(
    cx: &mut DdlContext<'_>,
    table: &Table,
    number: braid_catalog::IndexNumber,
    behavior: DropBehavior,
) -> Result<()> {
    cx.check_owner(Object::Table(table))?;
    let Some(index) = table.index(number).cloned() else { return Ok(()) };
    if index.constraint.is_some() || number == table.primary.number {
        let (name, relation) = (&index.name, quote_ident(&table.name));
        let shown = quote_ident(name);
        let message = format!(
            "cannot drop index {shown} because constraint {name} on table {relation} requires it"
        );
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop constraint {name} on table {relation} instead.")));
    }
    if let Some(part) = index.part_of {
        let catalog = cx.catalog();
        let upper = catalog.index(part).map(|(_, upper)| upper.name.clone()).unwrap_or_default();
        let name = &index.name;
        let message = format!("cannot drop index {name} because index {upper} requires it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop index {upper} instead.")));
    }
    let mut parts = Vec::new();
    collect_parts(cx, table, index.id, &mut parts);
    for (id, name) in parts {
        let Some(part) = cx.catalog().table(id).cloned() else { continue };
        let Some(own) = part.indexes.iter().find(|own| own.name == name).cloned() else { continue };
        let mut changed = Table::clone(&part);
        free_index(cx, &mut changed, &own, behavior)?;
        changed.indexes.retain(|other| other.number != own.number);
        changed.forget_key_exprs();
        delete_index_entries(cx, &part, &own)?;
        cx.draft()?.put(changed);
    }
    let mut changed = Table::clone(table);
    free_index(cx, &mut changed, &index, behavior)?;
    changed.indexes.retain(|other| other.number != number);
    delete_index_entries(cx, table, &index)?;
    cx.draft()?.put(changed);
    Ok(())
}

/// Drops an index that nothing needs.
pub(crate) fn drop_index_of(
    cx: &mut DdlContext<'_>,
    table: Id,
    number: braid_catalog::IndexNumber,
) -> Result<()> {
    match cx.catalog().table(table).cloned() {
        Some(table) => drop_index(cx, &table, number, DropBehavior::Cascade),
        None => Ok(()),
    }
}
