//! `CREATE` chooses its object; views, schemas, databases, extensions.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::create_index::parse_create_index;
use super::create_table::parse_create_table;
use super::domains::parse_create_domain;
use super::roles::grant::parse_grant;
use super::roles::policies::parse_create_policy;
use super::roles::users::parse_create_user;
use super::sequence::parse_create_sequence;
use super::statistics::parse_create_statistics;
use super::types::{parse_create_collation, parse_create_type};
use crate::ast::{
    CheckOption, CreateDatabase, CreateExtension, CreateSchema, CreateView, Cte, CteBody,
    ExtensionStatement, Ident, ObjectName, Query, RefreshView, Span, Statement, ViewOptions, With,
};
use crate::parser::Cursor;
use crate::parser::clauses::{
    Options, Temporary, parse_options, parse_tablespace, parse_with_data, redundant_options,
};
use crate::parser::embedded::next_query;
use crate::parser::names::{
    parse_columns, parse_ident, parse_label, parse_object_name, parse_role_name, take_if_not_exists,
};
use crate::parser::routine::{parse_create_aggregate, parse_create_routine, parse_create_trigger};
use crate::parser::row_statement::{alias, plain_with, refuse_into};
use crate::parser::session::set::parse_setting_value;
use crate::rewrite::words::position;

/// `CREATE …`.
pub(crate) fn parse_create(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let or_replace = cursor.take_all(&["or", "replace"]);
    if !or_replace && cursor.take("unique") {
        cursor.expect("index")?;
        return parse_create_index(cursor, true);
    }
    let temporary = parse_temporary(cursor)?;
    let is_temporary = temporary != Temporary::No;
    let Some(word) = cursor.peek_word() else {
        return Err(cursor.unexpected());
    };
    match word {
        "function" | "procedure" if !is_temporary => parse_create_routine(cursor, or_replace),
        "aggregate" if !is_temporary => parse_create_aggregate(cursor, or_replace),
        "trigger" | "constraint" if !is_temporary => parse_create_trigger(cursor, or_replace),
        "policy" if !or_replace && !is_temporary => parse_create_policy(cursor),
        "view" | "recursive" | "materialized" => parse_create_view(cursor, or_replace, temporary),
        "table" if !or_replace => {
            cursor.advance();
            parse_create_table(cursor, temporary, false)
        }
        "unlogged" if !or_replace && !is_temporary => {
            cursor.advance();
            if cursor.take("sequence") {
                return parse_create_sequence(cursor, Temporary::No, true);
            }
            cursor.expect("table")?;
            parse_create_table(cursor, Temporary::No, true)
        }
        "sequence" if !or_replace => {
            cursor.advance();
            parse_create_sequence(cursor, temporary, false)
        }
        _ if is_temporary => Err(cursor.unexpected()),
        "index" if !or_replace => {
            cursor.advance();
            parse_create_index(cursor, false)
        }
        "schema" if !or_replace => parse_create_schema(cursor),
        "type" if !or_replace => parse_create_type(cursor),
        "domain" if !or_replace => parse_create_domain(cursor),
        "collation" if !or_replace => parse_create_collation(cursor),
        "statistics" if !or_replace => parse_create_statistics(cursor),
        "database" if !or_replace => parse_create_database(cursor),
        "extension" if !or_replace => parse_create_extension(cursor),
        "language" | "trusted" | "procedural" => parse_create_language(cursor, or_replace),
        "user" | "role" | "group" if !or_replace => parse_create_user(cursor),
        _ => parse_create_unsupported(cursor),
    }
}

/// `[LOCAL | GLOBAL] {TEMPORARY | TEMP}`.
fn parse_temporary(cursor: &mut Cursor<'_>) -> Result<Temporary> {
    let scope = cursor.take_one(&["local", "global"]);
    match (cursor.take("temporary") || cursor.take("temp"), scope) {
        (true, Some(1)) => Ok(Temporary::Global),
        (true, _) => Ok(Temporary::Local),
        (false, None) => Ok(Temporary::No),
        (false, Some(_)) => Err(cursor.unexpected()),
    }
}

