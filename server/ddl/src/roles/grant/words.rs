//! The words of a statement: privileges, columns and roles.

use braid_catalog::{ColumnId, Id, Object, PUBLIC, Rights};
use braid_sql::ast::{GrantObjects, GrantPrivileges, Grantee, Ident, Privilege, PrivilegeGrant};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::undefined_column;
use crate::roles::user::grantee;

fn name(privilege: Privilege) -> &'static str {
    match privilege {
        Privilege::Select => "SELECT",
        Privilege::Insert => "INSERT",
        Privilege::Update => "UPDATE",
        Privilege::Delete => "DELETE",
        Privilege::Truncate => "TRUNCATE",
        Privilege::References => "REFERENCES",
        Privilege::Trigger => "TRIGGER",
        Privilege::Usage => "USAGE",
        Privilege::Create => "CREATE",
        Privilege::Connect => "CONNECT",
        Privilege::Temporary => "TEMPORARY",
        Privilege::Execute => "EXECUTE",
    }
}

/// 0A000 if GRANTED BY names another role than the current user.
pub(crate) fn check_grantor(cx: &DdlContext<'_>, granted_by: Option<&Ident>) -> Result<()> {
    let Some(written) = granted_by else { return Ok(()) };
    if cx.role(written)? == cx.user() {
        return Ok(());
    }
    Err(Error::new(SqlState::FeatureNotSupported, "grantor must be current user"))
}

/// The privileges on the whole object; all that it can have if none was named.
pub(super) fn privileges(
    cx: &mut DdlContext<'_>,
    statement: &GrantPrivileges,
    object: Object<'_>,
) -> Result<Rights> {
    let written = &statement.privileges;
    let whole: Vec<PrivilegeGrant> =
        written.iter().filter(|granted| granted.columns.is_empty()).cloned().collect();
    if whole.is_empty() && !written.is_empty() {
        return Ok(Rights::NONE);
    }
    let (kind, name) = object.describe();
    // The form for tables takes sequences too, and leaves out what these cannot have.
    if matches!((object, &statement.objects), (Object::Sequence(_), GrantObjects::Tables(_))) {
        let all = Rights::of(object.all_privileges().iter().copied());
        let wanted = names_of(&whole, None, kind)?;
        if whole.is_empty() {
            return Ok(all);
        }
        if !wanted.without(all).is_empty() {
            let message =
                format!("sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges");
            cx.notice(SqlState::InvalidGrantOperation, message);
        }
        return Ok(wanted.within(all));
    }
    let kind = match object {
        Object::Table(_) | Object::View(_) => "table",
        _ => kind,
    };
    names_of(&whole, Some(object.all_privileges()), kind)
}

/// The privileges on single columns. 0LP01 for one that columns do not have.
pub(super) fn column_privileges(
    statement: &GrantPrivileges,
    object: Object<'_>,
) -> Result<Vec<(ColumnId, Rights)>> {
    let mut found = Vec::new();
    for granted in statement.privileges.iter().filter(|granted| !granted.columns.is_empty()) {
        let privilege = name(granted.privilege);
        if !matches!(object, Object::Table(_) | Object::View(_)) {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        let rights = Rights::of([privilege]).within(Rights::of_columns());
        if rights.is_empty() {
            let message = format!("invalid privilege type {privilege} for column");
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        let columns = columns(object);
        for column in &granted.columns {
            let column = fold(column);
            let id = columns.iter().find(|(_, name)| **name == column).map(|(id, _)| *id);
            let (_, relation) = object.describe();
            found.push((id.ok_or_else(|| undefined_column(relation, &column))?, rights));
        }
    }
    Ok(found)
}

/// The numbers and names of a relation's columns.
pub(super) fn columns(object: Object<'_>) -> Vec<(ColumnId, &str)> {
    match object {
        Object::Table(table) => {
            table.visible_columns().map(|column| (column.id, &*column.name)).collect()
        }
        Object::View(view) => (1..).zip(view.columns.iter().map(|(name, _)| &**name)).collect(),
        _ => Vec::new(),
    }
}

/// The privileges of these names; all of that kind of object if none was named. 0LP01 for one that
/// it cannot have.
pub(crate) fn names_of(
    written: &[PrivilegeGrant],
    all: Option<&[&str]>,
    kind: &str,
) -> Result<Rights> {
    if written.is_empty() {
        return Ok(Rights::of(all.unwrap_or_default().iter().copied()));
    }
    let mut names = Vec::with_capacity(written.len());
    for granted in written {
        let name = name(granted.privilege);
        if all.is_some_and(|all| !all.contains(&name)) {
            let message = format!("invalid privilege type {name} for {kind}");
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        names.push(name);
    }
    Ok(Rights::of(names))
}

/// The roles that get or lose privileges. 0LP01 for PUBLIC with a grant option.
pub(crate) fn grantees(
    cx: &DdlContext<'_>,
    written: &[Grantee],
    grant_option: bool,
) -> Result<Vec<Id>> {
    let mut roles = Vec::with_capacity(written.len());
    for written in written {
        let role = grantee(cx, written)?;
        if role.is_none() && grant_option {
            let message = "grant options can only be granted to roles";
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        roles.push(role.unwrap_or(PUBLIC));
    }
    Ok(roles)
}
