//! The parts that sqlparser reads: queries, expressions and types; and its errors as PostgreSQL's.

use sqlparser::ast::{DataType, Expr, ObjectName, Query, SelectItem, TableWithJoins, VisitMut};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result};

use super::{Cursor, query_rules};
use crate::lex::keywords;
use crate::limits;
use crate::rewrite::words::position;
use crate::rewrite::{grouping, shape};

/// Runs a part of sqlparser's parser.
pub(crate) fn delegate<'a, T>(
    cursor: &mut Cursor<'a>,
    part: impl FnOnce(&mut Parser<'a>) -> Result<T, ParserError>,
) -> Result<T> {
    part(&mut cursor.inner).map_err(|error| translate(cursor, error))
}

/// The tree that was parsed from the token `first` on: checked, and in the form that others want.
fn finished<T: VisitMut>(cursor: &Cursor<'_>, first: usize, mut tree: T) -> Result<T> {
    if cursor.survey.check_from {
        query_rules::check_from(cursor, first, &mut tree)?;
    }
    if cursor.survey.check_words {
        query_rules::check_words(cursor, first)?;
    }
    if cursor.survey.balance {
        shape::balance(&mut tree);
    }
    if cursor.survey.empty_select {
        shape::drop_marks(&mut tree);
    }
    if cursor.survey.restore {
        grouping::restore(&mut tree);
    }
    Ok(tree)
}

/// An expression.
pub(crate) fn next_expr(cursor: &mut Cursor<'_>) -> Result<Expr> {
    let first = cursor.inner.index();
    let expr = delegate(cursor, Parser::parse_expr)?;
    finished(cursor, first, expr)
}

/// An expression that ends before `NOT NULL`, as a column's default does.
pub(crate) fn next_default_expr(cursor: &mut Cursor<'_>) -> Result<Expr> {
    let before = cursor.dialect.stop_at.replace(find_not_null(cursor));
    let expr = next_expr(cursor);
    cursor.dialect.stop_at.set(before);
    expr
}

/// Takes the `COLLATE` at the end of a default that has no parentheses around it: it belongs to the
/// column, whose other clauses may follow its default.
pub(crate) fn take_collation(default: &mut Expr) -> Option<ObjectName> {
    match default {
        Expr::Collate { expr, collation } => {
            let (inner, name) = ((**expr).clone(), collation.clone());
            *default = inner;
            Some(name)
        }
        Expr::BinaryOp { right, .. } => take_collation(right),
        _ => None,
    }
}

/// The index of the next `NOT NULL` outside parentheses, in this list item.
fn find_not_null(cursor: &Cursor<'_>) -> Option<usize> {
    let mut depth = 0usize;
    for n in 0.. {
        match cursor.peek_nth(n) {
            Token::LParen => depth += 1,
            Token::RParen | Token::Comma if depth == 0 => return None,
            Token::RParen => depth -= 1,
            Token::EOF | Token::SemiColon => return None,
            _ if depth == 0 && cursor.nth_is(n, "not") && cursor.nth_is(n + 1, "null") => {
                return Some(cursor.inner.index() + n);
            }
            _ => {}
        }
    }
    None
}

/// A query, with its own `WITH`, `ORDER BY` and locks.
pub(crate) fn next_query(cursor: &mut Cursor<'_>) -> Result<Box<Query>> {
    let starts = match cursor.peek() {
        Token::LParen => true,
        _ => matches!(cursor.peek_word(), Some("select" | "values" | "with")),
    };
    if !starts {
        return Err(cursor.unexpected());
    }
    let first = cursor.inner.index();
    let query = delegate(cursor, Parser::parse_query)?;
    finished(cursor, first, query)
}

/// A type.
pub(crate) fn next_data_type(cursor: &mut Cursor<'_>) -> Result<DataType> {
    if let Some(word) = cursor.peek_word()
        && keywords::is_reserved(word)
    {
        return Err(cursor.unexpected());
    }
    delegate(cursor, Parser::parse_data_type)
}

/// One item of a `RETURNING` list.
pub(crate) fn next_select_item(cursor: &mut Cursor<'_>) -> Result<SelectItem> {
    let first = cursor.inner.index();
    let item = delegate(cursor, Parser::parse_select_item)?;
    finished(cursor, first, item)
}

/// A table with its joins.
pub(crate) fn next_table_with_joins(cursor: &mut Cursor<'_>) -> Result<TableWithJoins> {
    let first = cursor.inner.index();
    let table = delegate(cursor, Parser::parse_table_and_joins)?;
    if cursor.survey.check_from {
        query_rules::check_table(cursor, first, &table)?;
    }
    finished(cursor, first, table)
}

/// sqlparser's error as PostgreSQL says it: only its place matters.
fn translate(cursor: &Cursor<'_>, error: ParserError) -> Error {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return limits::too_deep().position(position(cursor.span()));
        }
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
    };
    if cursor.dialect.too_deep.get() {
        return limits::too_deep();
    }
    let column =
        message.rsplit_once("Column: ").and_then(|(_, column)| column.trim().parse::<u64>().ok());
    match column.and_then(|column| token_starting(cursor, column)) {
        Some(token) => cursor.syntax_error(token),
        None if message.contains("found: EOF") => {
            cursor.syntax_error(cursor.inner.token_at(usize::MAX))
        }
        None => cursor.unexpected(),
    }
}

/// The token that starts at a character offset, by bisection.
fn token_starting<'c>(cursor: &'c Cursor<'_>, column: u64) -> Option<&'c TokenWithSpan> {
    let mut count = 1;
    while cursor.inner.token_at(count).token != Token::EOF {
        count *= 2;
    }
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let token = cursor.inner.token_at(middle);
        if token.token != Token::EOF && token.span.start.column < column {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let token = cursor.inner.token_at(low);
    (token.token != Token::EOF && token.span.start.column == column).then_some(token)
}
