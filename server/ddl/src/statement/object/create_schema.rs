//! CREATE SCHEMA.

use braid_catalog::{DefaultKind, Object, Schema};
use braid_sql::ast::CreateSchema;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::last;
use crate::names::owner::{check_new_owner, check_schema_name};
use crate::roles::default_privileges::new_grants;

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateSchema) -> Result<()> {
    let owner = match &create.authorization {
        Some(role) => cx.role(role)?,
        None => cx.user(),
    };
    let name = match (&create.name, &create.authorization) {
        (Some(name), _) => last(name),
        (None, Some(role)) => cx.role_name(role),
        (None, None) => return Err(Error::new(SqlState::SyntaxError, "a schema needs a name")),
    };
    let database = cx.path().database;
    let catalog = cx.catalog();
    if let Some(database) = catalog.database(database) {
        catalog.privileges().check(cx.user(), Object::Database(database), "CREATE")?;
    }
    check_new_owner(cx, owner)?;
    if create.if_not_exists && catalog.names().schema(database, &name).is_some() {
        let message = format!("schema \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateSchema, message);
        return Ok(());
    }
    check_schema_name(cx, &name)?;
    let id = cx.draft()?.allocate_id(0);
    let grants = new_grants(cx, owner, None, DefaultKind::Schemas);
    let schema = Schema { id, database, name, owner, grants, comment: None };
    cx.draft()?.put(schema);
    Ok(())
}
