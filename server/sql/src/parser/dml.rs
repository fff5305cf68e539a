//! `INSERT`, `UPSERT`, `UPDATE`, `DELETE` and `TRUNCATE`.

use sqlparser::ast::{AccessExpr, Expr, Ident};
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use super::clauses::{parse_current_of, parse_drop_behavior, parse_selection};
use super::definition::create_index::parse_index_key;
use super::embedded::{delegate, next_expr, next_query, next_select_item, next_table_with_joins};
use super::names::{parse_ident, parse_label, parse_object_name, parse_relation};
use crate::ast::{
    Assignment, AssignmentTarget, AssignmentValue, ConflictAction, ConflictTarget, Delete, Insert,
    InsertSource, OnConflict, Overriding, Returning, Statement, TargetColumn, Truncate, Update,
    With,
};

/// INSERT, UPSERT, UPDATE or DELETE, behind its `WITH` list.
pub(crate) fn parse_change(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement> {
    match cursor.peek_word() {
        Some("insert") => parse_insert(cursor, with, false),
        Some("upsert") => parse_insert(cursor, with, true),
        Some("update") => parse_update(cursor, with),
        Some("delete") => parse_delete(cursor, with),
        _ => Err(cursor.unexpected()),
    }
}

fn parse_insert(cursor: &mut Cursor<'_>, with: Option<With>, upsert: bool) -> Result<Statement> {
    cursor.advance();
    cursor.expect("into")?;
    let table = parse_object_name(cursor)?;
    let alias = if cursor.take("as") { Some(parse_ident(cursor)?) } else { None };
    let columns = if *cursor.peek() == Token::LParen && !parse_query_in_parens(cursor) {
        cursor.parens(parse_target_column)?
    } else {
        Vec::new()
    };
    let overriding = parse_overriding(cursor)?;
    let has_list = !columns.is_empty() || overriding.is_some();
    let source = if !has_list && cursor.take("default") {
        cursor.expect("values")?;
        InsertSource::DefaultValues
    } else {
        InsertSource::Query(next_query(cursor)?)
    };
    let on_conflict = if !upsert && cursor.are(&["on", "conflict"]) {
        Some(parse_on_conflict(cursor)?)
    } else {
        None
    };
    let returning = parse_returning(cursor)?;
    Ok(Statement::Insert(Box::new(Insert {
        with,
        upsert,
        table,
        alias,
        columns,
        overriding,
        source,
        on_conflict,
        returning,
    })))
}

/// Whether the parenthesis that is next holds a query and not a list of columns.
fn parse_query_in_parens(cursor: &Cursor<'_>) -> bool {
    let mut n = 1;
    while *cursor.peek_nth(n) == Token::LParen {
        n += 1;
    }
    ["select", "values", "with"].iter().any(|word| cursor.nth_is(n, word))
}

/// A column that is assigned, or a part of it.
pub(super) fn parse_target_column(cursor: &mut Cursor<'_>) -> Result<TargetColumn> {
    let name = parse_ident(cursor)?;
    let mut part = Vec::new();
    loop {
        if *cursor.peek() == Token::LBracket {
            delegate(cursor, |parser| parser.parse_multi_dim_subscript(&mut part))?;
        } else if cursor.take_symbol(&Token::Period) {
            part.push(AccessExpr::Dot(Expr::Identifier(parse_label(cursor)?)));
        } else {
            return Ok(TargetColumn { name, part });
        }
    }
}

pub(super) fn parse_overriding(cursor: &mut Cursor<'_>) -> Result<Option<Overriding>> {
    if !cursor.take("overriding") {
        return Ok(None);
    }
    let kind = match cursor.take_one(&["system", "user"]) {
        Some(0) => Overriding::System,
        Some(_) => Overriding::User,
        None => return Err(cursor.unexpected()),
    };
    cursor.expect("value")?;
    Ok(Some(kind))
}

fn parse_on_conflict(cursor: &mut Cursor<'_>) -> Result<OnConflict> {
    let span = cursor.span();
    cursor.expect_all(&["on", "conflict"])?;
    let target = if cursor.take_all(&["on", "constraint"]) {
        ConflictTarget::Constraint(parse_ident(cursor)?)
    } else if *cursor.peek() == Token::LParen {
        let keys = cursor.parens(parse_index_key)?;
        let predicate = parse_selection(cursor)?;
        ConflictTarget::Columns { keys, predicate }
    } else {
        ConflictTarget::Any
    };
    cursor.expect("do")?;
    let action = if cursor.take("nothing") {
        ConflictAction::Nothing
    } else {
        cursor.expect_all(&["update", "set"])?;
        let assignments = cursor.list(parse_assignment)?;
        ConflictAction::Update { assignments, selection: parse_selection(cursor)? }
    };
    Ok(OnConflict { target, action, span })
}

pub(super) fn parse_assignment(cursor: &mut Cursor<'_>) -> Result<Assignment> {
    if *cursor.peek() != Token::LParen {
        let target = AssignmentTarget::Column(parse_target_column(cursor)?);
        cursor.expect_symbol(&Token::Eq)?;
        return Ok(Assignment { target, value: AssignmentValue::Expr(next_expr(cursor)?) });
    }
    let target = AssignmentTarget::Columns(cursor.parens(parse_target_column)?);
    cursor.expect_symbol(&Token::Eq)?;
    let value = if cursor.is("row") && *cursor.peek_nth(1) == Token::LParen {
        cursor.advance();
        AssignmentValue::Row(cursor.parens(next_expr)?)
    } else if *cursor.peek() == Token::LParen && !parse_query_in_parens(cursor) {
        AssignmentValue::Row(cursor.parens(next_expr)?)
    } else {
        AssignmentValue::Expr(next_expr(cursor)?)
    };
    Ok(Assignment { target, value })
}

fn parse_update(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement> {
    cursor.advance();
    let table = parse_relation(cursor, false)?;
    let alias = parse_target_alias(cursor, "set")?;
    cursor.expect("set")?;
    let assignments = cursor.list(parse_assignment)?;
    let from = if cursor.take("from") { cursor.list(next_table_with_joins)? } else { Vec::new() };
    let current_of = parse_current_of(cursor)?;
    let selection = parse_selection(cursor)?;
    let returning = parse_returning(cursor)?;
    let update = Update { with, table, alias, assignments, from, selection, current_of, returning };
    Ok(Statement::Update(Box::new(update)))
}

/// `[AS] alias` of a target table; `next` is the word that may follow instead.
pub(super) fn parse_target_alias(cursor: &mut Cursor<'_>, next: &str) -> Result<Option<Ident>> {
    if cursor.take("as") {
        return parse_ident(cursor).map(Some);
    }
    let is_alias = match cursor.peek() {
        Token::Word(word) if word.quote_style.is_none() => {
            word.value != next && crate::lex::keywords::is_column_name(&word.value)
        }
        Token::Word(_) => true,
        _ => false,
    };
    if is_alias { parse_ident(cursor).map(Some) } else { Ok(None) }
}

fn parse_delete(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement> {
    cursor.advance();
    cursor.expect("from")?;
    let table = parse_relation(cursor, false)?;
    let alias = parse_target_alias(cursor, "using")?;
    let using = if cursor.take("using") { cursor.list(next_table_with_joins)? } else { Vec::new() };
    let current_of = parse_current_of(cursor)?;
    let selection = parse_selection(cursor)?;
    let returning = parse_returning(cursor)?;
    Ok(Statement::Delete(Box::new(Delete {
        with,
        table,
        alias,
        using,
        selection,
        current_of,
        returning,
    })))
}

/// `RETURNING …`. Only the bare word `NOTHING` by itself is the clause of that name; what
/// follows it is left for the caller, which ends the statement there.
fn parse_returning(cursor: &mut Cursor<'_>) -> Result<Returning> {
    if !cursor.take("returning") {
        return Ok(Returning::None);
    }
    if cursor.take("nothing") {
        return Ok(Returning::Nothing);
    }
    Ok(Returning::Items(cursor.list(next_select_item)?))
}

/// `TRUNCATE`.
pub(crate) fn parse_truncate(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    cursor.take("table");
    let tables = cursor.list(|cursor| parse_relation(cursor, false))?;
    let restart_identity = cursor.take_all(&["restart", "identity"]);
    if !restart_identity {
        cursor.take_all(&["continue", "identity"]);
    }
    let behavior = parse_drop_behavior(cursor);
    Ok(Statement::Truncate(Truncate { tables, restart_identity, behavior }))
}
