//! `DROP` of kinds of objects that users cannot make here: functions, triggers, casts and others.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use crate::ast::{DropOther, OtherObject, RoutineKind, Statement};
use crate::parser::Cursor;
use crate::parser::clauses::parse_drop_behavior;
use crate::parser::embedded::next_data_type;
use crate::parser::names::{
    parse_any_name, parse_ident, parse_label, parse_object_name, parse_role_name, take_if_exists,
};
use crate::parser::routine::parse_routine_name;
use crate::rewrite::words::position;

/// How the objects of a kind are written.
#[derive(Clone, Copy)]
enum Form {
    Global,
    Named,
    Type,
    Routine(RoutineKind),
    OnTable,
    Operator,
    OperatorClass,
    Cast,
    Transform,
    UserMapping,
}

/// A kind: its words, its command tag, what messages call it, how its objects are written.
type Kind = (&'static [&'static str], &'static str, &'static str, Form);

/// The longer of two kinds that begin alike stands first.
const KINDS: &[Kind] = &[
    (&["function"], "DROP FUNCTION", "function", Form::Routine(RoutineKind::Function)),
    (&["procedure"], "DROP PROCEDURE", "procedure", Form::Routine(RoutineKind::Procedure)),
    (&["routine"], "DROP ROUTINE", "routine", Form::Routine(RoutineKind::Any)),
    (&["aggregate"], "DROP AGGREGATE", "aggregate", Form::Routine(RoutineKind::Aggregate)),
    (&["trigger"], "DROP TRIGGER", "trigger", Form::OnTable),
    (&["rule"], "DROP RULE", "rule", Form::OnTable),
    (&["policy"], "DROP POLICY", "policy", Form::OnTable),
    (&["type"], "DROP TYPE", "type", Form::Type),
    (&["domain"], "DROP DOMAIN", "type", Form::Type),
    (&["operator", "class"], "DROP OPERATOR CLASS", "operator class", Form::OperatorClass),
    (&["operator", "family"], "DROP OPERATOR FAMILY", "operator family", Form::OperatorClass),
    (&["operator"], "DROP OPERATOR", "operator", Form::Operator),
    (&["cast"], "DROP CAST", "cast", Form::Cast),
    (&["transform"], "DROP TRANSFORM", "transform", Form::Transform),
    (&["user", "mapping"], "DROP USER MAPPING", "user mapping", Form::UserMapping),
    (&["procedural", "language"], "DROP LANGUAGE", "language", Form::Global),
    (&["language"], "DROP LANGUAGE", "language", Form::Global),
    (&["collation"], "DROP COLLATION", "collation", Form::Named),
    (&["conversion"], "DROP CONVERSION", "conversion", Form::Named),
    (&["statistics"], "DROP STATISTICS", "statistics object", Form::Named),
    (&["foreign", "table"], "DROP FOREIGN TABLE", "foreign table", Form::Named),
    (
        &["text", "search", "configuration"],
        "DROP TEXT SEARCH CONFIGURATION",
        "text search configuration",
        Form::Named,
    ),
    (
        &["text", "search", "dictionary"],
        "DROP TEXT SEARCH DICTIONARY",
        "text search dictionary",
        Form::Named,
    ),
    (&["text", "search", "parser"], "DROP TEXT SEARCH PARSER", "text search parser", Form::Named),
    (
        &["text", "search", "template"],
        "DROP TEXT SEARCH TEMPLATE",
        "text search template",
        Form::Named,
    ),
    (
        &["foreign", "data", "wrapper"],
        "DROP FOREIGN DATA WRAPPER",
        "foreign-data wrapper",
        Form::Global,
    ),
    (&["server"], "DROP SERVER", "server", Form::Global),
    (&["publication"], "DROP PUBLICATION", "publication", Form::Global),
    (&["subscription"], "DROP SUBSCRIPTION", "subscription", Form::Global),
    (&["event", "trigger"], "DROP EVENT TRIGGER", "event trigger", Form::Global),
    (&["access", "method"], "DROP ACCESS METHOD", "access method", Form::Global),
    (&["tablespace"], "DROP TABLESPACE", "tablespace", Form::Global),
];

