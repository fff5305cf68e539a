//! Literals with the name of a type in a schema before them, which sqlparser lacks:
//! `pg_catalog.numeric(3, 1) '2.5'` becomes `cast('2.5' as pg_catalog.numeric(3, 1))`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::lex::tokens::word_token;

/// Whether a string behind this token may be such a literal.
pub(crate) fn may_precede(previous: Option<&Token>) -> bool {
    matches!(previous, Some(Token::Word(_) | Token::RParen))
}

/// Whether a token is a string.
pub(crate) fn is_string(token: &Token) -> bool {
    use Token::{DollarQuotedString, EscapedStringLiteral, SingleQuotedString};
    matches!(token, SingleQuotedString(_) | EscapedStringLiteral(_) | DollarQuotedString(_))
}

/// Rewrites the literal at `at`; returns where to go on.
pub(crate) fn rewrite(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    let token = |at: usize| tokens.get(at).map(|token| &token.token);
    let is_name = matches!(
        (token(at), token(at + 1), token(at + 2)),
        (Some(Token::Word(_)), Some(Token::Period), Some(Token::Word(_)))
    );
    if !is_name || out.last().is_some_and(|last| last.token == Token::Period) {
        return None;
    }
    let mut end = at + 3;
    if token(end) == Some(&Token::LParen) {
        end += 1;
        while matches!(token(end), Some(Token::Number(..) | Token::Comma | Token::Minus)) {
            end += 1;
        }
        if token(end) != Some(&Token::RParen) {
            return None;
        }
        end += 1;
    }
    let literal = tokens.get(end).filter(|literal| is_string(&literal.token))?;
    let added = |token| TokenWithSpan { token, span: tokens[at].span };
    out.push(added(word_token("cast".into(), None)));
    out.push(added(Token::LParen));
    out.push(literal.clone());
    out.push(added(word_token("as".into(), None)));
    out.extend_from_slice(&tokens[at..end]);
    out.push(TokenWithSpan { token: Token::RParen, span: literal.span });
    Some(end + 1)
}
