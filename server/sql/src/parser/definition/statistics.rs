//! `CREATE STATISTICS` and `ALTER STATISTICS`.

use sqlparser::ast::{Expr, TableFactor};
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::create_index::CALL_PREC;
use crate::ast::{
    AlterStatistics, AlterTarget, CreateStatistics, ObjectName, Rename, Statement, TableWithJoins,
};
use crate::parser::Cursor;
use crate::parser::clauses::parse_rename_kind;
use crate::parser::embedded::{delegate, next_expr, next_table_with_joins};
use crate::parser::names::{
    parse_any_name, parse_ident, parse_integer, take_if_exists, take_if_not_exists,
};

/// `CREATE STATISTICS`, at the second word.
pub(super) fn parse_create_statistics(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_any_name(cursor)?;
    let kinds = match cursor.peek() {
        Token::LParen => cursor.parens(parse_ident)?,
        _ => Vec::new(),
    };
    cursor.expect("on")?;
    let items = cursor.list(parse_item)?;
    cursor.expect("from")?;
    let from = cursor.list(next_table_with_joins)?;
    let table = plain_table(&from).cloned();
    let create = CreateStatistics { name, if_not_exists, kinds, items, table };
    Ok(Statement::CreateStatistics(Box::new(create)))
}

/// The table of a `FROM` list that has nothing else.
fn plain_table(from: &[TableWithJoins]) -> Option<&ObjectName> {
    let [TableWithJoins { relation, joins }] = from else { return None };
    match relation {
        TableFactor::Table { name, args: None, sample: None, .. } if joins.is_empty() => Some(name),
        _ => None,
    }
}

/// A column, a call, or an expression in parentheses.
fn parse_item(cursor: &mut Cursor<'_>) -> Result<Expr> {
    if cursor.take_symbol(&Token::LParen) {
        let expr = next_expr(cursor)?;
        cursor.expect_symbol(&Token::RParen)?;
        // A name in parentheses may mean the whole row.
        return Ok(match expr {
            Expr::Identifier(_) => Expr::Nested(Box::new(expr)),
            expr => expr,
        });
    }
    if matches!(cursor.peek_nth(1), Token::LParen | Token::Period) {
        return delegate(cursor, |parser| parser.parse_subexpr(CALL_PREC));
    }
    Ok(Expr::Identifier(parse_ident(cursor)?))
}

/// `ALTER STATISTICS`, at the second word.
pub(super) fn parse_alter_statistics(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_exists = take_if_exists(cursor);
    let name = parse_any_name(cursor)?;
    if cursor.take_all(&["set", "statistics"]) {
        let target = parse_integer(cursor)?;
        return Ok(Statement::AlterStatistics(AlterStatistics { name, if_exists, target }));
    }
    match parse_rename_kind(cursor, false)? {
        Some(kind) if !if_exists => {
            let target = AlterTarget::Statistics(name);
            Ok(Statement::Rename(Rename { target, if_exists, kind }))
        }
        _ => Err(cursor.unexpected()),
    }
}
