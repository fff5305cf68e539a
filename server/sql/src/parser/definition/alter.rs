//! `ALTER` of tables, indexes, views, sequences, schemas and databases.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::constraints::{parse_key_column, parse_table_constraint};
use super::create_objects::{parse_database_option, view_options};
use super::create_table::{check_compression, parse_column_def, parse_identity_mode};
use super::domains::parse_alter_domain;
use super::partitions::parse_partition_action;
use super::roles::grant::parse_default_privileges;
use super::roles::policies::{parse_alter_policy, parse_row_security};
use super::roles::users::{parse_alter_user, parse_stored_setting};
use super::sequence::{parse_identity_options, parse_sequence_option, parse_sequence_options};
use super::statistics::parse_alter_statistics;
use super::types::parse_alter_type;
use crate::ast::{
    AlterAction, AlterColumnAction, AlterDatabase, AlterIndex, AlterIndexAction, AlterSequence,
    AlterTable, AlterTarget, AlterView, AlterViewAction, ColumnTuning, ExtensionStatement,
    IdentityMode, ObjectName, Rename, ReplicaIdentityClause, SettingChange, Statement,
};
use crate::parser::Cursor;
use crate::parser::clauses::{
    Options, parse_drop_behavior, parse_interleave, parse_options, parse_rename_kind,
    parse_tablespace,
};
use crate::parser::embedded::{next_data_type, next_expr};
use crate::parser::names::{
    parse_any_name, parse_ident, parse_integer, parse_label, parse_object_name,
    parse_object_number, parse_relation, parse_role_name, take_if_exists, take_if_not_exists,
};
use crate::parser::routine::{parse_alter_routine, parse_alter_trigger, parse_trigger_action};
use crate::parser::session::characteristics::ConstraintAttributes;
use crate::parser::session::set::parse_setting_value;

/// `ALTER …`.
pub(crate) fn parse_alter(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    match cursor.peek_word() {
        Some("table") => parse_alter_table(cursor),
        Some("user" | "role" | "group") => parse_alter_user(cursor),
        Some("index") => parse_alter_named(cursor, AlterTarget::Index),
        Some("view") => parse_alter_named(cursor, AlterTarget::View),
        Some("materialized") if cursor.nth_is(1, "view") => {
            cursor.advance();
            parse_alter_named(cursor, AlterTarget::MaterializedView)
        }
        Some("sequence") => parse_alter_named(cursor, AlterTarget::Sequence),
        Some("schema") => parse_alter_named(cursor, AlterTarget::Schema),
        Some("database") => parse_alter_named(cursor, AlterTarget::Database),
        Some("type") => parse_alter_type(cursor),
        Some("domain") => parse_alter_domain(cursor),
        Some("collation") => parse_alter_named(cursor, AlterTarget::Collation),
        Some("statistics") => parse_alter_statistics(cursor),
        Some("default") => parse_default_privileges(cursor),
        Some("function" | "procedure" | "routine" | "aggregate") => parse_alter_routine(cursor),
        Some("large") if cursor.nth_is(1, "object") => {
            cursor.take_all(&["large", "object"]);
            let object = parse_object_number(cursor)?;
            cursor.expect_all(&["owner", "to"])?;
            Ok(Statement::AlterLargeObject { object, owner: parse_role_name(cursor)? })
        }
        Some("trigger") => parse_alter_trigger(cursor),
        Some("policy") => parse_alter_policy(cursor),
        Some("extension") => parse_alter_extension(cursor),
        Some("language" | "procedural") => parse_alter_language(cursor),
        Some(
            word @ ("system" | "operator" | "publication" | "subscription" | "tablespace"
            | "server" | "foreign" | "event" | "text" | "rule"),
        ) => Err(cursor.unsupported(format!("ALTER {}", word.to_ascii_uppercase()))),
        _ => Err(cursor.unexpected()),
    }
}

/// `ALTER EXTENSION`: `UPDATE` and `SET SCHEMA`.
fn parse_alter_extension(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_ident(cursor)?;
    if cursor.take_all(&["set", "schema"]) {
        let schema = parse_ident(cursor)?;
        return Ok(Statement::Extension(ExtensionStatement::SetSchema { name, schema }));
    }
    if !cursor.take("update") {
        return Err(cursor.unsupported("this form of ALTER EXTENSION"));
    }
    let version = if cursor.take("to") { Some(parse_setting_value(cursor)?) } else { None };
    Ok(Statement::Extension(ExtensionStatement::Update { name, version }))
}

