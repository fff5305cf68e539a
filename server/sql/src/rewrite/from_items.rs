//! Forms of FROM that sqlparser lacks, written as ones that it knows.
//!
//! | written | parsed as |
//! |---|---|
//! | `f(x) AS (a int)` | `f(x) AS f (a int)` |
//! | `ROWS FROM (f(x), g(y))` | the table function `"\u{1}rows from"(f(x), g(y))` |
//! | `JOIN t USING (a, b) AS j` | `JOIN t USING (a, b, "\u{1}as".j)` |

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result};

use super::words::{position, word};
use crate::lex::tokens::word_token;

/// The name of the function that stands for `ROWS FROM`. No user can write it.
pub(super) const ROWS_FROM: &str = "\u{1}rows from";

/// What stands before the alias of USING. No user can write it.
const USING_ALIAS: &str = "\u{1}as";

/// Whether a table function is a list `ROWS FROM (…)`, whose arguments are the functions.
pub fn is_rows_from(name: &ObjectName) -> bool {
    matches!(&name.0[..], [part] if part.as_ident().is_some_and(|name| name.value == ROWS_FROM))
}

/// The columns of USING, and the alias of the join.
pub fn split_using(names: &[ObjectName]) -> (&[ObjectName], Option<&Ident>) {
    let Some((last, columns)) = names.split_last() else { return (names, None) };
    match &last.0[..] {
        [mark, alias] if mark.as_ident().is_some_and(|mark| mark.value == USING_ALIAS) => {
            (columns, alias.as_ident())
        }
        _ => (names, None),
    }
}

/// Whether `AS` after this token may need a rewrite.
pub(crate) fn may_precede_as(previous: Option<&Token>) -> bool {
    match previous {
        Some(Token::RParen) => true,
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value == "ordinality",
        _ => false,
    }
}

/// Rewrites `ROWS FROM (` at `at`; returns where to go on.
pub(crate) fn rows_from(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    let begins_item = matches!(word(out.last()), Some("from" | "join" | "lateral" | "using"))
        || out.last().is_some_and(|token| matches!(token.token, Token::Comma | Token::LParen));
    let opens = tokens.get(at + 2).is_some_and(|token| token.token == Token::LParen);
    if !begins_item || word(tokens.get(at + 1)) != Some("from") || !opens {
        return None;
    }
    let token = word_token(ROWS_FROM.into(), Some('"'));
    out.push(TokenWithSpan { token, span: tokens[at].span });
    Some(at + 2)
}

/// Rewrites `AS` at `at`: the alias of USING, or a column definition list without an alias.
/// Returns where to go on.
pub(crate) fn alias(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Result<Option<usize>> {
    let span = tokens[at].span;
    if defines_columns(tokens, at + 1) {
        let end = if word(out.last()) == Some("ordinality") { 2 } else { 0 };
        let Some(open) = opening(out, out.len().saturating_sub(end + 1)) else { return Ok(None) };
        let Some(name) = open.checked_sub(1).and_then(|at| out.get(at)).cloned() else {
            return Ok(None);
        };
        if !matches!(name.token, Token::Word(_)) {
            return Ok(None);
        }
        if in_rows_from(out, open) {
            let what = "a column definition list in ROWS FROM";
            return Err(Error::unsupported(what).position(position(span)));
        }
        out.push(tokens[at].clone());
        out.push(TokenWithSpan { token: name.token, span });
        return Ok(Some(at + 1));
    }
    let Some(Token::Word(_)) = tokens.get(at + 1).map(|token| &token.token) else {
        return Ok(None);
    };
    let Some(open) = opening(out, out.len().saturating_sub(1)) else { return Ok(None) };
    let is_list =
        out[open + 1..out.len() - 1].iter().enumerate().all(|(place, token)| match &token.token {
            Token::Word(_) => place % 2 == 0,
            Token::Comma => place % 2 == 1,
            _ => false,
        });
    let is_using = open.checked_sub(1).is_some_and(|at| word(out.get(at)) == Some("using"));
    if !is_list || !is_using {
        return Ok(None);
    }
    out.pop();
    let mark = word_token(USING_ALIAS.into(), Some('"'));
    for token in [Token::Comma, mark, Token::Period] {
        out.push(TokenWithSpan { token, span });
    }
    out.push(tokens[at + 1].clone());
    // The text of a query ends where its last token does.
    out.push(TokenWithSpan { token: Token::RParen, span: tokens[at + 1].span });
    Ok(Some(at + 2))
}

/// Whether `(name type …` begins at `at`.
fn defines_columns(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_word =
        |at: usize| tokens.get(at).is_some_and(|token| matches!(token.token, Token::Word(_)));
    let begins_statement = matches!(
        word(tokens.get(at + 1)),
        Some(
            "select"
                | "values"
                | "with"
                | "table"
                | "insert"
                | "upsert"
                | "update"
                | "delete"
                | "merge"
        )
    );
    tokens.get(at).is_some_and(|token| token.token == Token::LParen)
        && is_word(at + 1)
        && is_word(at + 2)
        && !begins_statement
}

/// Where the parenthesis opens that closes at `close`.
fn opening(tokens: &[TokenWithSpan], close: usize) -> Option<usize> {
    if tokens.get(close)?.token != Token::RParen {
        return None;
    }
    let mut depth = 0_usize;
    for at in (0..=close).rev() {
        match tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 1 => return Some(at),
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether the call that opens at `open` is an item of `ROWS FROM (…)`.
fn in_rows_from(out: &[TokenWithSpan], open: usize) -> bool {
    let mut depth = 0_usize;
    for at in (0..open).rev() {
        match &out[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => {
                return at.checked_sub(1).is_some_and(|before| {
                    matches!(&out[before].token, Token::Word(word) if word.value == ROWS_FROM)
                });
            }
            Token::LParen => depth -= 1,
            Token::SemiColon => return false,
            _ => {}
        }
    }
    false
}
