//! `standard_conforming_strings = off`: a backslash in a plain string is an escape.
//!
//! Such a text is rewritten before it is parsed. A plain string that has a backslash gets an `E`
//! in front, so that no plan and no cache has to know the setting.

use braid_types::{Error, Result, SqlState};

use super::tokens::{EscapedString, escaped_strings};

/// The text with an `E` before each plain string that has a backslash, and a warning for each of
/// them; `None` if it has no such string.
pub fn with_escape_strings(text: &str) -> Result<Option<(String, Vec<Error>)>> {
    if !text.contains('\\') {
        return Ok(None);
    }
    let strings = escaped_strings(text)?;
    if strings.is_empty() {
        return Ok(None);
    }
    let mut rewritten = String::with_capacity(text.len() + strings.len());
    let mut from = 0;
    for string in &strings {
        rewritten.push_str(text.get(from..string.at).unwrap_or_default());
        // `N'…'` is a plain string too.
        let is_plain = text.get(string.at..).is_some_and(|rest| rest.starts_with('\''));
        from = if is_plain { string.at } else { string.at + 1 };
        rewritten.push('E');
    }
    rewritten.push_str(text.get(from..).unwrap_or_default());
    Ok(Some((rewritten, strings.iter().map(warning).collect())))
}

/// What PostgreSQL says of the first backslash of a plain string.
fn warning(string: &EscapedString) -> Error {
    let (what, hint) = match string.first {
        Some('\'') => {
            (r"\'", "Use '' to write quotes in strings, or use the escape string syntax (E'...').")
        }
        Some('\\') => (r"\\", r"Use the escape string syntax for backslashes, e.g., E'\\'."),
        _ => ("escape", r"Use the escape string syntax for escapes, e.g., E'\r\n'."),
    };
    let message = format!("nonstandard use of {what} in a string literal");
    Error::new(SqlState::NonstandardUseOfEscapeCharacter, message)
        .hint(hint)
        .position(string.position)
}
