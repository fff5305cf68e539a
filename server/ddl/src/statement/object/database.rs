//! CREATE, ALTER and DROP DATABASE.

use std::time::{Duration, Instant};

use braid_catalog::{
    Database, DatabaseSetting, Id, Object, Owned, PUBLIC, Schema, TEMPLATE_DATABASE,
};
use braid_sql::ast::{
    AlterDatabase, CreateDatabase, Drop, ObjectName, RenameKind, Reset, SettingChange,
};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::last;
use crate::names::owner::{check_new_owner, schema_content};
use crate::names::settings::{shown_name, stored_value};
use crate::roles::role::check_may_change;
use crate::statement::drop::schema::drop_schema;

/// Databases that PostgreSQL has from the start.
const TEMPLATES: [&str; 2] = ["template0", "template1"];

fn may_create(cx: &DdlContext<'_>) -> bool {
    let catalog = cx.catalog();
    let role = catalog.role(cx.user());
    role.is_some_and(|role| role.superuser || role.create_db)
}

fn check_name(cx: &DdlContext<'_>, name: &str) -> Result<()> {
    if cx.catalog().names().database(name).is_some() || TEMPLATES.contains(&name) {
        let message = format!("database \"{name}\" already exists");
        return Err(Error::new(SqlState::DuplicateDatabase, message));
    }
    Ok(())
}

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateDatabase) -> Result<()> {
    if !may_create(cx) {
        let message = "permission denied to create database";
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    let name = fold(&create.name);
    let mut owner = cx.user();
    for (option, value) in &create.options {
        match option.as_str() {
            "owner" => {
                let role = cx.catalog().names().role(value).map(|role| role.id);
                owner = role.ok_or_else(|| {
                    let message = format!("role \"{value}\" does not exist");
                    Error::new(SqlState::UndefinedObject, message)
                })?;
                check_new_owner(cx, owner)?;
            }
            "template" => check_template(cx, value)?,
            "encoding"
                if !matches!(value.to_lowercase().as_str(), "utf8" | "utf-8" | "default") =>
            {
                return Err(Error::unsupported(format_args!("encoding {value}")));
            }
            _ => {}
        }
    }
    if create.if_not_exists && cx.catalog().names().database(&name).is_some() {
        let message = format!("database \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateDatabase, message);
        return Ok(());
    }
    check_name(cx, &name)?;
    let id = cx.draft()?.allocate_id(0);
    let public = cx.draft()?.allocate_id(0);
    let mut made = Database {
        id,
        name,
        owner,
        grants: Database::first_grants(),
        settings: Vec::new(),
        default_privileges: Vec::new(),
        extensions: Vec::new(),
        connection_limit: None,
        refuses_connections: false,
        is_template: false,
        comment: None,
    };
    let is_kept =
        |option: &str| matches!(option, "connection limit" | "allow_connections" | "is_template");
    for (option, value) in create.options.iter().filter(|(option, _)| is_kept(option)) {
        set_option(&mut made, option, value, false)?;
    }
    cx.draft()?.put(made);
    cx.draft()?.put(Schema::public(public, id));
    Ok(())
}

/// CONNECTION LIMIT, ALLOW_CONNECTIONS and IS_TEMPLATE. `is_own`: it is the session's database.
fn set_option(database: &mut Database, option: &str, value: &str, is_own: bool) -> Result<()> {
    let flag = || match value.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => {
            let message = format!("{option} requires a Boolean value");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    };
    match option {
        "is_template" => database.is_template = flag()?,
        "allow_connections" => {
            let allows = flag()?;
            if !allows && is_own {
                let message = "cannot disallow connections for current database";
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
            database.refuses_connections = !allows;
        }
        "connection limit" | "connection_limit" => {
            let limit = value.parse().ok().filter(|limit| *limit >= -1);
            let limit: i32 = limit.ok_or_else(|| {
                let message = format!("invalid connection limit: {value}");
                Error::new(SqlState::InvalidParameterValue, message)
            })?;
            database.connection_limit = Some(limit).filter(|limit| *limit >= 0);
        }
        _ => {
            let message = format!("option \"{option}\" not recognized");
            return Err(Error::new(SqlState::SyntaxError, message));
        }
    }
    Ok(())
}

/// Refuses a template that is not there, or that has something to copy.
fn check_template(cx: &DdlContext<'_>, name: &str) -> Result<()> {
    if TEMPLATES.contains(&name) || name == "default" {
        return Ok(());
    }
    let catalog = cx.catalog();
    let Some(template) = catalog.names().database(name) else {
        let message = format!("template database \"{name}\" does not exist");
        return Err(Error::new(SqlState::InvalidCatalogName, message));
    };
    let mut schemas = catalog.schemas().in_database(template.id);
    if schemas
        .any(|schema| schema.name != "public" || !schema_content(&catalog, schema.id).is_empty())
    {
        let refused = Error::unsupported("CREATE DATABASE from a template that is not empty");
        return Err(refused.hint(format!(
            "Create an empty database, and restore a dump of \"{name}\" into it with pg_dump and \
             psql."
        )));
    }
    Ok(())
}

fn find(cx: &DdlContext<'_>, name: &str) -> Result<Database> {
    let found = cx.catalog().names().database(name).map(|found| Database::clone(found));
    found.ok_or_else(|| {
        let message = format!("database \"{name}\" does not exist");
        Error::new(SqlState::InvalidCatalogName, message)
    })
}

/// How long DROP DATABASE waits for sessions that are about to leave.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// The pause between two looks at the sessions.
const LEAVE_POLL: Duration = Duration::from_millis(10);

/// The sessions in a database.
fn sessions_in(cx: &DdlContext<'_>, database: &Database) -> Vec<i32> {
    let sessions = cx.exec.runtime.sessions();
    let inside = sessions.iter().filter(|session| session.database == database.name);
    inside.map(|session| session.pid).collect()
}

/// Waits until no session is in the database; 55006 if some stay. FORCE ends them first. Those of
/// the job that analyzes tables are ended in any case.
///
/// A client that has just closed its connection may still be listed, so the first look is not
/// the last one.
async fn wait_until_unused(cx: &DdlContext<'_>, database: &Database, force: bool) -> Result<()> {
    let deadline = Instant::now() + LEAVE_WAIT;
    loop {
        let inside = sessions_in(cx, database);
        let prepared = cx.exec.runtime.prepared_transactions();
        let prepared = prepared.iter().filter(|(_, info)| info.database == database.id).count();
        if inside.is_empty() && prepared == 0 {
            return Ok(());
        }
        if force && prepared > 0 {
            let name = &database.name;
            let message = format!("database \"{name}\" is being used by prepared transactions");
            return Err(Error::new(SqlState::ObjectInUse, message).detail(users(0, prepared)));
        }
        cx.exec.runtime.end_analyzers(&database.name);
        if force {
            for pid in &inside {
                cx.exec.runtime.terminate_session(*pid)?;
            }
        }
        if Instant::now() >= deadline {
            return Err(still_in_use(database, inside.len(), prepared));
        }
        tokio::select! {
            () = tokio::time::sleep(LEAVE_POLL) => {}
            error = cx.exec.cancel.stopped() => return Err(error),
        }
    }
}

fn still_in_use(database: &Database, others: usize, prepared: usize) -> Error {
    let message = format!("database \"{}\" is being accessed by other users", database.name);
    Error::new(SqlState::ObjectInUse, message).detail(users(others, prepared))
}

/// Who uses a database, as a sentence.
fn users(others: usize, prepared: usize) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let sessions = format!("{others} other session{}", plural(others));
    let transactions = format!("{prepared} prepared transaction{}", plural(prepared));
    let (verb, who) = match (others, prepared) {
        (0, _) => (prepared == 1, transactions),
        (_, 0) => (others == 1, sessions),
        (_, _) => (false, format!("{sessions} and {transactions}")),
    };
    let verb = if verb { "is" } else { "are" };
    format!("There {verb} {who} using the database.")
}

pub(crate) async fn drop(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<()> {
    for name in &statement.names {
        let name = last(name);
        let database = match find(cx, &name) {
            Ok(database) => database,
            Err(error) if statement.if_exists => {
                cx.notice(SqlState::SuccessfulCompletion, format!("{}, skipping", error.message()));
                continue;
            }
            Err(error) => return Err(error),
        };
        cx.check_owner(Object::Database(&database))?;
        if database.id == cx.path().database {
            let message = "cannot drop the currently open database";
            return Err(Error::new(SqlState::ObjectInUse, message));
        }
        if database.id == TEMPLATE_DATABASE || database.is_template {
            let message = "cannot drop a template database";
            return Err(Error::new(SqlState::WrongObjectType, message));
        }
        wait_until_unused(cx, &database, statement.force).await?;
        let catalog = cx.catalog();
        let schemas: Vec<Id> =
            catalog.schemas().in_database(database.id).map(|schema| schema.id).collect();
        for schema in schemas {
            let inside = schema_content(&cx.catalog(), schema);
            drop_schema(cx, schema, &inside, false).await?;
        }
        cx.draft()?.remove(database.id);
    }
    Ok(())
}

/// ALTER DATABASE … SET and RESET, ALTER ROLE … IN DATABASE … SET and RESET.
pub(crate) fn set(cx: &mut DdlContext<'_>, alter: &AlterDatabase) -> Result<()> {
    let mut database = find(cx, &fold(&alter.database))?;
    let role = match &alter.role {
        Some(role) => {
            let role = cx.role(role)?;
            if role != cx.user() {
                check_may_change(cx, cx.catalog().role(role).map(|role| &**role))?;
            }
            role
        }
        None => {
            cx.check_owner(Object::Database(&database))?;
            PUBLIC
        }
    };
    let is_same = |setting: &DatabaseSetting, name: &str| {
        setting.role == role && setting.name.eq_ignore_ascii_case(name)
    };
    match &alter.change {
        SettingChange::Set(set) => {
            database.settings.retain(|setting| !is_same(setting, &set.name));
            if let Some(value) = stored_value(set) {
                let name = shown_name(&set.name);
                database.settings.push(DatabaseSetting { role, name, value });
            }
        }
        SettingChange::Options(options) => {
            let is_own = database.id == cx.path().database;
            for (option, value) in options {
                set_option(&mut database, option, value, is_own)?;
            }
        }
        SettingChange::Reset(Reset::Name(name)) => {
            database.settings.retain(|setting| !is_same(setting, name));
        }
        SettingChange::Reset(Reset::All) => {
            database.settings.retain(|setting| setting.role != role);
        }
    }
    cx.draft()?.put(database);
    Ok(())
}

pub(crate) fn rename(cx: &mut DdlContext<'_>, name: &ObjectName, kind: &RenameKind) -> Result<()> {
    let mut database = find(cx, &last(name))?;
    cx.check_owner(Object::Database(&database))?;
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            check_name(cx, &new)?;
            if database.id == cx.path().database {
                let message = "current database cannot be renamed";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            database.name = new;
        }
        RenameKind::OwnerTo(role) => {
            let owner = cx.role(role)?;
            check_new_owner(cx, owner)?;
            database.set_owner(owner);
        }
        _ => return Err(Error::unsupported("this form of ALTER DATABASE")),
    }
    cx.draft()?.put(database);
    Ok(())
}