/// `ALTER [PROCEDURAL] LANGUAGE … OWNER TO`.
fn parse_alter_language(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.take("procedural");
    cursor.expect("language")?;
    let language = parse_ident(cursor)?;
    if cursor.is("rename") {
        return Err(cursor.unsupported("ALTER LANGUAGE … RENAME"));
    }
    cursor.expect_all(&["owner", "to"])?;
    let owner = parse_role_name(cursor)?;
    Ok(Statement::Extension(ExtensionStatement::LanguageOwner { language, owner }))
}

fn parse_alter_table(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_exists = take_if_exists(cursor);
    let only = cursor.take("only");
    let name = parse_relation(cursor, only)?;
    if let Some(kind) = parse_rename_kind(cursor, true)? {
        let target = AlterTarget::Table(name);
        return Ok(Statement::Rename(Rename { target, if_exists, kind }));
    }
    let actions = cursor.list(parse_alter_action)?;
    Ok(Statement::AlterTable(Box::new(AlterTable { name, if_exists, only, actions })))
}

/// What `ALTER INDEX` does, but for what is a [`Rename`].
fn parse_alter_index(cursor: &mut Cursor<'_>) -> Result<AlterIndexAction> {
    if let Some(action) = parse_alter_place(cursor)? {
        return Ok(match action {
            AlterAction::Interleave(clause) => AlterIndexAction::Interleave(clause),
            _ => AlterIndexAction::Uninterleave,
        });
    }
    if cursor.take_all(&["attach", "partition"]) {
        return Ok(AlterIndexAction::Attach(parse_object_name(cursor)?));
    }
    if cursor.take_all(&["set", "tablespace"]) {
        parse_tablespace(cursor)?;
        return Ok(AlterIndexAction::Options(true, Vec::new()));
    }
    if cursor.take("alter") {
        cursor.take("column");
        let number = parse_integer(cursor)?;
        cursor.expect_all(&["set", "statistics"])?;
        parse_setting_value(cursor)?;
        return Ok(AlterIndexAction::Statistics(number));
    }
    match cursor.take_one(&["set", "reset"]) {
        Some(which) if *cursor.peek() == Token::LParen => {
            Ok(AlterIndexAction::Options(which == 0, parse_options(cursor)?))
        }
        _ => Err(cursor.unexpected()),
    }
}

/// `ALTER INDEX`, `VIEW`, `SEQUENCE`, `SCHEMA` and `DATABASE`.
fn parse_alter_named(
    cursor: &mut Cursor<'_>,
    target: fn(ObjectName) -> AlterTarget,
) -> Result<Statement> {
    cursor.advance();
    let if_exists = take_if_exists(cursor);
    let target = target(parse_object_name(cursor)?);
    if let Some(kind) = parse_rename_kind(cursor, false)? {
        return Ok(Statement::Rename(Rename { target, if_exists, kind }));
    }
    match target {
        AlterTarget::Sequence(name) => {
            // A sequence is never unlogged here, so that neither word changes anything.
            let is_logged = cursor.take_all(&["set", "logged"]);
            let sets_logging = is_logged || cursor.take_all(&["set", "unlogged"]);
            let options = match sets_logging {
                true => Vec::new(),
                false => parse_sequence_options(cursor, false)?,
            };
            if options.is_empty() && !sets_logging {
                return Err(cursor.unexpected());
            }
            Ok(Statement::AlterSequence(AlterSequence { name, if_exists, options }))
        }
        AlterTarget::Index(name) => {
            let action = parse_alter_index(cursor)?;
            Ok(Statement::AlterIndex(AlterIndex { name, if_exists, action }))
        }
        AlterTarget::Database(_) if cursor.take_all(&["set", "tablespace"]) => {
            parse_tablespace(cursor)?;
            Ok(Statement::NoOp("ALTER DATABASE"))
        }
        AlterTarget::Database(name) if cursor.is("set") || cursor.is("reset") => {
            let Some(database) = name.0.last().and_then(|part| part.as_ident()) else {
                return Err(cursor.unexpected());
            };
            parse_stored_setting(cursor, "ALTER DATABASE", database.clone(), None)
        }
        AlterTarget::Database(name) => {
            let Some(database) = name.0.last().and_then(|part| part.as_ident()) else {
                return Err(cursor.unexpected());
            };
            let database = database.clone();
            cursor.take("with");
            let mut options = vec![parse_database_option(cursor)?];
            while !cursor.at_end() {
                options.push(parse_database_option(cursor)?);
            }
            let change = SettingChange::Options(options);
            let alter = AlterDatabase { tag: "ALTER DATABASE", database, role: None, change };
            Ok(Statement::AlterDatabase(Box::new(alter)))
        }
        AlterTarget::MaterializedView(_) if cursor.take_all(&["set", "tablespace"]) => {
            parse_tablespace(cursor)?;
            Ok(Statement::NoOp("ALTER MATERIALIZED VIEW"))
        }
        AlterTarget::MaterializedView(_) if cursor.is("alter") || cursor.is("set") => {
            Err(cursor.unsupported("ALTER MATERIALIZED VIEW with column or storage options"))
        }
        AlterTarget::View(name) => {
            let action = parse_view_action(cursor)?;
            Ok(Statement::AlterView(Box::new(AlterView { name, if_exists, action })))
        }
        _ => Err(cursor.unexpected()),
    }
}

