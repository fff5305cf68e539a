//! GRANT and REVOKE of privileges.

use braid_catalog::{
    ColumnId, Composite, Database, Domain, Enum, Grant, Id, Object, PUBLIC, Relation, Routine,
    Schema, Sequence, Table, View,
};
use braid_sql::ast::{
    GrantObjects, GrantPrivileges, Grantee, ObjectName, Privilege, PrivilegeGrant,
};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{content, last, parts, undefined, undefined_column, wrong_kind};
use crate::names::user_types::{UserType, find_domain, find_user_type};
use crate::roles::role::grantee;
use crate::statement::routine::find_to_grant;

/// An object whose grants change.
enum Target {
    Relation(Relation),
    Schema(Schema),
    Database(Database),
    Enum(Enum),
    Domain(Domain),
    Routine(Routine),
}

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

impl Target {
    fn object(&self) -> Object<'_> {
        match self {
            Target::Relation(relation) => Object::from(relation),
            Target::Schema(schema) => Object::Schema(schema),
            Target::Database(database) => Object::Database(database),
            Target::Enum(found) => Object::Enum(found),
            Target::Domain(found) => Object::Domain(found),
            Target::Routine(found) => Object::Routine(found),
        }
    }
}

fn relations(cx: &DdlContext<'_>, names: &[ObjectName], sequences: bool) -> Result<Vec<Target>> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match cx.find(name)? {
            Some(relation @ Relation::Sequence(_)) => found.push(Target::Relation(relation)),
            Some(other) if sequences => return Err(wrong_kind(other.name(), "sequence")),
            Some(found @ Relation::Composite(_)) => {
                let message = format!("\"{}\" is a composite type", found.name());
                return Err(Error::new(SqlState::WrongObjectType, message));
            }
            Some(index @ Relation::Index(..)) => {
                let message = format!("\"{}\" is an index", index.name());
                return Err(Error::new(SqlState::WrongObjectType, message));
            }
            Some(relation) => found.push(Target::Relation(relation)),
            None => return Err(undefined("relation", &parts(name))),
        }
    }
    Ok(found)
}

fn in_schemas(cx: &DdlContext<'_>, names: &[ObjectName], sequences: bool) -> Result<Vec<Target>> {
    let mut found = Vec::new();
    for name in names {
        let schema = cx.schema(&last(name))?;
        let (tables, views, all_sequences) = content(&cx.catalog(), schema.id);
        if sequences {
            found
                .extend(all_sequences.into_iter().map(|s| Target::Relation(Relation::Sequence(s))));
        } else {
            found.extend(tables.into_iter().map(|t| Target::Relation(Relation::Table(t))));
            found.extend(views.into_iter().map(|v| Target::Relation(Relation::View(v))));
        }
    }
    Ok(found)
}

fn targets(cx: &DdlContext<'_>, objects: &GrantObjects) -> Result<Vec<Target>> {
    match objects {
        GrantObjects::Tables(names) => relations(cx, names, false),
        GrantObjects::Sequences(names) => relations(cx, names, true),
        GrantObjects::AllTablesInSchema(names) => in_schemas(cx, names, false),
        GrantObjects::AllSequencesInSchema(names) => in_schemas(cx, names, true),
        GrantObjects::Schemas(names) => names
            .iter()
            .map(|name| Ok(Target::Schema(Schema::clone(&*cx.schema(&last(name))?))))
            .collect(),
        GrantObjects::Databases(names) => names
            .iter()
            .map(|name| {
                let name = last(name);
                let found = cx.catalog().names().database(&name).cloned();
                let found = found.ok_or_else(|| {
                    let message = format!("database \"{name}\" does not exist");
                    Error::new(SqlState::InvalidCatalogName, message)
                })?;
                Ok(Target::Database(Database::clone(&found)))
            })
            .collect(),
        GrantObjects::Types(names) => names
            .iter()
            .map(|name| match find_user_type(cx, name)? {
                (UserType::Enum(found), false) => Ok(Target::Enum(Enum::clone(&found))),
                (UserType::Composite(found), _) => Ok(Target::Relation(Relation::Composite(found))),
                (UserType::Domain(found), _) => Ok(Target::Domain(Domain::clone(&found))),
                _ => {
                    let message = "cannot set privileges of array types";
                    Err(Error::new(SqlState::InvalidGrantOperation, message)
                        .hint("Set the privileges of the element type instead."))
                }
            })
            .collect(),
        GrantObjects::Domains(names) => names
            .iter()
            .map(|name| Ok(Target::Domain(Domain::clone(&*find_domain(cx, name)?))))
            .collect(),
        GrantObjects::Functions(names) => {
            let found = names.iter().map(|name| find_to_grant(cx, name));
            let found = found.collect::<Result<Vec<_>>>()?.into_iter().flatten();
            Ok(found.map(|found| Target::Routine(Routine::clone(&found))).collect())
        }
        // They are not in the catalog.
        GrantObjects::LargeObjects(_) | GrantObjects::Languages(_) => Ok(Vec::new()),
        GrantObjects::AllFunctionsInSchema(names) => {
            let mut found = Vec::new();
            for name in names {
                let (schema, catalog) = (cx.schema(&last(name))?, cx.catalog());
                let routines = catalog.names().routines().in_schema(schema.id);
                found.extend(routines.map(|found| Target::Routine(Routine::clone(found))));
            }
            Ok(found)
        }
    }
}

