//! The ways in: a text of statements, or a single query, expression or type.

use sqlparser::ast::{DataType, Expr, Query};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use super::embedded::{next_data_type, next_expr, next_query};
use super::statement::parse_statement;
use crate::ast::ParsedStatement;
use crate::dialect::BraidDialect;
use crate::lex::{source, tokens as lexer};
use crate::limits;
use crate::rewrite::tokens as rewrite;
use crate::rewrite::words::position;

/// The highest parameter number that the protocol can carry.
const PARAMETERS_MAX: usize = 65_535;

/// From this many tokens on, a text is parsed with a deep stack.
const LONG_TOKENS: usize = 4000;

/// Parses a text of statements between semicolons. Empty ones are left out, so a text of blanks
/// and comments gives an empty list.
///
/// ```
/// let statements = braid_sql::parse("SELECT $2::int; ; UPSERT INTO t VALUES (1)")?;
/// assert_eq!(statements.len(), 2);
/// assert_eq!(statements[0].parameters, 2);
/// # Ok::<(), braid_types::Error>(())
/// ```
pub fn parse(sql: &str) -> Result<Vec<ParsedStatement>> {
    with_cursor(sql, |cursor| {
        let mut statements = Vec::new();
        loop {
            while cursor.take_symbol(&Token::SemiColon) {}
            if cursor.at_end() {
                return Ok(statements);
            }
            let first = cursor.inner.index();
            let start = cursor.byte();
            let statement = parse_statement(cursor)?;
            if !cursor.at_end() {
                return Err(cursor.unexpected());
            }
            // In the body of a function they mean its arguments.
            let parameters = match &statement {
                crate::ast::Statement::CreateRoutine(_) => 0,
                _ => highest_parameter(cursor, first)?,
            };
            check_using(cursor, first)?;
            let text = start..cursor.byte_after();
            statements.push(ParsedStatement { statement, text, parameters });
        }
    })
}

/// Parses one expression, such as a stored default.
pub fn parse_expr(sql: &str) -> Result<Expr> {
    single(sql, next_expr)
}

/// Parses one query, such as a view's.
pub fn parse_query(sql: &str) -> Result<Box<Query>> {
    single(sql, next_query)
}

/// Parses one type, such as `numeric(10, 2)[]`.
pub fn parse_data_type(sql: &str) -> Result<DataType> {
    single(sql, next_data_type)
}

fn single<T>(sql: &str, part: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
    with_cursor(sql, |cursor| {
        // What is stored may be older than the rule.
        cursor.survey.check_from = false;
        cursor.survey.check_words = false;
        let value = part(cursor)?;
        if *cursor.peek() == Token::EOF { Ok(value) } else { Err(cursor.unexpected()) }
    })
}

fn with_cursor<T>(sql: &str, run: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
    if sql.len() > limits::STATEMENT_BYTES_MAX {
        return Err(limits::too_long(sql.len()));
    }
    let tokens = lexer::lex(sql)?;
    let survey = rewrite::survey(&tokens)?;
    let tokens = rewrite::rewrite(tokens, survey)?;
    let long = tokens.len() > LONG_TOKENS;
    let dialect = BraidDialect::default();
    let mut cursor = Cursor::new(source::Source::new(sql), &dialect, tokens, survey);
    // A tree that fails half-way is dropped before its chains are balanced.
    if long { crate::deep_stack(|| run(&mut cursor)) } else { run(&mut cursor) }
}

/// Refuses USING at the end of a statement, from the token `first` on. The parser takes any token
/// as the operator of `ORDER BY a USING`, the end of the text as well.
fn check_using(cursor: &Cursor<'_>, first: usize) -> Result<()> {
    let is = |index: usize, keyword| {
        let token = &cursor.inner.token_at(index).token;
        matches!(token, Token::Word(word) if word.keyword == keyword && word.quote_style.is_none())
    };
    for index in (first..cursor.inner.index()).filter(|index| is(*index, Keyword::USING)) {
        // Behind AS and a dot it is a name.
        let is_name = index.checked_sub(1).is_some_and(|before| {
            is(before, Keyword::AS) || cursor.inner.token_at(before).token == Token::Period
        });
        let next = cursor.inner.token_at(index + 1);
        let is_end = matches!(next.token, Token::EOF | Token::SemiColon);
        if is_end && !is_name {
            return Err(cursor.syntax_error(next));
        }
    }
    Ok(())
}

/// The highest `$n` among the tokens from `first` to the cursor's place.
fn highest_parameter(cursor: &Cursor<'_>, first: usize) -> Result<usize> {
    let mut highest = 0;
    for index in first..cursor.inner.index() {
        let token = cursor.inner.token_at(index);
        let Token::Placeholder(name) = &token.token else {
            continue;
        };
        match name.get(1..).and_then(|digits| digits.parse::<usize>().ok()) {
            Some(number) if (1..=PARAMETERS_MAX).contains(&number) => {
                highest = highest.max(number);
            }
            _ => {
                let message = format!("there is no parameter {name}");
                return Err(Error::new(SqlState::UndefinedParameter, message)
                    .position(position(token.span)));
            }
        }
    }
    Ok(highest)
}
