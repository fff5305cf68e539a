//! `CREATE DOMAIN` and `ALTER DOMAIN`.

use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::create_table::{collated_twice, last_collate};
use crate::ast::{
    AlterDomain, AlterDomainAction, AlterTarget, CreateDomain, DomainConstraint,
    DomainConstraintKind, Rename, Statement,
};
use crate::parser::Cursor;
use crate::parser::clauses::{parse_drop_behavior, parse_rename_kind};
use crate::parser::embedded::{next_data_type, next_default_expr, next_expr, take_collation};
use crate::parser::names::{parse_any_name, parse_ident, parse_object_name, take_if_exists};

/// `CREATE DOMAIN …`, at the word `domain`.
pub(crate) fn parse_create_domain(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_object_name(cursor)?;
    cursor.take("as");
    let data_type = next_data_type(cursor)?;
    let (mut collation, mut constraints) = (None, Vec::new());
    while *cursor.peek() != Token::SemiColon && !cursor.at_end() {
        let place = crate::offset_of(cursor.span());
        if cursor.take("collate") {
            if collation.replace(parse_any_name(cursor)?).is_some() {
                return Err(collated_twice(place));
            }
            continue;
        }
        let Some(mut constraint) = parse_constraint(cursor)? else {
            return Err(cursor.unexpected());
        };
        if let DomainConstraintKind::Default(expr) = &mut constraint.kind
            && let Some(name) = take_collation(expr)
            && (take_collation(expr).is_some() || collation.replace(name).is_some())
        {
            return Err(collated_twice(last_collate(cursor).unwrap_or(place)));
        }
        constraints.push(constraint);
    }
    let create = CreateDomain { name, data_type, collation, constraints };
    Ok(Statement::CreateDomain(Box::new(create)))
}

/// One constraint or the default; `None` when neither is next.
fn parse_constraint(cursor: &mut Cursor<'_>) -> Result<Option<DomainConstraint>> {
    let name = if cursor.take("constraint") { Some(parse_ident(cursor)?) } else { None };
    let kind = if cursor.take_all(&["not", "null"]) {
        DomainConstraintKind::NotNull
    } else if cursor.take("null") {
        DomainConstraintKind::Null
    } else if cursor.take("check") {
        DomainConstraintKind::Check(parse_check(cursor)?)
    } else if cursor.take("default") {
        DomainConstraintKind::Default(next_default_expr(cursor)?)
    } else {
        return Ok(None);
    };
    Ok(Some(DomainConstraint { name, kind }))
}

/// The condition of a CHECK, in parentheses.
fn parse_check(cursor: &mut Cursor<'_>) -> Result<Expr> {
    cursor.expect_symbol(&Token::LParen)?;
    let expr = next_expr(cursor)?;
    cursor.expect_symbol(&Token::RParen)?;
    Ok(expr)
}

/// `ALTER DOMAIN …`, at the word `domain`.
pub(crate) fn parse_alter_domain(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_object_name(cursor)?;
    if let Some(kind) = parse_rename_kind(cursor, false)? {
        let target = AlterTarget::Domain(name);
        return Ok(Statement::Rename(Rename { target, if_exists: false, kind }));
    }
    let action = if cursor.take_all(&["set", "default"]) {
        AlterDomainAction::Default(Some(next_expr(cursor)?))
    } else if cursor.take_all(&["drop", "default"]) {
        AlterDomainAction::Default(None)
    } else if cursor.take_all(&["set", "not", "null"]) {
        AlterDomainAction::NotNull(true)
    } else if cursor.take_all(&["drop", "not", "null"]) {
        AlterDomainAction::NotNull(false)
    } else if cursor.take("add") {
        parse_add(cursor)?
    } else if cursor.take_all(&["drop", "constraint"]) {
        let if_exists = take_if_exists(cursor);
        let name = parse_ident(cursor)?;
        AlterDomainAction::Drop { name, if_exists, behavior: parse_drop_behavior(cursor) }
    } else if cursor.take_all(&["validate", "constraint"]) {
        AlterDomainAction::Validate(parse_ident(cursor)?)
    } else {
        return Err(cursor.unexpected());
    };
    Ok(Statement::AlterDomain(Box::new(AlterDomain { name, action })))
}

/// `ADD constraint [NOT VALID]`, behind the word `add`. PostgreSQL 15 takes no NOT NULL here.
fn parse_add(cursor: &mut Cursor<'_>) -> Result<AlterDomainAction> {
    let error = cursor.unexpected();
    match parse_constraint(cursor)? {
        Some(constraint) if matches!(constraint.kind, DomainConstraintKind::Check(_)) => {
            let not_valid = cursor.take_all(&["not", "valid"]);
            Ok(AlterDomainAction::Add { constraint, not_valid })
        }
        _ => Err(error),
    }
}