/// `SET (…)`, `RESET (…)` or `ALTER COLUMN … SET DEFAULT …` of a view.
fn parse_view_action(cursor: &mut Cursor<'_>) -> Result<AlterViewAction> {
    if let Some(which) = cursor.take_one(&["set", "reset"]) {
        let options = parse_options(cursor)?;
        return Ok(match which {
            0 => AlterViewAction::Set(view_options(options)?),
            _ => AlterViewAction::Reset(options.into_iter().map(|(name, _)| name.value).collect()),
        });
    }
    cursor.expect("alter")?;
    cursor.take("column");
    let column = parse_ident(cursor)?;
    let default = match cursor.take_one(&["set", "drop"]) {
        Some(0) => {
            cursor.expect("default")?;
            Some(Box::new(next_expr(cursor)?))
        }
        Some(_) => {
            cursor.expect("default")?;
            None
        }
        None => return Err(cursor.unexpected()),
    };
    Ok(AlterViewAction::Default { column, default })
}

/// `INTERLEAVE IN …` or `UNINTERLEAVE`, where it is next.
fn parse_alter_place(cursor: &mut Cursor<'_>) -> Result<Option<AlterAction>> {
    if cursor.take("uninterleave") {
        return Ok(Some(AlterAction::Uninterleave));
    }
    Ok(parse_interleave(cursor)?.map(AlterAction::Interleave))
}

