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

/// An `aclitem` taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclParts {
    /// Who has the privileges; empty for everybody.
    pub grantee: String,
    /// The letters of the privileges, each with a star after it if it may be passed on.
    pub letters: String,
    /// Who granted them.
    pub grantor: String,
}

/// The parts of an `aclitem`, role names without their quotes. 22P02 if it is none.
pub fn split_aclitem(text: &str) -> Result<AclParts> {
    let body = parse_aclitem(text)?;
    let rest = split_at_equals(body).unwrap_or_default();
    let grantee = &body[..body.len() - rest.len()];
    let (letters, grantor) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(AclParts {
        grantee: unquoted(grantee.strip_suffix('=').unwrap_or(grantee)),
        letters: letters.to_owned(),
        grantor: unquoted(grantor),
    })
}

fn unquoted(name: &str) -> String {
    let inside = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.map_or_else(|| name.to_owned(), |inside| inside.replace("\"\"", "\""))
}

/// A role's name as an `aclitem` has it: in quotes unless it is letters, digits and underscores.
pub fn acl_role(name: &str) -> String {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}
