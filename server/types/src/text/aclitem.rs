//! `aclitem`: `grantee=privileges/grantor`, as PostgreSQL prints a privilege.
//!
//! Here: its form. Not here: whether the roles exist, which only the catalog knows.

use crate::{Error, Result, SqlState};

/// PostgreSQL's letters of privileges.
const PRIVILEGES: &str = "arwdDxtXUCTcsA";

/// The text without a leading `user`; 22P02 if it is no privilege.
pub(super) fn parse_aclitem(text: &str) -> Result<&str> {
    let invalid = |message: String| Error::new(SqlState::InvalidTextRepresentation, message);
    let text = text.trim();
    let body = match text.split_once(' ') {
        Some(("user" | "group", rest)) => rest.trim_start(),
        _ => text,
    };
    let Some(rest) = split_at_equals(body) else {
        let word = body.split(' ').next().unwrap_or_default();
        return Err(invalid(format!("unrecognized key word: \"{word}\""))
            .hint("ACL key word must be \"group\" or \"user\"."));
    };
    let (letters, grantor) = match rest.split_once('/') {
        Some((letters, grantor)) => (letters, Some(grantor)),
        None => (rest, None),
    };
    if letters.chars().any(|c| c != '*' && !PRIVILEGES.contains(c)) {
        let message = format!("invalid mode character: must be one of \"{PRIVILEGES}\"");
        return Err(invalid(message));
    }
    if grantor.is_none_or(str::is_empty) {
        return Err(invalid("a name must follow the \"/\" sign".to_owned()));
    }
    Ok(body)
}

/// What follows the equals sign outside of quotes.
fn split_at_equals(text: &str) -> Option<&str> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '=' if !quoted => return Some(&text[at + 1..]),
            _ => {}
        }
    }
    None
}
