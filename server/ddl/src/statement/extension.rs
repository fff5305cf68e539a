//! CREATE, ALTER and DROP EXTENSION; ALTER LANGUAGE.
//!
//! The types and functions of extensions are built in, so creating one adds nothing to them. The
//! database keeps the schema, because dumps of PostgreSQL call the functions with it. Dropping an
//! extension forgets the schema again.

use braid_catalog::{
    Database, EXTENSIONS, Extension, ExtensionSchema, Id, PUBLIC, created_extensions,
    virtual_schema,
};
use braid_sql::ast::{CreateExtension, Drop, ExtensionStatement, GrantPrivileges, Ident};
use braid_sql::{fold, quote_ident};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{last, skip};
use crate::roles::grant::{check_grantor, grantees, names_of};

/// The languages that functions can be written in, and whether any user may use them.
const LANGUAGES: [(&str, bool); 4] =
    [("internal", false), ("c", false), ("sql", true), ("plpgsql", true)];

/// Carries out a statement; returns its command tag.
pub(crate) fn run(cx: &mut DdlContext<'_>, statement: &ExtensionStatement) -> Result<&'static str> {
    match statement {
        ExtensionStatement::Create(statement) => {
            create(cx, statement)?;
            Ok("CREATE EXTENSION")
        }
        ExtensionStatement::Update { name, version } => {
            update(cx, &fold(name), version.as_deref())?;
            Ok("ALTER EXTENSION")
        }
        ExtensionStatement::SetSchema { name, schema } => {
            set_schema(cx, &fold(name), schema)?;
            Ok("ALTER EXTENSION")
        }
        ExtensionStatement::LanguageOwner { language, owner } => {
            check_language(&fold(language))?;
            cx.role(owner)?;
            Ok("ALTER LANGUAGE")
        }
    }
}

/// 42704 unless there is such a language; returns whether any user may use it.
pub(crate) fn check_language(name: &str) -> Result<bool> {
    let found = LANGUAGES.iter().find(|(known, _)| *known == name);
    found.map(|(_, is_trusted)| *is_trusted).ok_or_else(|| {
        Error::new(SqlState::UndefinedObject, format!("language \"{name}\" does not exist"))
    })
}

/// `GRANT … ON LANGUAGE`, or REVOKE. Every user may use the trusted languages here, so a grant
/// adds nothing. What would take that away is 0A000.
pub(crate) fn grant(
    cx: &DdlContext<'_>,
    statement: &GrantPrivileges,
    languages: &[Ident],
    revokes: bool,
) -> Result<()> {
    check_grantor(cx, statement.granted_by.as_ref())?;
    let roles = grantees(cx, &statement.grantees, statement.grant_option)?;
    for language in languages {
        let name = fold(language);
        if !check_language(&name)? {
            let message = format!("language \"{name}\" is not trusted");
            return Err(Error::new(SqlState::WrongObjectType, message)
                .detail("GRANT and REVOKE are not allowed on untrusted languages."));
        }
        if statement.privileges.iter().any(|granted| !granted.columns.is_empty()) {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        names_of(&statement.privileges, Some(&["USAGE"]), "language")?;
        if !cx.catalog().role(cx.user()).is_some_and(|role| role.superuser) {
            let message = format!("permission denied for language {name}");
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
    }
    if revokes && roles.contains(&PUBLIC) {
        return Err(Error::unsupported("REVOKE of a language from PUBLIC"));
    }
    Ok(())
}

fn own_database(cx: &DdlContext<'_>) -> Result<Database> {
    let id = cx.path().database;
    let found = cx.catalog().database(id).map(|database| Database::clone(database));
    found.ok_or_else(|| Error::internal(format!("there is no database {id}")))
}

/// An extension of that name; 42704 if there is none.
fn known(name: &str) -> Result<&'static Extension> {
    Extension::named(name).ok_or_else(|| undefined(name))
}

fn undefined(name: &str) -> Error {
    Error::new(SqlState::UndefinedObject, format!("extension \"{name}\" does not exist"))
}

fn is_created(database: &Database, extension: &Extension) -> bool {
    let mut created = database.extensions.iter();
    extension.is_preinstalled() || created.any(|own| own.name == extension.name)
}

/// The schema that an extension goes to: the one that is named, or the first of the search path.
fn schema_of(cx: &DdlContext<'_>, name: &str, schema: Option<&Ident>) -> Result<Id> {
    let Some(schema) = schema.map(fold) else {
        let (catalog, name) = (cx.catalog(), [name.to_owned()]);
        return Ok(catalog.names().creation_target(cx.path(), &name)?.0);
    };
    match virtual_schema(&schema) {
        Some(oid) => Ok(oid),
        None => Ok(cx.schema(&schema)?.id),
    }
}

fn create(cx: &mut DdlContext<'_>, create: &CreateExtension) -> Result<()> {
    let name = fold(&create.name);
    let Some(extension) = Extension::named(&name) else {
        let message = format!("extension \"{name}\" is not available");
        let names: Vec<&str> = EXTENSIONS.iter().map(|known| known.name).collect();
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .hint(format!("These are built in: {}.", names.join(", "))));
    };
    let mut database = own_database(cx)?;
    if is_created(&database, extension) {
        let message = format!("extension \"{name}\" already exists");
        if !create.if_not_exists {
            return Err(Error::new(SqlState::DuplicateObject, message));
        }
        cx.notice(SqlState::DuplicateObject, format!("{message}, skipping"));
        return Ok(());
    }
    let schema = schema_of(cx, &name, create.schema.as_ref())?;
    database.extensions.push(ExtensionSchema { name, schema });
    cx.draft()?.put(database);
    Ok(())
}

fn update(cx: &mut DdlContext<'_>, name: &str, version: Option<&str>) -> Result<()> {
    let own = known(name)?.version;
    match version {
        Some(version) if version != own => {
            let message = format!(
                "extension \"{name}\" has no update path from version \"{own}\" to version \
                 \"{version}\""
            );
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
        _ => {
            let message = format!("version \"{own}\" of extension \"{name}\" is already installed");
            cx.notice(SqlState::SuccessfulCompletion, message);
            Ok(())
        }
    }
}

fn set_schema(cx: &mut DdlContext<'_>, name: &str, schema: &Ident) -> Result<()> {
    if known(name)?.is_preinstalled() {
        let message = format!("extension \"{name}\" does not support SET SCHEMA");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let schema = schema_of(cx, name, Some(schema))?;
    let mut database = own_database(cx)?;
    match database.extensions.iter_mut().find(|own| own.name == name) {
        Some(own) => own.schema = schema,
        None => return Err(undefined(name)),
    }
    cx.draft()?.put(database);
    Ok(())
}

/// DROP EXTENSION forgets the schema. What uses the types and functions stays as it is.
pub(crate) fn drop(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<()> {
    let mut database = own_database(cx)?;
    for name in statement.names.iter().map(last) {
        match database.extensions.iter().position(|own| own.name == name) {
            Some(place) => {
                database.extensions.remove(place);
            }
            None => {
                let message = undefined(&name).message().to_owned();
                skip(cx, SqlState::UndefinedObject, message, statement.if_exists)?;
            }
        }
    }
    cx.draft()?.put(database);
    Ok(())
}

/// The extensions in a schema, as messages list them.
pub(crate) fn in_schema(cx: &DdlContext<'_>, schema: Id) -> Vec<String> {
    let catalog = cx.catalog();
    let created = created_extensions(&catalog, cx.path().database).iter();
    let inside = created.filter(|own| own.schema == schema);
    inside.map(|own| format!("extension {}", quote_ident(&own.name))).collect()
}

/// Forgets the extensions in a schema that is dropped.
pub(crate) fn forget_schema(cx: &mut DdlContext<'_>, schema: Id) -> Result<()> {
    let mut database = own_database(cx)?;
    let before = database.extensions.len();
    database.extensions.retain(|own| own.schema != schema);
    if database.extensions.len() != before {
        cx.draft()?.put(database);
    }
    Ok(())
}
