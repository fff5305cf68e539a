//! Whether a role has privileges on an object that is no relation.

use braid_builtins::PrivilegedKind;
use braid_catalog::{Catalog, ColumnId, Id, Object, PUBLIC, Relation, virtual_schema_name};
use braid_types::sql_type::relation_of_row_type;
use braid_types::{Error, Result, SqlState};

/// Whether a role has one of these privileges on an object. What comes with the server may be used
/// by everybody.
pub(super) fn has_privilege(
    catalog: &Catalog,
    role: &str,
    (kind, oid): (PrivilegedKind, u32),
    privileges: &str,
) -> Result<bool> {
    let role = match catalog.names().role(role) {
        Some(role) => role.id,
        None => PUBLIC,
    };
    // Each word is looked at before any is asked for.
    let wanted = privileges.split(',').map(|word| parse(kind, word)).collect::<Result<Vec<_>>>()?;
    let rights = catalog.privileges();
    let names = catalog.names();
    let array_of = |oid| catalog.enums().type_of(oid).and_then(|ty| Some(ty.inner_enum()?.oid));
    let object = match kind {
        PrivilegedKind::Schema => catalog.schemas().get(oid).map(|found| Object::Schema(found)),
        PrivilegedKind::Database => catalog.database(oid).map(|found| Object::Database(found)),
        PrivilegedKind::Routine => names.routines().get(oid).map(|found| Object::Routine(found)),
        PrivilegedKind::Type => match array_of(oid).and_then(|oid| catalog.enums().get(oid)) {
            Some(found) => Some(Object::Enum(found)),
            None => {
                let row = relation_of_row_type(oid).map(|(relation, _)| relation);
                let composite = row.and_then(|relation| catalog.names().composites().get(relation));
                let domain = catalog.domains().get(oid).map(|found| Object::Domain(found));
                domain.or_else(|| composite.map(|found| Object::Composite(found)))
            }
        },
    };
    Ok(wanted.into_iter().any(|(name, with_grant)| match object {
        None => rights.is_superuser(role) || (name != "CREATE" && !with_grant),
        Some(object) if with_grant => rights.may_grant(role, object, name),
        Some(object) => rights.has(role, object, name),
    }))
}

/// A privilege that such an object can have, and whether the right to grant it is asked for.
fn parse(kind: PrivilegedKind, word: &str) -> Result<(&'static str, bool)> {
    let upper = word.trim().to_uppercase();
    let (plain, with_grant) = match upper.strip_suffix(" WITH GRANT OPTION") {
        Some(plain) => (plain.trim_end(), true),
        None => (upper.as_str(), false),
    };
    let known: &[&'static str] = match kind {
        PrivilegedKind::Schema => &["CREATE", "USAGE"],
        PrivilegedKind::Database => &["CREATE", "CONNECT", "TEMPORARY"],
        PrivilegedKind::Routine => &["EXECUTE"],
        PrivilegedKind::Type => &["USAGE"],
    };
    let plain = match (kind, plain) {
        (PrivilegedKind::Database, "TEMP") => "TEMPORARY",
        (_, plain) => plain,
    };
    match known.iter().find(|name| **name == plain) {
        Some(name) => Ok((name, with_grant)),
        None => {
            let message = format!("unrecognized privilege type: \"{}\"", word.trim());
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
    }
}

/// Whether the catalog has such an object, or the server comes with one of that number.
pub(super) fn exists(catalog: &Catalog, kind: PrivilegedKind, oid: u32) -> bool {
    match kind {
        PrivilegedKind::Schema => {
            virtual_schema_name(oid).is_some() || catalog.schemas().get(oid).is_some()
        }
        PrivilegedKind::Database => catalog.database(oid).is_some(),
        // Their numbers were found by name, or are those of what comes with the server.
        PrivilegedKind::Routine | PrivilegedKind::Type => true,
    }
}

/// The numbers and names of a relation's columns.
pub(super) fn columns(relation: &Relation) -> Vec<(ColumnId, String)> {
    match relation {
        Relation::Table(table) => {
            table.visible_columns().map(|column| (column.id, column.name.clone())).collect()
        }
        Relation::View(view) => {
            (1..).zip(view.columns.iter().map(|(name, _)| name.clone())).collect()
        }
        Relation::Virtual(table) => {
            (1..).zip(table.columns.iter().map(|(name, _)| (*name).to_owned())).collect()
        }
        Relation::Sequence(_) | Relation::Index(..) | Relation::Composite(_) => Vec::new(),
    }
}

/// Whether a role has a privilege on a column, or, without one, on any; `None` if there is no such
/// column.
pub(super) fn has_on_column(
    catalog: &Catalog,
    role: Id,
    (relation, column): (&Relation, Option<i16>),
    privilege: &str,
) -> Option<bool> {
    let (object, privileges) = (Object::from(relation), catalog.privileges());
    let number = column.map(|column| ColumnId::try_from(column).unwrap_or(0));
    if number.is_some_and(|number| !columns(relation).iter().any(|(id, _)| *id == number)) {
        return None;
    }
    if let Some(privilege) = privilege.strip_suffix(" WITH GRANT OPTION") {
        return Some(privileges.may_grant_on_column(role, (object, number), privilege));
    }
    Some(match number {
        Some(number) => privileges.has_on_column(role, object, number, privilege),
        None => privileges.has_on_some_column(role, object, privilege),
    })
}