/// Objects that PostgreSQL has and we do not.
fn parse_create_unsupported(cursor: &Cursor<'_>) -> Result<Statement> {
    let name = match cursor.peek_word() {
        Some(
            word @ ("rule" | "publication" | "subscription" | "tablespace" | "operator" | "cast"
            | "conversion" | "server" | "transform" | "domain"),
        ) => word.to_ascii_uppercase(),
        Some("foreign") => "FOREIGN TABLE".into(),
        Some("text") => "TEXT SEARCH".into(),
        Some("event") => "EVENT TRIGGER".into(),
        Some("access") => "ACCESS METHOD".into(),
        _ => return Err(cursor.unexpected()),
    };
    let error = cursor.unsupported(format!("CREATE {name}"));
    Err(match name.as_str() {
        "TEXT SEARCH" => error.hint("The configurations \"simple\" and \"english\" are built in."),
        _ => error,
    })
}

fn parse_create_view(
    cursor: &mut Cursor<'_>,
    or_replace: bool,
    temporary: Temporary,
) -> Result<Statement> {
    let recursive = cursor.take("recursive");
    let materialized = !recursive && cursor.take("materialized");
    cursor.expect("view")?;
    if materialized && (or_replace || temporary != Temporary::No) {
        return Err(cursor.unexpected());
    }
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_object_name(cursor)?;
    let has_columns = recursive || *cursor.peek() == Token::LParen;
    let mut columns = if has_columns { parse_columns(cursor)? } else { Vec::new() };
    if materialized && cursor.take("using") {
        parse_ident(cursor)?;
    }
    let mut options = ViewOptions::default();
    if cursor.take("with") {
        let written = parse_options(cursor)?;
        if !materialized {
            options = view_options(written)?;
        }
    }
    if materialized && cursor.take("tablespace") {
        parse_tablespace(cursor)?;
    }
    cursor.expect("as")?;
    let start = cursor.byte();
    let mut query = next_query(cursor)?;
    let refused = (SqlState::FeatureNotSupported, "views must not contain SELECT INTO");
    refuse_into(&mut query, refused)?;
    let mut query_text = start..cursor.byte_after();
    if recursive {
        query = recursive_query(&name, std::mem::take(&mut columns), query)?;
        // The text of the whole query stands nowhere.
        query_text = 0..0;
    }
    let with_no_data = materialized && parse_with_data(cursor)?;
    if !materialized && cursor.take("with") {
        options.check_option = match cursor.take_one(&["cascaded", "local"]) {
            Some(1) => Some(CheckOption::Local),
            _ => Some(CheckOption::Cascaded),
        };
        cursor.expect_all(&["check", "option"])?;
    }
    Ok(Statement::CreateView(Box::new(CreateView {
        name,
        columns,
        or_replace,
        if_not_exists,
        temporary: temporary != Temporary::No,
        global: temporary == Temporary::Global,
        materialized,
        recursive,
        query,
        query_text,
        options,
        with_no_data,
    })))
}

