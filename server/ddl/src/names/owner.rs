//! Owners of objects and names of schemas.

use braid_catalog::{Catalog, DATABASE_OWNER, Id, is_virtual_schema};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::content;
use crate::names::user_types::UserType;

/// 42501 unless the user may give the object to that role.
pub(crate) fn check_new_owner(cx: &DdlContext<'_>, owner: Id) -> Result<()> {
    let catalog = cx.catalog();
    let is_own = owner == DATABASE_OWNER
        && catalog.privileges().owns_database(cx.user(), cx.path().database);
    if is_own || catalog.privileges().is_member(cx.user(), owner) {
        return Ok(());
    }
    let message = format!("must be member of role \"{}\"", cx.catalog().role_name(owner));
    Err(Error::new(SqlState::InsufficientPrivilege, message))
}

/// 42P06 if the database has a schema of that name, 42939 for the system's names.
pub(crate) fn check_schema_name(cx: &DdlContext<'_>, name: &str) -> Result<()> {
    let exists = cx.catalog().names().schema(cx.path().database, name).is_some();
    if exists || is_virtual_schema(name) {
        let message = format!("schema \"{name}\" already exists");
        return Err(Error::new(SqlState::DuplicateSchema, message));
    }
    if name.starts_with("pg_") {
        let message = format!("unacceptable schema name \"{name}\"");
        return Err(Error::new(SqlState::ReservedName, message)
            .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}

/// Everything that a schema holds, by id.
pub(crate) fn schema_content(catalog: &Catalog, schema: Id) -> Vec<Id> {
    let (tables, views, sequences) = content(catalog, schema);
    let tables = tables.iter().map(|table| table.id);
    let views = views.iter().map(|view| view.id);
    let types = UserType::in_schema(catalog, schema);
    let sequences = sequences.iter().map(|sequence| sequence.id);
    let routines = catalog.names().routines().in_schema(schema).map(|routine| routine.id);
    tables.chain(views).chain(sequences).chain(types).chain(routines).collect()
}
