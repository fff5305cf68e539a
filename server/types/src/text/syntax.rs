//! What the literals of all types have: blanks, and the error for a text that is none.

use crate::{Error, SqlState};

/// 22P02 in PostgreSQL's words.
pub(crate) fn invalid_syntax(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::InvalidTextRepresentation,
        format!("invalid input syntax for type {type_name}: \"{text}\""),
    )
}

/// Blanks as C's `isspace` has them.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}
