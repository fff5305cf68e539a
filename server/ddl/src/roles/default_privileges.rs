//! ALTER DEFAULT PRIVILEGES, and what it means for new objects.

use braid_catalog::{Acl, Database, DefaultKind, DefaultPrivileges, Grant, Id, Rights};
use braid_sql::ast::{AlterDefaultPrivileges, ObjectKind};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::roles::grant::{Change, dependents, grantees, names_of};

/// The kind, and what messages about privileges call such an object.
fn kind_of(written: ObjectKind) -> (DefaultKind, &'static str) {
    match written {
        ObjectKind::Tables => (DefaultKind::Tables, "relation"),
        ObjectKind::Sequences => (DefaultKind::Sequences, "sequence"),
        ObjectKind::Functions => (DefaultKind::Functions, "function"),
        ObjectKind::Types => (DefaultKind::Types, "type"),
        ObjectKind::Schemas => (DefaultKind::Schemas, "schema"),
    }
}

/// The session's database, to be changed.
fn own_database(cx: &DdlContext<'_>) -> Result<Database> {
    let id = cx.path().database;
    let found = cx.catalog().database(id).map(|database| Database::clone(database));
    found.ok_or_else(|| Error::internal(format!("there is no database {id}")))
}

/// `ALTER DEFAULT PRIVILEGES`
pub(crate) fn alter(cx: &mut DdlContext<'_>, statement: &AlterDefaultPrivileges) -> Result<()> {
    let (kind, kind_name) = kind_of(statement.kind);
    if statement.privileges.iter().any(|privilege| !privilege.columns.is_empty()) {
        let message = "default privileges cannot be set for columns";
        return Err(Error::new(SqlState::InvalidGrantOperation, message));
    }
    let grantees = grantees(cx, &statement.grantees, statement.grant_option && !statement.revokes)?;
    let change = Change {
        revokes: statement.revokes,
        option: statement.grant_option,
        dependents: dependents(statement.behavior),
        grantees,
    };
    let rights = names_of(&statement.privileges, Some(kind.all_privileges()), kind_name)?;
    let roles = owners(cx, statement)?;
    let mut schemas = Vec::with_capacity(statement.schemas.len());
    for schema in &statement.schemas {
        if kind == DefaultKind::Schemas {
            let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        schemas.push(Some(cx.schema(&schema.value)?.id));
    }
    if schemas.is_empty() {
        schemas.push(None);
    }
    let mut database = own_database(cx)?;
    for role in roles {
        for schema in &schemas {
            let entry = take_entry(cx, &mut database, (role, *schema, kind))?;
            let mut acl = Acl::of_default(&entry);
            change.apply(cx, &mut acl, role, rights)?;
            database.default_privileges.extend(entry.with_acl(acl));
        }
    }
    cx.draft()?.put(database);
    Ok(())
}

/// The roles whose new objects are meant. 42501 for one that the user is no member of.
fn owners(cx: &DdlContext<'_>, statement: &AlterDefaultPrivileges) -> Result<Vec<Id>> {
    if statement.roles.is_empty() {
        return Ok(vec![cx.user()]);
    }
    let mut roles = Vec::with_capacity(statement.roles.len());
    for written in &statement.roles {
        let role = cx.role(written)?;
        if !cx.catalog().privileges().is_member(cx.user(), role) {
            let message = format!("must be member of role \"{}\"", cx.role_name(written));
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
        roles.push(role);
    }
    Ok(roles)
}

/// Takes the entry of a role, schema and kind out of a database; one that says nothing if there
/// is none.
fn take_entry(
    cx: &mut DdlContext<'_>,
    database: &mut Database,
    (role, schema, kind): (Id, Option<Id>, DefaultKind),
) -> Result<DefaultPrivileges> {
    if let Some(place) = database.place_of_default(role, schema, kind) {
        return Ok(database.default_privileges.remove(place));
    }
    let id = cx.draft()?.allocate_id(0);
    let mut entry = DefaultPrivileges { id, role, schema, kind, grants: Vec::new() };
    entry.grants = entry.neutral_grants();
    Ok(entry)
}

/// The grants with which a new object of that owner begins.
pub(crate) fn new_grants(
    cx: &DdlContext<'_>,
    owner: Id,
    schema: Option<Id>,
    kind: DefaultKind,
) -> Vec<Grant> {
    match cx.catalog().database(cx.path().database) {
        Some(database) => database.new_grants(owner, schema, kind),
        None => kind.built_in_grants(),
    }
}

/// Forgets the entries for a schema that is dropped.
pub(crate) fn forget_schema(cx: &mut DdlContext<'_>, schema: Id) -> Result<()> {
    let mut database = own_database(cx)?;
    let before = database.default_privileges.len();
    database.default_privileges.retain(|entry| entry.schema != Some(schema));
    if database.default_privileges.len() != before {
        cx.draft()?.put(database);
    }
    Ok(())
}

/// A database without the entries of certain roles and without what was granted to them there;
/// `None` if there is nothing of the kind.
pub(crate) fn without_roles(
    cx: &DdlContext<'_>,
    database: &Database,
    roles: &[Id],
) -> Result<Option<Vec<DefaultPrivileges>>> {
    let mut kept = database.default_privileges.clone();
    kept.retain(|entry| !roles.contains(&entry.role));
    let change = Change::revoke_all(roles.to_vec());
    let mut changed = Vec::with_capacity(kept.len());
    for entry in kept {
        let mut acl = Acl::of_default(&entry);
        let all = Rights::of(entry.kind.all_privileges().iter().copied());
        change.apply(cx, &mut acl, entry.role, all)?;
        let before = Acl::of_default(&entry);
        changed.extend(if acl == before { Some(entry) } else { entry.with_acl(acl) });
    }
    Ok((changed != database.default_privileges).then_some(changed))
}
