//! DROP of kinds that are not relations: functions, triggers, types, casts and others.
//!
//! What is missing is reported in PostgreSQL's words, as an error or, with IF EXISTS, as a NOTICE.
//! What is built in is needed by the system (2BP01).

use braid_catalog::Relation;
use braid_plan::built_in_type;
use braid_sql::ast::{
    ArrayElemTypeDef, DataType, DropOther, Ident, ObjectName, OtherObject, TimezoneInfo,
};
use braid_sql::fold;
use braid_types::collation::built_in_oid;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{lacks_schema, parts, skip, undefined};
use crate::names::types::sql_type;
use crate::names::user_types::{UserType, named_domain};
use crate::statement::drop::relations::find_to_drop;
use crate::statement::object::collation::drop_collation;
use crate::statement::object::statistics::drop_statistics;
use crate::statement::policy::drop_policy;
use crate::statement::routine::find_to_drop as find_routine;
use crate::statement::trigger::drop_trigger;
use crate::statement::types::composites::named_composite;
use crate::statement::types::drop_type::{drop_named, drop_routine};

pub(crate) async fn run(cx: &mut DdlContext<'_>, statement: &DropOther) -> Result<()> {
    for item in &statement.items {
        if let OtherObject::Routine(name) = item
            && let Some(found) = find_routine(cx, name)?
        {
            drop_routine(cx, &found, statement.behavior).await?;
            continue;
        }
        match named_type(cx, statement, item)? {
            Some((found, is_array)) => {
                drop_named(cx, (&found, is_array), statement.behavior).await?;
            }
            None => drop_one(cx, statement, item).await?,
        }
    }
    Ok(())
}

/// The type of users that DROP TYPE or DROP DOMAIN names, and whether the name is that of its
/// arrays' type. 42809 for an enum that DROP DOMAIN names.
fn named_type(
    cx: &DdlContext<'_>,
    statement: &DropOther,
    item: &OtherObject,
) -> Result<Option<(UserType, bool)>> {
    let OtherObject::Type(DataType::Custom(name, modifiers)) = item else { return Ok(None) };
    if !matches!(statement.tag, "DROP TYPE" | "DROP DOMAIN") || !modifiers.is_empty() {
        return Ok(None);
    }
    if let Some(found) = named_domain(cx, name)? {
        return Ok(Some((UserType::Domain(found), false)));
    }
    if let (Some(found), "DROP TYPE") = (named_composite(cx, name)?, statement.tag) {
        return Ok(Some((UserType::Composite(found), false)));
    }
    let catalog = cx.catalog();
    match catalog.enums().resolve(cx.path(), &parts(name))? {
        Some((found, _)) if statement.tag == "DROP DOMAIN" => {
            let message = format!("\"{}\" is not a domain", found.name);
            Err(Error::new(SqlState::WrongObjectType, message))
        }
        found => Ok(found.map(|(found, is_array)| (UserType::Enum(found.clone()), is_array))),
    }
}

async fn drop_one(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    item: &OtherObject,
) -> Result<()> {
    let kind = statement.kind;
    match item {
        OtherObject::Global(name) => global(cx, statement, &fold(name)),
        OtherObject::Named(name) => named(cx, statement, name).await,
        OtherObject::Type(data_type) => data_type_item(cx, statement, data_type),
        OtherObject::Routine(name) => routine(cx, statement, &name.name, name.arguments.as_deref()),
        OtherObject::OnTable { name, table } if kind == "trigger" => {
            drop_trigger(cx, statement, &fold(name), table)
        }
        OtherObject::OnTable { name, table } if kind == "policy" => {
            drop_policy(cx, statement, &fold(name), table)
        }
        OtherObject::OnTable { name, table } => on_table(cx, statement, &fold(name), table),
        OtherObject::Operator { schema, symbol, left, right } => {
            let name: Vec<String> = schema.iter().map(fold).chain([symbol.clone()]).collect();
            operator(cx, statement, &name, left.as_ref(), right)
        }
        OtherObject::OperatorClass { name, method } => {
            let method = fold(method);
            if !ACCESS_METHODS.contains(&method.as_str()) {
                let message = format!("access method \"{method}\" does not exist");
                return Err(Error::new(SqlState::UndefinedObject, message));
            }
            let name = parts(name);
            if lacks_schema(cx, &name, statement.if_exists)? {
                return Ok(());
            }
            let name = name.join(".");
            let message =
                format!("{kind} \"{name}\" does not exist for access method \"{method}\"");
            skip(cx, SqlState::UndefinedObject, message, statement.if_exists)
        }
        OtherObject::Cast { from, to } => cast(cx, statement, from, to),
        OtherObject::Transform { data_type, language } => {
            transform(cx, statement, data_type, &fold(language))
        }
        OtherObject::UserMapping { user, server } => user_mapping(cx, statement, user, server),
    }
}

