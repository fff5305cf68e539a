//! CREATE SCHEMA, with the objects that it creates inside.

use braid_catalog::{DefaultKind, Object, Schema};
use braid_sql::ast::{CreateSchema, ObjectName, Statement};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{last, parts};
use crate::names::owner::{check_new_owner, check_schema_name};
use crate::names::temporary::not_temporary;
use crate::roles::default_privileges::new_grants;

/// The elements in the order in which they are created. 42P15 for one of another schema.
pub(crate) fn in_order<'s>(
    cx: &DdlContext<'_>,
    create: &'s CreateSchema,
    name: &str,
) -> Result<Vec<&'s Statement>> {
    let mut elements: Vec<&Statement> = create.elements.iter().collect();
    if let Some(role) = &create.authorization
        && !elements.is_empty()
        && cx.role(role)? != cx.user()
    {
        return Err(Error::unsupported("CREATE SCHEMA with elements for another role"));
    }
    elements.sort_by_key(|element| rank(element));
    elements.iter().try_for_each(|element| check_place(element, name))?;
    Ok(elements)
}

/// Kinds of elements in the order in which they are created, as in PostgreSQL.
fn rank(element: &Statement) -> usize {
    match element {
        Statement::CreateSequence(_) => 0,
        Statement::CreateTable(_) => 1,
        Statement::CreateView(_) => 2,
        Statement::CreateIndex(_) => 3,
        Statement::CreateTrigger(_) => 4,
        _ => 5,
    }
}

/// 42P15 for an element whose name has another schema, 42P16 for a temporary one.
fn check_place(element: &Statement, schema: &str) -> Result<()> {
    let is_temporary = match element {
        Statement::CreateSequence(create) => create.temporary,
        Statement::CreateTable(create) => create.temporary,
        Statement::CreateView(create) => create.temporary,
        _ => false,
    };
    if is_temporary {
        return Err(not_temporary());
    }
    let name: &ObjectName = match element {
        Statement::CreateSequence(create) => &create.name,
        Statement::CreateTable(create) => &create.name,
        Statement::CreateView(create) => &create.name,
        Statement::CreateIndex(create) => &create.table,
        Statement::CreateTrigger(create) => &create.table,
        _ => return Ok(()),
    };
    let parts = parts(name);
    match parts.iter().rev().nth(1) {
        Some(other) if other != schema => {
            let message = format!(
                "CREATE specifies a schema ({other}) different from the one being created ({schema})"
            );
            Err(Error::new(SqlState::InvalidSchemaDefinition, message))
        }
        _ => Ok(()),
    }
}

/// Creates the schema; returns its name.
pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateSchema) -> Result<String> {
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
        return Ok(name);
    }
    check_schema_name(cx, &name)?;
    let id = cx.draft()?.allocate_id(0);
    let grants = new_grants(cx, owner, None, DefaultKind::Schemas);
    let (comment, collations) = (None, Vec::new());
    let schema = Schema { id, database, name: name.clone(), owner, grants, comment, collations };
    cx.draft()?.put(schema);
    Ok(name)
}
