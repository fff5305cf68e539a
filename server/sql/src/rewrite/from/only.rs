//! `ONLY t` and `ONLY (t)`: the name loses the word and gets a mark.

use sqlparser::ast::ObjectName;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::Result;

use crate::rewrite::refusals::unexpected;
use crate::rewrite::words::{is_word, names, word};

/// The quote of a name behind ONLY: sqlparser prints it, and PostgreSQL's lexer has none such.
const ONLY_MARK: char = '`';

/// Whether a relation was named behind ONLY, which leaves out its partitions.
pub fn is_only(name: &ObjectName) -> bool {
    let first = name.0.first().and_then(|part| part.as_ident());
    first.is_some_and(|ident| ident.quote_style == Some(ONLY_MARK))
}

/// Rewrites `ONLY` at `at`; returns where to go on. 42601 if no table follows.
pub(crate) fn rewrite(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Result<Option<usize>> {
    if !follows_from(out.last()) || alters_table(out) {
        return Ok(None);
    }
    let is = |at: usize, symbol: &Token| tokens.get(at).is_some_and(|t| t.token == *symbol);
    let first = at + 1 + usize::from(is(at + 1, &Token::LParen));
    let Some(name) = tokens.get(first).filter(|name| names(Some(name))) else { return Ok(None) };
    let mut end = first + 1;
    while is(end, &Token::Period)
        && matches!(tokens.get(end + 1), Some(TokenWithSpan { token: Token::Word(_), .. }))
    {
        end += 2;
    }
    let has_parens = first > at + 1;
    let is_wrong = if has_parens { !is(end, &Token::RParen) } else { is(end, &Token::LParen) };
    if let Some(wrong) = tokens.get(end).filter(|_| is_wrong) {
        return Err(unexpected(wrong));
    }
    out.push(mark_only(name));
    out.extend_from_slice(&tokens[first + 1..end]);
    Ok(Some(end + usize::from(has_parens)))
}

/// Whether a table follows this token.
fn follows_from(previous: Option<&TokenWithSpan>) -> bool {
    matches!(previous.map(|token| &token.token), Some(Token::Comma))
        || matches!(
            word(previous),
            Some("from" | "join" | "using" | "update" | "table" | "truncate" | "exists")
        )
}

/// A name behind ONLY, marked by a quote that no text can have.
fn mark_only(name: &TokenWithSpan) -> TokenWithSpan {
    let mut marked = name.clone();
    if let Token::Word(word) = &mut marked.token {
        word.quote_style = Some(ONLY_MARK);
    }
    marked
}

/// Whether the tokens are `ALTER TABLE [IF EXISTS]`, whose parser takes ONLY itself.
fn alters_table(out: &[TokenWithSpan]) -> bool {
    let back = if is_word(out, 1, "exists") { 3 } else { 1 };
    is_word(out, back, "table")
        && (is_word(out, back + 1, "alter") || is_word(out, back + 1, "lock"))
}
