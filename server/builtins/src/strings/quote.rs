//! Quoting: identifiers, literals, and taking identifiers apart.

use braid_sql::{quote_ident, quote_literal};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

fn literal(call: &Call<'_>) -> Result<Datum> {
    if let Datum::Text(value) = call.datum(0) {
        return text(quote_literal(value));
    }
    let value = call.cast(0, &SqlType::Text)?;
    text(quote_literal(value.as_str().unwrap_or_default()))
}

fn nullable(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) { text("NULL") } else { literal(call) }
}

/// The parts of a possibly quoted, possibly qualified name; `None` if it is malformed.
pub(crate) fn split_identifier(name: &str) -> Option<Vec<String>> {
    split_parts(name, |rest| {
        let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
        let end = rest.find(|c: char| !inside(c)).unwrap_or(rest.len());
        let is_letter = rest.starts_with(|c: char| !c.is_ascii_digit() && c != '$');
        if is_letter { end } else { 0 }
    })
}

/// The same for names of objects in the catalogs: a part without quotes ends at a dot or a blank.
pub(crate) fn split_object_name(name: &str) -> Option<Vec<String>> {
    split_parts(name, |rest| {
        rest.find(|c: char| c == '.' || c.is_whitespace()).unwrap_or(rest.len())
    })
}

/// `end_of` says where a part without quotes ends; 0 if none can begin there.
fn split_parts(name: &str, end_of: impl Fn(&str) -> usize) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = name.trim_start();
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut end = 0;
            loop {
                end += quoted[end..].find('"')?;
                if quoted[end + 1..].starts_with('"') {
                    end += 2;
                } else {
                    break;
                }
            }
            if end == 0 {
                return None;
            }
            part = quoted[..end].replace("\"\"", "\"");
            rest = &quoted[end + 1..];
        } else {
            let end = end_of(rest);
            if end == 0 {
                return None;
            }
            part = rest[..end].to_lowercase();
            rest = &rest[end..];
        }
        parts.push(part);
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

fn parse_ident(call: &Call<'_>) -> Result<Datum> {
    let name = call.text(0)?;
    let parts = split_identifier(name).ok_or_else(|| {
        let message = format!("string is not a valid identifier: \"{name}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    Ok(Datum::array(SqlType::Text, parts.into_iter().map(Datum::text).collect()))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("quote_ident(text) -> text", |c| text(quote_ident(c.text(0)?)));
    registry.add("quote_literal(text) -> text", literal);
    registry.add("quote_literal(anyelement) -> text stable", literal);
    registry.add("quote_nullable(text) -> text lax", nullable);
    registry.add("quote_nullable(anyelement) -> text stable lax", nullable);
    registry.add("parse_ident(text) -> text[]", parse_ident);
    registry.add("parse_ident(text, bool) -> text[]", parse_ident);
}
