//! Parentheses that open a query where an expression is expected.
//!
//! ```text
//!   ((SELECT 1) UNION (SELECT 2))           a query: sqlparser takes the inner one for a value
//!   = ANY ((SELECT 1) UNION (SELECT 2))     a query that begins behind the parenthesis of ANY
//!   ((SELECT 1) + 1)                        a value
//!   (VALUES (1))                            a query without SELECT
//!   (values)                                a column of that name
//!   IN ((SELECT 1), (SELECT 2))             a list, although a query is its first element
//! ```
//!
//! What follows the innermost query decides, so the tokens are looked at before they are parsed.

use sqlparser::ast::Expr;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// Words behind a query in parentheses that make it part of a longer one.
const GOES_ON: [&str; 8] =
    ["union", "intersect", "except", "order", "limit", "offset", "fetch", "for"];

/// What is behind the innermost query of several parentheses.
#[derive(Default)]
struct Behind {
    /// More of a query inside the outermost parenthesis.
    inside: bool,
    /// More of a query behind the outermost parenthesis.
    outside: bool,
}

/// The query that the next parenthesis opens, where sqlparser would read a value; `None` leaves
/// it to sqlparser.
pub(crate) fn query_prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let at = parser.index();
    if is_values_or_table(parser, at + 1) {
        return Some(subquery(parser));
    }
    if !matches!(token(parser, at + 1), Token::LParen) && !follows_any(parser, at) {
        return None;
    }
    let behind = behind_query(parser, at)?;
    if behind.outside && follows_any(parser, at) {
        return Some(parser.parse_query().map(Expr::Subquery));
    }
    behind.inside.then(|| subquery(parser))
}

/// `VALUES` as the first word inside the parenthesis of ANY, SOME or ALL.
pub(crate) fn values_prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let at = parser.index();
    let is_query = is_values_or_table(parser, at) && follows_any(parser, at);
    is_query.then(|| parser.parse_query().map(Expr::Subquery))
}

/// `IN` of a list whose first element begins with a query; `None` leaves it to sqlparser, which
/// would take that query for the whole list.
pub(crate) fn in_list(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = is_word(token(parser, parser.index()), &["not"]);
    let word = parser.index() + usize::from(negated);
    let first = word + 2;
    let opens = [first - 1, first].iter().all(|at| *token(parser, *at) == Token::LParen);
    if !is_word(token(parser, word), &["in"]) || !opens {
        return None;
    }
    behind_query(parser, first)?;
    let next = token(parser, closing(parser, first + 1)? + 1);
    if *next == Token::RParen || is_word(next, &GOES_ON) {
        return None;
    }
    for _ in parser.index()..first {
        parser.advance_token();
    }
    let expr = Box::new(expr.clone());
    let list = parser.parse_comma_separated(Parser::parse_expr);
    Some(list.and_then(|list| {
        parser.expect_token(&Token::RParen)?;
        Ok(Expr::InList { expr, list, negated })
    }))
}

fn subquery(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}

fn token<'a>(parser: &'a Parser<'_>, at: usize) -> &'a Token {
    &parser.token_at(at).token
}

fn is_word(token: &Token, words: &[&str]) -> bool {
    matches!(token, Token::Word(word)
        if word.quote_style.is_none() && words.contains(&word.value.as_str()))
}

/// Whether a query begins with VALUES or TABLE at `at`. `values` is the name of a column unless a
/// parenthesis follows.
fn is_values_or_table(parser: &Parser<'_>, at: usize) -> bool {
    let word = token(parser, at);
    let has_rows = *token(parser, at + 1) == Token::LParen;
    is_word(word, &["table"]) || (has_rows && is_word(word, &["values"]))
}

/// Whether the parenthesis at `at` is the first thing inside the one of ANY, SOME or ALL.
fn follows_any(parser: &Parser<'_>, at: usize) -> bool {
    at >= 2
        && *token(parser, at - 1) == Token::LParen
        && is_word(token(parser, at - 2), &["any", "some", "all"])
}

/// What goes on behind the innermost query at `at`; `None` if a value is there.
fn behind_query(parser: &Parser<'_>, at: usize) -> Option<Behind> {
    let mut depth = 0;
    while *token(parser, at + depth) == Token::LParen {
        depth += 1;
    }
    let mut end = at + depth;
    if !is_word(token(parser, end), &["select", "with"]) && !is_values_or_table(parser, end) {
        return None;
    }
    let mut behind = Behind::default();
    // From the innermost pair outwards.
    while depth > 0 {
        end = closing(parser, end)? + 1;
        depth -= 1;
        let next = token(parser, end);
        let goes_on = is_word(next, &GOES_ON);
        match (goes_on, depth) {
            (_, 0) => behind.outside = goes_on,
            (true, _) => behind.inside = true,
            (false, _) if *next == Token::RParen => {}
            (false, _) => return None,
        }
    }
    Some(behind)
}

/// The parenthesis that closes the one before `from`.
fn closing(parser: &Parser<'_>, from: usize) -> Option<usize> {
    let mut depth = 0;
    for at in from.. {
        match token(parser, at) {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return Some(at),
            Token::RParen => depth -= 1,
            Token::EOF | Token::SemiColon => return None,
            _ => {}
        }
    }
    None
}
