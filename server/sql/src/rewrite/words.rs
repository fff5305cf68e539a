//! Words and places of tokens.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The unquoted word of a token, in lower case.
pub(crate) fn word(token: Option<&TokenWithSpan>) -> Option<&str> {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(&word.value),
        _ => None,
    }
}

/// The 1-based character offset of a span, 0 for an unknown one.
pub(crate) fn position(span: Span) -> u32 {
    u32::try_from(span.start.column).unwrap_or(u32::MAX)
}