/// The names of the privileges; all that the object can have if none was named.
fn privileges(statement: &GrantPrivileges, object: Object<'_>) -> Result<Vec<String>> {
    let written = &statement.privileges;
    let whole: Vec<PrivilegeGrant> =
        written.iter().filter(|granted| granted.columns.is_empty()).cloned().collect();
    if whole.is_empty() && !written.is_empty() {
        return Ok(Vec::new());
    }
    let (kind, _) = object.describe();
    let kind = if kind == "view" { "table" } else { kind };
    names_of(&whole, object.all_privileges(), kind)
}

/// The privileges on single columns. 0LP01 for one that columns do not have.
fn column_privileges(
    statement: &GrantPrivileges,
    object: Object<'_>,
) -> Result<Vec<(ColumnId, String)>> {
    let mut found = Vec::new();
    for granted in statement.privileges.iter().filter(|granted| !granted.columns.is_empty()) {
        let privilege = name(granted.privilege);
        if !matches!(object, Object::Table(_) | Object::View(_)) {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        if !["SELECT", "INSERT", "UPDATE", "REFERENCES"].contains(&privilege) {
            let message = format!("invalid privilege type {privilege} for column");
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        for column in &granted.columns {
            let column = fold(column);
            let id = match object {
                Object::Table(table) => {
                    table.visible_columns().find(|found| found.name == column).map(|found| found.id)
                }
                Object::View(view) => {
                    let mut columns = (1..).zip(&view.columns);
                    columns.find(|(_, (name, _))| *name == column).map(|(id, _)| id)
                }
                _ => None,
            };
            let (_, relation) = object.describe();
            let id = id.ok_or_else(|| undefined_column(relation, &column))?;
            found.push((id, privilege.to_owned()));
        }
    }
    Ok(found)
}

/// The names of privileges; all of that kind of object if none was named.
pub(crate) fn names_of(
    written: &[PrivilegeGrant],
    all: &[&str],
    kind: &str,
) -> Result<Vec<String>> {
    if written.is_empty() {
        return Ok(all.iter().map(|name| (*name).to_owned()).collect());
    }
    let mut names = Vec::with_capacity(written.len());
    for granted in written {
        let name = name(granted.privilege);
        if !all.contains(&name) {
            let message = format!("invalid privilege type {name} for {kind}");
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        names.push(name.to_owned());
    }
    Ok(names)
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

/// 42501 unless the user owns the object or may grant all of these on.
pub(crate) fn check_may_grant(
    cx: &DdlContext<'_>,
    object: Object<'_>,
    names: &[String],
) -> Result<()> {
    let catalog = cx.catalog();
    let user = cx.user();
    let roles = catalog.privileges().memberships(user);
    let option = |name: &String| {
        object.grants().iter().any(|grant| {
            grant.grant_option && roles.contains(&grant.role) && grant.privileges.contains(name)
        })
    };
    if catalog.privileges().acts_as_owner(user, object) || names.iter().all(option) {
        return Ok(());
    }
    let (kind, name) = object.describe();
    let message = format!("permission denied for {kind} {name}");
    Err(Error::new(SqlState::InsufficientPrivilege, message))
}

pub(crate) fn grant(cx: &mut DdlContext<'_>, statement: &GrantPrivileges) -> Result<()> {
    each(cx, statement, false, Grant::add)
}

pub(crate) fn revoke(cx: &mut DdlContext<'_>, statement: &GrantPrivileges) -> Result<()> {
    each(cx, statement, true, Grant::take)
}

fn each(
    cx: &mut DdlContext<'_>,
    statement: &GrantPrivileges,
    revokes: bool,
    change: impl Fn(&mut Vec<Grant>, Id, &[String], bool),
) -> Result<()> {
    let roles = grantees(cx, &statement.grantees, statement.grant_option)?;
    for target in targets(cx, &statement.objects)? {
        let object = target.object();
        let names = privileges(statement, object)?;
        let of_columns = column_privileges(statement, object)?;
        let all: Vec<String> =
            names.iter().chain(of_columns.iter().map(|(_, name)| name)).cloned().collect();
        check_may_grant(cx, object, &all)?;
        let owner = object.owner();
        let mut grants = object.grants().to_vec();
        // An owner has every privilege anyway.
        let roles: Vec<Id> = roles.iter().filter(|role| **role != owner).copied().collect();
        if !names.is_empty() {
            roles.iter().for_each(|role| {
                change(&mut grants, *role, &names, statement.grant_option);
            });
        }
        let on_column = |column: ColumnId, grants: &mut Vec<Grant>| {
            let own = of_columns.iter().filter(|(of, _)| *of == column);
            let own = own.map(|(_, name)| name.clone());
            // What is revoked on the relation is revoked on its columns.
            let names: Vec<String> = match revokes {
                true => own.chain(names.iter().cloned()).collect(),
                false => own.collect(),
            };
            if !names.is_empty() {
                roles.iter().for_each(|role| {
                    change(grants, *role, &names, statement.grant_option);
                });
            }
        };
        put(cx, &target, grants, on_column)?;
    }
    Ok(())
}

fn put(
    cx: &mut DdlContext<'_>,
    target: &Target,
    grants: Vec<Grant>,
    on_column: impl Fn(ColumnId, &mut Vec<Grant>),
) -> Result<()> {
    let draft = cx.draft()?;
    match target {
        Target::Relation(Relation::Table(table)) => {
            let mut table = Table { grants, ..Table::clone(table) };
            for column in table.columns.iter_mut().filter(|column| !column.hidden) {
                on_column(column.id, &mut column.grants);
            }
            draft.put(table);
        }
        Target::Relation(Relation::View(view)) => {
            let mut view = View { grants, ..View::clone(view) };
            let columns = (1..).zip(&view.columns).map(|(column, _)| {
                let mut grants = Object::View(&view).column_grants(column).to_vec();
                on_column(column, &mut grants);
                (column, grants)
            });
            view.column_grants = columns.filter(|(_, grants)| !grants.is_empty()).collect();
            draft.put(view);
        }
        Target::Relation(Relation::Sequence(sequence)) => {
            draft.put(Sequence { grants, ..Sequence::clone(sequence) });
        }
        Target::Relation(Relation::Composite(found)) => {
            draft.put(Composite { grants, ..Composite::clone(found) });
        }
        Target::Relation(Relation::Virtual(_) | Relation::Index(..)) => {}
        Target::Schema(schema) => draft.put(Schema { grants, ..schema.clone() }),
        Target::Database(database) => draft.put(Database { grants, ..database.clone() }),
        Target::Enum(found) => draft.put(Enum { grants, ..found.clone() }),
        Target::Domain(found) => draft.put(Domain { grants, ..found.clone() }),
        Target::Routine(found) => draft.put(Routine { grants, ..found.clone() }),
    }
    Ok(())
}
