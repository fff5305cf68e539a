//! Errors of texts and bytes that are no value.

use crate::{Error, SqlState};

/// 42601 in PostgreSQL's words.
pub(super) fn syntax_error(what: &str, text: &str) -> Error {
    Error::new(SqlState::SyntaxError, format!("syntax error in {what}: \"{text}\""))
}

/// XX000 for bytes that are no value.
pub(super) fn corrupt(what: &str) -> Error {
    Error::internal(format!("the bytes of a {what} are corrupt"))
}