/// The access methods that PostgreSQL knows.
const ACCESS_METHODS: &[&str] = &["btree", "hash", "gist", "gin", "spgist", "brin"];

/// 2BP01: an object that is built in.
fn required(what: &str) -> Error {
    let message = format!("cannot drop {what} because it is required by the database system");
    Error::new(SqlState::DependentObjectsStillExist, message)
}

/// What is named by one word.
fn global(cx: &mut DdlContext<'_>, statement: &DropOther, name: &str) -> Result<()> {
    let kind = statement.kind;
    match (kind, name) {
        ("language", "internal" | "c" | "sql") => {
            return Err(required(&format!("language {name}")));
        }
        ("access method", name) if name == "heap" || ACCESS_METHODS.contains(&name) => {
            return Err(required(&format!("access method {name}")));
        }
        ("tablespace", "pg_default" | "pg_global") => {
            let message = format!("permission denied for tablespace {name}");
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
        _ => {}
    }
    let message = format!("{kind} \"{name}\" does not exist");
    skip(cx, SqlState::UndefinedObject, message, statement.if_exists)
}

/// What is named in a schema.
async fn named(cx: &mut DdlContext<'_>, statement: &DropOther, name: &ObjectName) -> Result<()> {
    let (kind, if_exists) = (statement.kind, statement.if_exists);
    if kind == "foreign table" {
        return find_to_drop(cx, name, kind, if_exists).map(drop);
    }
    let written = parts(name);
    if lacks_schema(cx, &written, if_exists)? {
        return Ok(());
    }
    let shown = written.join(".");
    let last = written.last().map_or("", String::as_str);
    if kind == "collation" && drop_collation(cx, name, statement.behavior).await? {
        return Ok(());
    }
    if kind == "collation" && built_in_oid(last).is_some() {
        return Err(required(&format!("collation {}", braid_sql::quote_ident(last))));
    }
    if kind == "statistics object" && drop_statistics(cx, name)? {
        return Ok(());
    }
    let message = match kind {
        "collation" if !if_exists => {
            format!("collation \"{shown}\" for encoding \"UTF8\" does not exist")
        }
        _ => format!("{kind} \"{shown}\" does not exist"),
    };
    skip(cx, SqlState::UndefinedObject, message, if_exists)
}

/// The type, or `None` after a NOTICE that it or its schema is missing.
fn known_type(
    cx: &mut DdlContext<'_>,
    data_type: &DataType,
    if_exists: bool,
) -> Result<Option<SqlType>> {
    if let DataType::Custom(name, _) = data_type
        && lacks_schema(cx, &parts(name), if_exists)?
    {
        return Ok(None);
    }
    if let Ok(ty) = sql_type(cx, data_type) {
        return Ok(Some(ty));
    }
    let message = format!("type \"{}\" does not exist", type_text(data_type));
    skip(cx, SqlState::UndefinedObject, message, if_exists)?;
    Ok(None)
}

fn data_type_item(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    data_type: &DataType,
) -> Result<()> {
    let is_domain = statement.tag == "DROP DOMAIN";
    let no_domain = || {
        let message = format!("\"{}\" is not a domain", type_text(data_type));
        Err(Error::new(SqlState::WrongObjectType, message))
    };
    // A table's rows have a type of its name.
    if let DataType::Custom(name, modifiers) = data_type
        && modifiers.is_empty()
        && let Some(found @ (Relation::Table(_) | Relation::View(_))) = cx.find(name)?
    {
        if is_domain {
            return no_domain();
        }
        let (kind, name) = (found.kind(), found.name());
        let message = format!("cannot drop type {name} because {kind} {name} requires it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop {kind} {name} instead.")));
    }
    match known_type(cx, data_type, statement.if_exists)? {
        Some(_) if is_domain => no_domain(),
        Some(ty) => Err(required(&format!("type {}", ty.plain_name()))),
        None => Ok(()),
    }
}

