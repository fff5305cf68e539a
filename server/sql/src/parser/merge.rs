//! `MERGE`.

use braid_types::{Error, Result, SqlState};
use sqlparser::tokenizer::Token;

use super::Cursor;
use super::dml::{parse_assignment, parse_overriding, parse_target_alias, parse_target_column};
use super::embedded::{next_expr, next_table_with_joins};
use super::names::parse_object_name;
use crate::ast::{Merge, MergeAction, MergeWhen, Statement, With};

/// `MERGE`, behind its `WITH` list.
pub(super) fn parse_merge(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement> {
    cursor.advance();
    cursor.expect("into")?;
    cursor.take("only");
    let table = parse_object_name(cursor)?;
    cursor.take_symbol(&Token::Mul);
    let alias = parse_target_alias(cursor, "using")?;
    cursor.expect("using")?;
    let source = next_table_with_joins(cursor)?;
    cursor.expect("on")?;
    let on = next_expr(cursor)?;
    let mut whens = Vec::new();
    while cursor.take("when") {
        whens.push(parse_when(cursor)?);
    }
    if whens.is_empty() {
        return Err(cursor.unexpected());
    }
    check_reachable(&whens)?;
    Ok(Statement::Merge(Box::new(Merge { with, table, alias, source, on, whens })))
}

fn parse_when(cursor: &mut Cursor<'_>) -> Result<MergeWhen> {
    let matched = !cursor.take("not");
    cursor.expect("matched")?;
    let condition = if cursor.take("and") { Some(next_expr(cursor)?) } else { None };
    cursor.expect("then")?;
    let action = if cursor.take_all(&["do", "nothing"]) {
        MergeAction::Nothing
    } else if matched && cursor.take("delete") {
        MergeAction::Delete
    } else if matched && cursor.take_all(&["update", "set"]) {
        MergeAction::Update(cursor.list(parse_assignment)?)
    } else if !matched && cursor.take("insert") {
        parse_insert(cursor)?
    } else {
        return Err(cursor.unexpected());
    };
    Ok(MergeWhen { matched, condition, action })
}

fn parse_insert(cursor: &mut Cursor<'_>) -> Result<MergeAction> {
    let columns = match cursor.peek() {
        Token::LParen => cursor.parens(parse_target_column)?,
        _ => Vec::new(),
    };
    let overriding = parse_overriding(cursor)?;
    let values = if cursor.take_all(&["default", "values"]) {
        None
    } else {
        cursor.expect("values")?;
        Some(cursor.parens(next_expr)?)
    };
    Ok(MergeAction::Insert { columns, overriding, values })
}

/// 42601 for a clause behind one of its kind without a condition.
fn check_reachable(whens: &[MergeWhen]) -> Result<()> {
    for (place, when) in whens.iter().enumerate() {
        let mut before = whens.iter().take(place).filter(|other| other.matched == when.matched);
        if before.any(|other| other.condition.is_none()) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
    }
    Ok(())
}
