//! Forms of other dialects that show in a few tokens, and that sqlparser takes.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use super::words::{position, word};

/// Whether this word begins a query behind a parenthesis.
pub(super) fn begins_query(word: &str, previous: Option<&Token>) -> bool {
    previous == Some(&Token::LParen) && matches!(word, "select" | "values" | "with" | "table")
}

/// 42601 if the parenthesis that closes at `at` is empty, behind a keyword that needs arguments.
pub(super) fn refuse_empty_list(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let word = |back: usize| at.checked_sub(back).and_then(|place| word(tokens.get(place)));
    let needs_arguments = match word(2) {
        Some("coalesce" | "greatest" | "least" | "grouping" | "nullif" | "trim") => {
            // Tables may have these names.
            !matches!(word(3), Some("table" | "exists"))
        }
        Some("current_time" | "current_timestamp" | "localtime" | "localtimestamp") => true,
        Some("on") => word(3) == Some("distinct"),
        _ => false,
    };
    if !needs_arguments {
        return Ok(());
    }
    let message = "syntax error at or near \")\"";
    Err(Error::new(SqlState::SyntaxError, message).position(position(tokens[at].span)))
}

/// 42601 if the number at `at` is a modifier of a type whose keyword takes none: `int(3)`.
pub(super) fn refuse_modifier(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let word = |back: usize| at.checked_sub(back).and_then(|place| word(tokens.get(place)));
    let is_bare = match word(2) {
        Some("int" | "integer" | "smallint" | "bigint" | "real" | "boolean") => true,
        Some("precision") => word(3) == Some("double"),
        _ => false,
    };
    if !is_bare {
        return Ok(());
    }
    let message = "syntax error at or near \"(\"";
    Err(Error::new(SqlState::SyntaxError, message).position(position(tokens[at - 1].span)))
}