fn parse_alter_action(cursor: &mut Cursor<'_>) -> Result<AlterAction> {
    if let Some(action) = parse_alter_place(cursor)? {
        return Ok(action);
    }
    if let Some(action) = parse_trigger_action(cursor)?.or_else(|| parse_row_security(cursor)) {
        return Ok(action);
    }
    if let Some(action) = parse_partition_action(cursor)? {
        return Ok(action);
    }
    if cursor.take("add") {
        return parse_alter_add(cursor);
    }
    if cursor.take("drop") {
        return parse_alter_drop(cursor);
    }
    if cursor.take("alter") {
        return parse_alter_alter(cursor);
    }
    if cursor.take_all(&["validate", "constraint"]) {
        return Ok(AlterAction::ValidateConstraint(parse_ident(cursor)?));
    }
    if cursor.take_all(&["owner", "to"]) {
        return Ok(AlterAction::Owner(parse_role_name(cursor)?));
    }
    if matches!(cursor.peek_nth(1), Token::LParen)
        && let Some(which) = cursor.take_one(&["set", "reset"])
    {
        return Ok(AlterAction::Options(which == 0, parse_options(cursor)?));
    }
    if cursor.take_all(&["set", "tablespace"]) {
        parse_tablespace(cursor)?;
        return Ok(AlterAction::Options(true, Vec::new()));
    }
    for (word, logged) in [("logged", true), ("unlogged", false)] {
        if cursor.take_all(&["set", word]) {
            return Ok(AlterAction::SetLogged(logged));
        }
    }
    if let Some(action) = parse_marks(cursor)? {
        return Ok(action);
    }
    let known = matches!(
        cursor.peek_word(),
        Some("enable" | "disable" | "force" | "no" | "inherit" | "of" | "not" | "set")
    );
    if !known {
        return Err(cursor.unexpected());
    }
    let start = cursor.byte();
    let mut depth = 0usize;
    while !cursor.at_end() && (depth > 0 || *cursor.peek() != Token::Comma) {
        match cursor.peek() {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        cursor.advance();
    }
    let what = cursor.slice(start..cursor.byte_after()).to_owned();
    Ok(AlterAction::Unsupported(what))
}

/// `REPLICA IDENTITY …`, `CLUSTER ON …` and `SET WITHOUT CLUSTER`.
fn parse_marks(cursor: &mut Cursor<'_>) -> Result<Option<AlterAction>> {
    if cursor.take_all(&["cluster", "on"]) {
        return Ok(Some(AlterAction::ClusterOn(Some(parse_ident(cursor)?))));
    }
    if cursor.take_all(&["set", "without", "cluster"]) {
        return Ok(Some(AlterAction::ClusterOn(None)));
    }
    if cursor.take_all(&["set", "without", "oids"]) {
        return Ok(Some(AlterAction::Options(true, Vec::new())));
    }
    if cursor.take_all(&["set", "access", "method"]) {
        let method = parse_ident(cursor)?.value;
        if method != "heap" {
            let message = format!("access method \"{method}\" does not exist");
            return Err(Error::new(SqlState::UndefinedObject, message));
        }
        return Ok(Some(AlterAction::Options(true, Vec::new())));
    }
    if !cursor.take_all(&["replica", "identity"]) {
        return Ok(None);
    }
    let clause = match cursor.take_one(&["default", "full", "nothing"]) {
        Some(0) => ReplicaIdentityClause::Default,
        Some(1) => ReplicaIdentityClause::Full,
        Some(_) => ReplicaIdentityClause::Nothing,
        None => {
            cursor.expect_all(&["using", "index"])?;
            ReplicaIdentityClause::Index(parse_ident(cursor)?)
        }
    };
    Ok(Some(AlterAction::ReplicaIdentity(clause)))
}

fn parse_alter_add(cursor: &mut Cursor<'_>) -> Result<AlterAction> {
    let is_constraint = matches!(
        cursor.peek_word(),
        Some("constraint" | "primary" | "unique" | "check" | "foreign")
    ) || cursor.are(&["exclude", "using"])
        || (cursor.is("exclude") && *cursor.peek_nth(1) == Token::LParen);
    if is_constraint {
        return Ok(AlterAction::AddConstraint(parse_table_constraint(cursor)?));
    }
    cursor.take("column");
    let if_not_exists = take_if_not_exists(cursor);
    Ok(AlterAction::AddColumn { if_not_exists, column: parse_column_def(cursor)? })
}

fn parse_alter_drop(cursor: &mut Cursor<'_>) -> Result<AlterAction> {
    let constraint = cursor.take("constraint");
    if !constraint {
        cursor.take("column");
    }
    let if_exists = take_if_exists(cursor);
    let name = parse_ident(cursor)?;
    let behavior = parse_drop_behavior(cursor);
    Ok(if constraint {
        AlterAction::DropConstraint { name, if_exists, behavior }
    } else {
        AlterAction::DropColumn { name, if_exists, behavior }
    })
}

fn parse_alter_alter(cursor: &mut Cursor<'_>) -> Result<AlterAction> {
    if cursor.take("constraint") {
        let name = parse_ident(cursor)?;
        let attributes = ConstraintAttributes::parse(cursor)?;
        attributes.check("ALTER CONSTRAINT statement", ConstraintAttributes::DEFERRAL)?;
        let (deferrable, initially_deferred) = attributes.deferral();
        return Ok(AlterAction::AlterConstraint { name, deferrable, initially_deferred });
    }
    if cursor.take_all(&["primary", "key", "using", "columns"]) {
        return Ok(AlterAction::AlterPrimaryKey(cursor.parens(parse_key_column)?));
    }
    cursor.take("column");
    let name = parse_ident(cursor)?;
    let action = if cursor.take("set") {
        parse_alter_column_set(cursor)?
    } else if cursor.take("drop") {
        parse_alter_column_drop(cursor)?
    } else if cursor.take("type") {
        parse_alter_column_type(cursor)?
    } else if cursor.take_all(&["add", "generated"]) {
        let mode = parse_identity_mode(cursor)?;
        cursor.expect_all(&["as", "identity"])?;
        AlterColumnAction::AddIdentity { mode, options: parse_identity_options(cursor)? }
    } else if cursor.is("restart") {
        parse_alter_identity(cursor, None)?
    } else if cursor.take("reset") {
        parse_options(cursor)?;
        AlterColumnAction::Tuning(ColumnTuning::Ignored)
    } else {
        return Err(cursor.unexpected());
    };
    Ok(AlterAction::AlterColumn { name, action })
}

/// 22023 for an option of a column that PostgreSQL does not have. None has an effect here.
fn check_column_options(options: &Options) -> Result<()> {
    let known = ["n_distinct", "n_distinct_inherited"];
    let unknown = options.iter().find(|(name, _)| !known.contains(&name.value.as_str()));
    let Some((name, _)) = unknown else { return Ok(()) };
    let message = format!("unrecognized parameter \"{}\"", name.value);
    Err(Error::new(SqlState::InvalidParameterValue, message))
}

fn parse_alter_column_set(cursor: &mut Cursor<'_>) -> Result<AlterColumnAction> {
    if cursor.take("default") {
        return Ok(AlterColumnAction::SetDefault(next_expr(cursor)?));
    }
    if cursor.take_all(&["not", "null"]) {
        return Ok(AlterColumnAction::SetNotNull);
    }
    if cursor.take_all(&["data", "type"]) {
        return parse_alter_column_type(cursor);
    }
    if cursor.take("compression") {
        check_compression(&parse_label(cursor)?.value)?;
        return Ok(AlterColumnAction::Tuning(ColumnTuning::Ignored));
    }
    if cursor.take("statistics") {
        return Ok(AlterColumnAction::Tuning(ColumnTuning::Statistics(parse_integer(cursor)?)));
    }
    if cursor.take("storage") {
        let word = parse_label(cursor)?.value;
        return Ok(AlterColumnAction::Tuning(ColumnTuning::Storage(word)));
    }
    if *cursor.peek() == Token::LParen {
        check_column_options(&parse_options(cursor)?)?;
        return Ok(AlterColumnAction::Tuning(ColumnTuning::Ignored));
    }
    if cursor.take("generated") {
        let mode = parse_identity_mode(cursor)?;
        return parse_alter_identity(cursor, Some(mode));
    }
    match parse_sequence_option(cursor)? {
        Some(option) => parse_alter_identity_more(cursor, None, vec![option]),
        None => Err(cursor.unexpected()),
    }
}

fn parse_alter_identity(
    cursor: &mut Cursor<'_>,
    mode: Option<IdentityMode>,
) -> Result<AlterColumnAction> {
    parse_alter_identity_more(cursor, mode, Vec::new())
}

/// `SET GENERATED … SET option … RESTART …`, in any order.
fn parse_alter_identity_more(
    cursor: &mut Cursor<'_>,
    mut mode: Option<IdentityMode>,
    mut options: Vec<crate::ast::SequenceOption>,
) -> Result<AlterColumnAction> {
    loop {
        if cursor.take_all(&["set", "generated"]) {
            mode = Some(parse_identity_mode(cursor)?);
        } else if cursor.take("set") || cursor.is("restart") {
            match parse_sequence_option(cursor)? {
                Some(option) => options.push(option),
                None => return Err(cursor.unexpected()),
            }
        } else {
            return Ok(AlterColumnAction::SetIdentity { mode, options });
        }
    }
}

fn parse_alter_column_drop(cursor: &mut Cursor<'_>) -> Result<AlterColumnAction> {
    if cursor.take_all(&["not", "null"]) {
        return Ok(AlterColumnAction::DropNotNull);
    }
    match cursor.take_one(&["default", "identity", "expression"]) {
        Some(0) => Ok(AlterColumnAction::DropDefault),
        Some(1) => Ok(AlterColumnAction::DropIdentity { if_exists: take_if_exists(cursor) }),
        Some(_) => Ok(AlterColumnAction::DropExpression { if_exists: take_if_exists(cursor) }),
        None => Err(cursor.unexpected()),
    }
}

fn parse_alter_column_type(cursor: &mut Cursor<'_>) -> Result<AlterColumnAction> {
    let data_type = next_data_type(cursor)?;
    let collation = if cursor.take("collate") { Some(parse_any_name(cursor)?) } else { None };
    let using = if cursor.take("using") { Some(next_expr(cursor)?) } else { None };
    Ok(AlterColumnAction::SetType { data_type, collation, using })
}
