//! `DROP` and `COMMENT ON`.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::drop_other::parse_drop_other;
use super::roles::users::{parse_drop_owned, parse_drop_user};
use crate::ast::{Comment, CommentTarget, Drop, DropKind, Statement};
use crate::parser::Cursor;
use crate::parser::clauses::parse_drop_behavior;
use crate::parser::names::{
    parse_ident, parse_object_name, parse_object_number, parse_string, take_if_exists,
};
use crate::parser::routine::{parse_routine_kind, parse_routine_name};

/// `DROP …`.
pub(crate) fn parse_drop(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let kind = match cursor.peek_word() {
        Some("table") => DropKind::Table,
        Some("index") => DropKind::Index,
        Some("view") => DropKind::View,
        Some("sequence") => DropKind::Sequence,
        Some("schema") => DropKind::Schema,
        Some("database") => DropKind::Database,
        Some("extension") => DropKind::Extension,
        Some("materialized") => {
            cursor.advance();
            if !cursor.is("view") {
                return Err(cursor.unexpected());
            }
            DropKind::MaterializedView
        }
        Some("owned") => return parse_drop_owned(cursor),
        _ => {
            return match parse_drop_other(cursor)? {
                Some(statement) => Ok(statement),
                None if cursor.is("user") || cursor.is("role") || cursor.is("group") => {
                    parse_drop_user(cursor)
                }
                None => Err(cursor.unexpected()),
            };
        }
    };
    cursor.advance();
    let concurrently = kind == DropKind::Index && cursor.take("concurrently");
    let if_exists = take_if_exists(cursor);
    let mut names = Vec::new();
    let mut at_names = Vec::new();
    loop {
        names.push(parse_object_name(cursor)?);
        let at = kind == DropKind::Index && cursor.take_symbol(&Token::AtSign);
        at_names.push(if at { Some(parse_ident(cursor)?) } else { None });
        if !cursor.take_symbol(&Token::Comma) {
            break;
        }
    }
    if concurrently && names.len() > 1 {
        let message = "DROP INDEX CONCURRENTLY does not support dropping multiple objects";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    if kind == DropKind::Database && names.len() > 1 {
        return Err(cursor.unexpected());
    }
    cursor.take("with");
    let force = kind == DropKind::Database && *cursor.peek() == Token::LParen;
    if force {
        cursor.parens(|cursor| cursor.expect("force"))?;
    }
    let behavior = parse_drop_behavior(cursor);
    Ok(Statement::Drop(Drop { kind, names, at_names, if_exists, behavior, concurrently, force }))
}

/// `COMMENT ON …`.
pub(crate) fn parse_comment(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    cursor.expect("on")?;
    let Some(word) = cursor.peek_word() else {
        return Err(cursor.unexpected());
    };
    let target: fn(sqlparser::ast::ObjectName) -> CommentTarget = match word {
        "table" => CommentTarget::Table,
        "column" => CommentTarget::Column,
        "index" => CommentTarget::Index,
        "view" => CommentTarget::View,
        "materialized" if cursor.nth_is(1, "view") => {
            cursor.advance();
            CommentTarget::MaterializedView
        }
        "sequence" => CommentTarget::Sequence,
        "schema" => CommentTarget::Schema,
        "database" => CommentTarget::Database,
        "extension" => CommentTarget::Extension,
        "language" => CommentTarget::Language,
        "procedural" if cursor.nth_is(1, "language") => {
            cursor.advance();
            CommentTarget::Language
        }
        "role" => CommentTarget::Role,
        "type" => CommentTarget::Type,
        "domain" => CommentTarget::Domain,
        "collation" => CommentTarget::Collation,
        "statistics" => CommentTarget::Statistics,
        "constraint" => return parse_constraint_comment(cursor),
        "function" | "procedure" | "routine" | "aggregate" => {
            let kind = parse_routine_kind(cursor);
            let routine = Box::new(parse_routine_name(cursor, kind)?);
            return parse_comment_text(cursor, CommentTarget::Routine(routine));
        }
        "large" if cursor.nth_is(1, "object") => {
            cursor.take_all(&["large", "object"]);
            let target = CommentTarget::LargeObject(parse_object_number(cursor)?);
            return parse_comment_text(cursor, target);
        }
        "trigger" | "policy" => {
            let is_trigger = word == "trigger";
            cursor.advance();
            let name = parse_ident(cursor)?;
            cursor.expect("on")?;
            let table = parse_object_name(cursor)?;
            let target = match is_trigger {
                true => CommentTarget::Trigger { name, table },
                false => CommentTarget::Policy { name, table },
            };
            return parse_comment_text(cursor, target);
        }
        "rule" | "operator" | "cast" | "foreign" | "tablespace" => {
            return Err(cursor.unsupported(format!("COMMENT ON {}", word.to_ascii_uppercase())));
        }
        _ => return Err(cursor.unexpected()),
    };
    cursor.advance();
    let name = parse_object_name(cursor)?;
    parse_comment_text(cursor, target(name))
}

/// `CONSTRAINT name ON table`, or `ON DOMAIN domain`, of COMMENT ON.
fn parse_constraint_comment(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_ident(cursor)?;
    cursor.expect("on")?;
    // A table may be named `domain`; then `IS` follows, and not a name.
    let is_domain = cursor.is("domain") && !cursor.nth_is(1, "is");
    if is_domain && cursor.take("domain") {
        let domain = parse_object_name(cursor)?;
        let target = CommentTarget::DomainConstraint { name, domain };
        return parse_comment_text(cursor, target);
    }
    let table = parse_object_name(cursor)?;
    let target = CommentTarget::Constraint { name, table };
    parse_comment_text(cursor, target)
}

fn parse_comment_text(cursor: &mut Cursor<'_>, target: CommentTarget) -> Result<Statement> {
    cursor.expect("is")?;
    let text = if cursor.take("null") { None } else { Some(parse_string(cursor)?) };
    Ok(Statement::Comment(Comment { target, text }))
}
