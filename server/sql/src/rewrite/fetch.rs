//! `FETCH NEXT (1 + 1) ROWS ONLY` and `FETCH NEXT +1 ROWS ONLY`, of which sqlparser knows numbers
//! only. They become `LIMIT`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::word;
use crate::lex::tokens::word_token;

/// Where `ROWS ONLY` or `ROWS WITH TIES` stands after `FETCH FIRST (…)` at `at`, if that is there.
pub(crate) fn fetch_expression(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let ahead = |n: usize| word(tokens.get(n));
    if !matches!(ahead(at + 1), Some("first" | "next")) {
        return None;
    }
    let is_end = |end: usize| {
        let with_ties = ahead(end + 1) == Some("with") && ahead(end + 2) == Some("ties");
        let is_last = with_ties || ahead(end + 1) == Some("only");
        is_last && matches!(ahead(end), Some("row" | "rows"))
    };
    match &tokens.get(at + 2)?.token {
        Token::LParen => {}
        Token::Plus | Token::Minus => {
            let is_number = matches!(tokens.get(at + 3)?.token, Token::Number(..));
            return (is_number && is_end(at + 4)).then_some(at + 4);
        }
        Token::Word(_) if !matches!(ahead(at + 2), Some("row" | "rows")) => {
            return is_end(at + 3).then_some(at + 3);
        }
        _ => return None,
    }
    let mut depth = 0;
    let length = tokens[at + 2..].iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let end = at + 3 + length;
    is_end(end).then_some(end)
}

/// Ends a count of FETCH that has become one of LIMIT, and gives the number of tokens read.
///
/// `LIMIT (…) FETCH FIRST ROWS WITH TIES` keeps the ties: the count stands in LIMIT.
pub(crate) fn end_fetch(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> usize {
    if word(tokens.get(at + 1)) == Some("only") {
        return 2;
    }
    if let Some(token) = tokens.get(at) {
        let added =
            |name: &str| TokenWithSpan { token: word_token(name.into(), None), span: token.span };
        out.extend([added("fetch"), added("first"), token.clone()]);
    }
    1
}
