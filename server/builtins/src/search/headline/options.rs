//! Options of headlines: `StartSel = <b>, MaxWords=20`.

use braid_types::{Error, Result, SqlState};

/// 42601 for a list of options that cannot be read.
fn invalid_list(written: &str) -> Error {
    let message = format!("invalid parameter list format: \"{written}\"");
    Error::new(SqlState::SyntaxError, message)
}

/// 22P02 for an option that is to be a number.
pub(super) fn no_integer(value: &str) -> Error {
    let message = format!("invalid input syntax for type integer: \"{value}\"");
    Error::new(SqlState::InvalidTextRepresentation, message)
}

/// Names and values. Both may be in quotes; a comma or a blank ends a plain value.
pub(super) fn split(written: &str) -> Result<Vec<(String, String)>> {
    let mut options = Vec::new();
    let mut rest = written;
    let is_gap = |c: char| c.is_whitespace() || c == ',';
    loop {
        rest = rest.trim_start_matches(is_gap);
        if rest.is_empty() {
            return Ok(options);
        }
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted, '"').ok_or_else(|| invalid_list(written))?,
            None => {
                let is_end = |c: char| c.is_whitespace() || c == '=';
                let end = rest.find(is_end).ok_or_else(|| invalid_list(written))?;
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let after = after.trim_start().strip_prefix('=').filter(|_| starts_well);
        let after = after.ok_or_else(|| invalid_list(written))?.trim_start();
        let (value, after) = match after.chars().next() {
            None => return Err(invalid_list(written)),
            Some(quote @ ('"' | '\'')) => {
                quoted_part(&after[1..], quote).ok_or_else(|| invalid_list(written))?
            }
            Some(_) => {
                let end = after.find(is_gap).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        options.push((name, value));
        rest = after;
    }
}

/// What is in quotes, which stand for one where there are two, and what follows.
fn quoted_part(text: &str, quote: char) -> Option<(String, &str)> {
    let (mut part, mut rest) = (String::new(), text);
    loop {
        let end = rest.find(quote)?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(after) => {
                part.push(quote);
                rest = after;
            }
            None => return Some((part, rest)),
        }
    }
}