fn routine(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    name: &ObjectName,
    arguments: Option<&[DataType]>,
) -> Result<()> {
    let (kind, if_exists) = (statement.kind, statement.if_exists);
    let written = parts(name);
    if lacks_schema(cx, &written, if_exists)? {
        return Ok(());
    }
    let mut types = Vec::new();
    for data_type in arguments.unwrap_or_default() {
        let Some(ty) = known_type(cx, data_type, if_exists)? else { return Ok(()) };
        types.push(ty);
    }
    refuse_built_in(kind, &written, arguments.map(|_| types.as_slice()))?;
    let shown = written.join(".");
    if if_exists {
        let texts: Vec<String> = arguments.unwrap_or_default().iter().map(type_text).collect();
        let message = format!("{kind} {shown}({}) does not exist", texts.join(","));
        return skip(cx, SqlState::UndefinedFunction, message, true);
    }
    let kind = if kind == "routine" { "function" } else { kind };
    let message = match arguments {
        None => format!("could not find a {kind} named \"{shown}\""),
        Some([]) if kind == "aggregate" => format!("aggregate {shown}(*) does not exist"),
        Some(_) => {
            let names: Vec<&str> = types.iter().map(SqlType::plain_name).collect();
            format!("{kind} {shown}({}) does not exist", names.join(", "))
        }
    };
    Err(Error::new(SqlState::UndefinedFunction, message))
}

/// 2BP01 for a function that is built in, 42725 if its name alone does not say which one is meant.
fn refuse_built_in(kind: &str, name: &[String], types: Option<&[SqlType]>) -> Result<()> {
    let last = match name {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => return Ok(()),
    };
    let fits = |procedure: &&braid_builtins::Procedure| {
        let oids = || procedure.args.iter().map(braid_builtins::arg_oid);
        procedure.name == last
            && types.is_none_or(|types| oids().eq(types.iter().map(SqlType::oid)))
    };
    let mut found = braid_builtins::procedures().iter().filter(fits);
    let Some(first) = found.next() else { return Ok(()) };
    if types.is_none() && found.next().is_some() {
        let message = format!("{kind} name \"{last}\" is not unique");
        return Err(Error::new(SqlState::AmbiguousFunction, message)
            .hint(format!("Specify the argument list to select the {kind} unambiguously.")));
    }
    let signature = format!("{last}({})", first.arguments().replace(", ", ","));
    let wrong = |message: String| Err(Error::new(SqlState::WrongObjectType, message));
    match (kind, first.kind) {
        ("aggregate", 'f') => {
            wrong(format!("function {last}({}) is not an aggregate", first.arguments()))
        }
        ("procedure", _) => wrong(format!("{last}({}) is not a procedure", first.arguments())),
        ("function", 'a') => {
            let message = format!("\"{last}\" is an aggregate function");
            Err(Error::new(SqlState::WrongObjectType, message)
                .hint("Use DROP AGGREGATE to drop aggregate functions."))
        }
        _ => Err(required(&format!("function {signature}"))),
    }
}

fn on_table(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    name: &str,
    table: &ObjectName,
) -> Result<()> {
    let (kind, if_exists) = (statement.kind, statement.if_exists);
    let written = parts(table);
    let Some(found) = cx.find(table)? else {
        if lacks_schema(cx, &written, if_exists)? {
            return Ok(());
        }
        let error = undefined("relation", &written);
        return skip(cx, error.state(), error.message().to_owned(), if_exists);
    };
    let message = match (if_exists, kind) {
        (true, _) => {
            let table = written.join(".");
            format!("{kind} \"{name}\" for relation \"{table}\" does not exist")
        }
        (false, "rule") => {
            format!("rule \"{name}\" for relation \"{}\" does not exist", found.name())
        }
        (false, _) => format!("{kind} \"{name}\" for table \"{}\" does not exist", found.name()),
    };
    skip(cx, SqlState::UndefinedObject, message, if_exists)
}