/// `DROP` of one of these kinds, at its first word; `None` if it is no such kind.
pub(crate) fn parse_drop_other(cursor: &mut Cursor<'_>) -> Result<Option<Statement>> {
    let Some((_, tag, kind, form)) = KINDS.iter().find(|(words, ..)| cursor.take_all(words)) else {
        return Ok(None);
    };
    let if_exists = take_if_exists(cursor);
    let item = |cursor: &mut Cursor<'_>| parse_other_object(cursor, *form);
    // Objects that are named on something else come one at a time.
    let single = matches!(
        form,
        Form::OnTable | Form::OperatorClass | Form::Cast | Form::Transform | Form::UserMapping
    ) || matches!(*kind, "tablespace" | "subscription");
    let items = if single { vec![item(cursor)?] } else { cursor.list(item)? };
    let behavior = parse_drop_behavior(cursor);
    Ok(Some(Statement::DropOther(DropOther { tag, kind, items, if_exists, behavior })))
}

fn parse_other_object(cursor: &mut Cursor<'_>, form: Form) -> Result<OtherObject> {
    Ok(match form {
        Form::Global => OtherObject::Global(parse_ident(cursor)?),
        Form::Named => OtherObject::Named(parse_any_name(cursor)?),
        Form::Type => OtherObject::Type(next_data_type(cursor)?),
        Form::Routine(kind) => OtherObject::Routine(parse_routine_name(cursor, kind)?),
        Form::OnTable => {
            let name = parse_ident(cursor)?;
            cursor.expect("on")?;
            OtherObject::OnTable { name, table: parse_object_name(cursor)? }
        }
        Form::Operator => parse_operator_object(cursor)?,
        Form::OperatorClass => {
            let name = parse_any_name(cursor)?;
            cursor.expect("using")?;
            OtherObject::OperatorClass { name, method: parse_ident(cursor)? }
        }
        Form::Cast => {
            cursor.expect_symbol(&Token::LParen)?;
            let from = next_data_type(cursor)?;
            cursor.expect("as")?;
            let to = next_data_type(cursor)?;
            cursor.expect_symbol(&Token::RParen)?;
            OtherObject::Cast { from, to }
        }
        Form::Transform => {
            cursor.expect("for")?;
            let data_type = next_data_type(cursor)?;
            cursor.expect("language")?;
            OtherObject::Transform { data_type, language: parse_ident(cursor)? }
        }
        Form::UserMapping => {
            cursor.expect("for")?;
            let user =
                if cursor.is("user") { parse_label(cursor)? } else { parse_role_name(cursor)? };
            cursor.expect("server")?;
            OtherObject::UserMapping { user, server: parse_ident(cursor)? }
        }
    })
}

/// `schema.+ (left, right)`.
fn parse_operator_object(cursor: &mut Cursor<'_>) -> Result<OtherObject> {
    let mut schema = None;
    while matches!(cursor.peek(), Token::Word(_)) {
        schema = Some(parse_label(cursor)?);
        cursor.expect_symbol(&Token::Period)?;
    }
    let start = cursor.byte();
    while !matches!(cursor.peek(), Token::LParen) {
        if cursor.at_end() || matches!(cursor.peek(), Token::Word(_)) {
            return Err(cursor.unexpected());
        }
        cursor.advance();
    }
    let symbol = cursor.slice(start..cursor.byte_after()).to_owned();
    cursor.expect_symbol(&Token::LParen)?;
    let left = if cursor.take("none") { None } else { Some(next_data_type(cursor)?) };
    if *cursor.peek() == Token::RParen {
        return Err(Error::new(SqlState::SyntaxError, "missing argument")
            .hint("Use NONE to denote the missing argument of a unary operator.")
            .position(position(cursor.span())));
    }
    cursor.expect_symbol(&Token::Comma)?;
    let right = next_data_type(cursor)?;
    cursor.expect_symbol(&Token::RParen)?;
    Ok(OtherObject::Operator { schema, symbol, left, right })
}