/// `(…)` of a view.
pub(super) fn view_options(options: Options) -> Result<ViewOptions> {
    let mut found = ViewOptions::default();
    let mut seen: Vec<String> = Vec::new();
    for (name, value) in options {
        if seen.contains(&name.value) {
            let message = format!("parameter \"{}\" specified more than once", name.value);
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        seen.push(name.value.clone());
        let value = value.map(|value| value.to_string().trim_matches('\'').to_lowercase());
        match (name.value.as_str(), value.as_deref()) {
            ("check_option", Some("local")) => found.check_option = Some(CheckOption::Local),
            ("check_option", Some("cascaded")) => found.check_option = Some(CheckOption::Cascaded),
            ("check_option", other) => {
                let message = format!(
                    "invalid value for enum option \"check_option\": {}",
                    other.unwrap_or("true")
                );
                return Err(Error::new(SqlState::InvalidParameterValue, message)
                    .detail("Valid values are \"local\" and \"cascaded\"."));
            }
            ("security_barrier", value) => found.barrier = Some(switch("security_barrier", value)?),
            ("security_invoker", value) => found.invoker = Some(switch("security_invoker", value)?),
            (other, _) => {
                let message = format!("unrecognized parameter \"{other}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        }
    }
    Ok(found)
}

/// The value of an option that is on or off; on without one.
fn switch(name: &str, value: Option<&str>) -> Result<bool> {
    match value {
        None | Some("true" | "on" | "yes" | "1" | "t" | "y") => Ok(true),
        Some("false" | "off" | "no" | "0" | "f" | "n") => Ok(false),
        Some(other) => {
            let message = format!("invalid value for boolean option \"{name}\": {other}");
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
    }
}

/// `REFRESH MATERIALIZED VIEW …`.
pub(crate) fn parse_refresh(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    cursor.expect_all(&["materialized", "view"])?;
    let concurrently = cursor.take("concurrently");
    let name = parse_object_name(cursor)?;
    let with_no_data = parse_with_data(cursor)?;
    Ok(Statement::RefreshView(RefreshView { name, concurrently, with_no_data }))
}

/// `WITH RECURSIVE v (columns) AS (query) SELECT columns FROM v`: what a recursive view shows.
fn recursive_query(
    name: &ObjectName,
    columns: Vec<Ident>,
    query: Box<Query>,
) -> Result<Box<Query>> {
    let view = name.0.last().and_then(|part| part.as_ident()).cloned();
    let view = view.unwrap_or_else(|| Ident::new(""));
    let quoted = |name: &Ident| crate::quote_ident(&crate::fold(name));
    let list: Vec<String> = columns.iter().map(quoted).collect();
    let text = format!("SELECT {} FROM {}", list.join(", "), quoted(&view));
    let parsed = Parser::new(&PostgreSqlDialect {}).try_with_sql(&text);
    let parsed = parsed.and_then(|mut parser| parser.parse_query());
    let mut outer = parsed.map_err(|error| Error::internal(error.to_string()))?;
    let (alias, body) = (alias(view, columns), CteBody::Query(query));
    let cte = Cte { alias, materialized: None, body, from: None };
    let ctes = vec![cte];
    outer.with = Some(plain_with(With { recursive: true, ctes, span: Span::empty() }));
    Ok(outer)
}

fn parse_create_schema(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = if cursor.is("authorization") { None } else { Some(parse_object_name(cursor)?) };
    let authorization =
        if cursor.take("authorization") { Some(parse_role_name(cursor)?) } else { None };
    let mut elements = Vec::new();
    while cursor.is("create") || cursor.is("grant") {
        if if_not_exists {
            let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
            return Err(Error::new(SqlState::FeatureNotSupported, message)
                .position(position(cursor.span())));
        }
        elements.push(parse_schema_element(cursor)?);
    }
    Ok(Statement::CreateSchema(CreateSchema { name, if_not_exists, authorization, elements }))
}

/// `CREATE …` or `GRANT …` in `CREATE SCHEMA`.
fn parse_schema_element(cursor: &mut Cursor<'_>) -> Result<Statement> {
    if cursor.is("grant") {
        return parse_grant(cursor);
    }
    let is_element = ["table", "unlogged", "view", "recursive", "sequence", "unique", "index"]
        .into_iter()
        .chain(["trigger", "constraint", "temporary", "temp", "local", "global", "or"])
        .any(|word| cursor.nth_is(1, word));
    if is_element {
        return parse_create(cursor);
    }
    cursor.advance();
    Err(cursor.unexpected())
}

/// `CONNECTION LIMIT 5` or `name [=] value` of a database.
pub(super) fn parse_database_option(cursor: &mut Cursor<'_>) -> Result<(String, String)> {
    let mut option = parse_label(cursor)?.value;
    if option == "connection" && cursor.take("limit") {
        option.push_str(" limit");
    }
    cursor.take_symbol(&Token::Eq);
    Ok((option, parse_setting_value(cursor)?))
}

fn parse_create_database(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_ident(cursor)?;
    cursor.take("with");
    let mut options = Vec::new();
    while !cursor.at_end() {
        options.push(parse_database_option(cursor)?);
    }
    Ok(Statement::CreateDatabase(CreateDatabase { name, if_not_exists, options }))
}

fn parse_create_extension(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_ident(cursor)?;
    cursor.take("with");
    let (mut schema, mut seen) = (None, Vec::new());
    loop {
        let place = crate::offset_of(cursor.span());
        let Some(option) = cursor.take_one(&["schema", "version", "cascade"]) else { break };
        if seen.contains(&option) {
            return Err(redundant_options(place));
        }
        seen.push(option);
        match option {
            0 => schema = Some(parse_ident(cursor)?),
            1 => {
                parse_setting_value(cursor)?;
            }
            _ => {}
        }
    }
    let create = CreateExtension { name, if_not_exists, schema };
    Ok(Statement::Extension(ExtensionStatement::Create(create)))
}

/// `CREATE LANGUAGE` without a handler means the extension of that name.
fn parse_create_language(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement> {
    cursor.take("trusted");
    cursor.take("procedural");
    cursor.expect("language")?;
    let name = parse_ident(cursor)?;
    if cursor.is("handler") {
        return Err(cursor.unsupported("CREATE LANGUAGE with a handler"));
    }
    let create = CreateExtension { name, if_not_exists: or_replace, schema: None };
    Ok(Statement::Extension(ExtensionStatement::Create(create)))
}