fn operator(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    name: &[String],
    left: Option<&DataType>,
    right: &DataType,
) -> Result<()> {
    let if_exists = statement.if_exists;
    if lacks_schema(cx, name, if_exists)? {
        return Ok(());
    }
    let left_type = match left {
        Some(left) => match known_type(cx, left, if_exists)? {
            Some(ty) => Some(ty),
            None => return Ok(()),
        },
        None => None,
    };
    let Some(right_type) = known_type(cx, right, if_exists)? else { return Ok(()) };
    let shown = name.join(".");
    let left_name = left_type.as_ref().map(SqlType::plain_name);
    let right_name = right_type.plain_name();
    let symbol = name.last().map_or("", String::as_str);
    let found = braid_builtins::resolve_operator(symbol, left_type.as_ref(), &right_type);
    let wanted: Vec<&SqlType> = left_type.iter().chain([&right_type]).collect();
    if found.is_ok_and(|found| found.arg_types.iter().eq(wanted)) {
        let left = left_name.unwrap_or("NONE");
        return Err(required(&format!("operator {symbol}({left},{right_name})")));
    }
    if if_exists {
        let message = format!("operator {shown} does not exist");
        return skip(cx, SqlState::UndefinedFunction, message, true);
    }
    let operands = match left_name {
        Some(left) => format!("{left} {shown} {right_name}"),
        None => format!("{shown} {right_name}"),
    };
    let message = format!("operator does not exist: {operands}");
    Err(Error::new(SqlState::UndefinedFunction, message))
}

fn cast(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    from: &DataType,
    to: &DataType,
) -> Result<()> {
    let if_exists = statement.if_exists;
    let Some(source) = known_type(cx, from, if_exists)? else { return Ok(()) };
    let Some(target) = known_type(cx, to, if_exists)? else { return Ok(()) };
    let (source_name, target_name) = (source.plain_name(), target.plain_name());
    if source != target && braid_types::cast::context(&source, &target).is_some() {
        return Err(required(&format!("cast from {source_name} to {target_name}")));
    }
    let message = if if_exists {
        let (from, to) = (type_text(from), type_text(to));
        format!("cast from type {from} to type {to} does not exist")
    } else {
        format!("cast from type {source_name} to type {target_name} does not exist")
    };
    skip(cx, SqlState::UndefinedObject, message, if_exists)
}

fn transform(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    data_type: &DataType,
    language: &str,
) -> Result<()> {
    let if_exists = statement.if_exists;
    let Some(ty) = known_type(cx, data_type, if_exists)? else { return Ok(()) };
    if !if_exists && !matches!(language, "sql" | "c" | "internal" | "plpgsql") {
        let message = format!("language \"{language}\" does not exist");
        return Err(Error::new(SqlState::UndefinedObject, message));
    }
    let name = if if_exists { type_text(data_type) } else { ty.plain_name().to_owned() };
    let message = format!("transform for type {name} language \"{language}\" does not exist");
    skip(cx, SqlState::UndefinedObject, message, if_exists)
}

fn user_mapping(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    user: &Ident,
    server: &Ident,
) -> Result<()> {
    let user = cx.role_name(user);
    let is_known = matches!(user.as_str(), "public" | "user");
    let message = if !is_known && cx.catalog().names().role(&user).is_none() {
        format!("role \"{user}\" does not exist")
    } else {
        format!("server \"{}\" does not exist", fold(server))
    };
    skip(cx, SqlState::UndefinedObject, message, statement.if_exists)
}

/// A type as PostgreSQL's notices write it: as it was written, but a type that the grammar has a
/// word for is shown as the type of `pg_catalog` that it means.
fn type_text(data_type: &DataType) -> String {
    use DataType as D;
    match data_type {
        D::Custom(name, _) => parts(name).join("."),
        D::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
        ) => format!("{}[]", type_text(element)),
        D::Boolean
        | D::SmallInt(_)
        | D::Int(_)
        | D::Integer(_)
        | D::BigInt(_)
        | D::Real
        | D::Float(_)
        | D::Double(_)
        | D::DoublePrecision
        | D::Numeric(_)
        | D::Decimal(_)
        | D::Dec(_)
        | D::Varchar(_)
        | D::CharacterVarying(_)
        | D::CharVarying(_)
        | D::Char(_)
        | D::Character(_)
        | D::Interval { .. }
        | D::Bit(_)
        | D::BitVarying(_)
        | D::Time(_, TimezoneInfo::None | TimezoneInfo::WithTimeZone)
        | D::Time(_, TimezoneInfo::WithoutTimeZone)
        | D::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithTimeZone)
        | D::Timestamp(_, TimezoneInfo::WithoutTimeZone) => match built_in_type(data_type) {
            Ok(ty) => format!("pg_catalog.{}", ty.short_name()),
            Err(_) => format!("pg_catalog.{}", as_written(data_type)),
        },
        other => as_written(other),
    }
}

/// A type's name without its modifiers.
fn as_written(data_type: &DataType) -> String {
    let text = data_type.to_string().to_lowercase();
    text.split('(').next().unwrap_or_default().trim().to_owned()
}
