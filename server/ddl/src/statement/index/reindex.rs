//! REINDEX. No index has to be built a second time, so that only names and rights are checked.

use std::sync::Arc;

use braid_catalog::{Object, Relation, Table};
use braid_sql::ast::{Reindex, ReindexTarget};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{last, parts, undefined};
use crate::table::descriptor::not_in_block;

pub(crate) fn run(cx: &DdlContext<'_>, statement: &Reindex) -> Result<()> {
    let is_concurrent = statement.concurrently;
    if is_concurrent && !cx.implicit {
        return Err(not_in_block("REINDEX CONCURRENTLY"));
    }
    let whole = match statement.target {
        ReindexTarget::Index | ReindexTarget::Table => return check_relation(cx, statement),
        ReindexTarget::Schema => "SCHEMA",
        ReindexTarget::Database => "DATABASE",
        ReindexTarget::System => "SYSTEM",
    };
    if !cx.implicit {
        return Err(not_in_block(&format!("REINDEX {whole}")));
    }
    if is_concurrent && statement.target == ReindexTarget::System {
        return Err(catalogs_concurrently());
    }
    let name = last(&statement.name);
    if statement.target == ReindexTarget::Schema {
        let schema = cx.schema(&name)?;
        return cx.check_owner(Object::Schema(&schema));
    }
    let catalog = cx.catalog();
    let current = catalog.database(cx.path().database);
    match current.filter(|database| database.name == name) {
        Some(database) => cx.check_owner(Object::Database(database)),
        None => {
            let message = "can only reindex the currently open database";
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
    }
}

fn catalogs_concurrently() -> Error {
    let message = "cannot reindex system catalogs concurrently";
    Error::new(SqlState::FeatureNotSupported, message)
}

fn check_relation(cx: &DdlContext<'_>, statement: &Reindex) -> Result<()> {
    let is_index = statement.target == ReindexTarget::Index;
    let Some(found) = cx.find(&statement.name)? else {
        return Err(undefined("relation", &parts(&statement.name)));
    };
    let fits = match &found {
        Relation::Index(..) => is_index,
        Relation::Table(_) => !is_index,
        Relation::Virtual(table) => !is_index && table.relkind == 'r',
        _ => false,
    };
    if !fits {
        let wanted = if is_index { "an index" } else { "a table or materialized view" };
        let message = format!("\"{}\" is not {wanted}", found.name());
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    let table: Option<&Arc<Table>> = match &found {
        Relation::Index(table, _) | Relation::Table(table) => Some(table),
        _ => None,
    };
    let Some(table) = table else {
        return if statement.concurrently { Err(catalogs_concurrently()) } else { Ok(()) };
    };
    if table.partitioning.is_some() && !cx.implicit {
        return Err(not_in_block(if is_index { "REINDEX INDEX" } else { "REINDEX TABLE" }));
    }
    cx.check_owner(Object::from(&found))
}
