//! Words and places of tokens.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// Words that end a list of FROM.
pub(crate) const ENDING_WORDS: [&str; 17] = [
    "where",
    "group",
    "having",
    "window",
    "union",
    "intersect",
    "except",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "returning",
    "set",
    "when",
    "into",
    "do",
];

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

/// Whether the token `back` from the end is this word.
pub(crate) fn is_word(tokens: &[TokenWithSpan], back: usize, expected: &str) -> bool {
    tokens.len().checked_sub(back).is_some_and(|at| word(tokens.get(at)) == Some(expected))
}

/// Whether the tokens end with `INTO` or `INTO TEMP`.
pub(crate) fn follows_into(out: &[TokenWithSpan]) -> bool {
    let kinds = ["temp", "temporary", "unlogged"];
    let has_kind = kinds.iter().any(|kind| is_word(out, 1, kind));
    is_word(out, 1 + usize::from(has_kind), "into")
}

/// Whether the tokens end with `REINDEX (…)`.
pub(crate) fn follows_reindex(out: &[TokenWithSpan]) -> bool {
    let opened = out.iter().rposition(|token| token.token == Token::LParen);
    let is_closed = out.last().is_some_and(|token| token.token == Token::RParen);
    is_closed && opened.is_some_and(|opened| is_word(&out[..opened], 1, "reindex"))
}

/// Whether the next word is the event of a trigger.
pub(crate) fn names_event(out: &[TokenWithSpan]) -> bool {
    ["before", "after", "of", "or"].iter().any(|word| is_word(out, 1, word))
}

/// Whether the word at `at` is that of a temporary table.
pub(crate) fn names_temporary(tokens: &[TokenWithSpan], at: usize) -> bool {
    matches!(word(tokens.get(at)), Some("temp" | "temporary"))
}

/// Whether a token is a name, for `TABLE t` and `ONLY t`.
pub(crate) fn names(token: Option<&TokenWithSpan>) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_some()
                || crate::lex::keywords::is_column_name(&word.value)
                || word.value == "only"
        }
        _ => false,
    }
}
