//! Quoting: identifiers, literals, and taking identifiers apart.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::Call;
use crate::call::text;
use crate::registry::Registry;

/// Words that PostgreSQL reserves or treats specially, so that they are quoted as identifiers.
const KEYWORDS: &str = " all analyse analyze and any array as asc asymmetric authorization between \
    bigint binary bit boolean both case cast char character check coalesce collate collation \
    column concurrently constraint create cross current_catalog current_date current_role \
    current_schema current_time current_timestamp current_user dec decimal default deferrable \
    desc distinct do else end except exists extract false fetch float for foreign freeze from \
    full grant greatest group grouping having ilike in initially inner inout int integer \
    intersect interval into is isnull join lateral leading least left like limit localtime \
    localtimestamp national natural nchar none normalize not notnull null nullif numeric offset \
    on only or order out outer overlaps overlay placing position precision primary real \
    references returning right row select session_user setof similar smallint some substring \
    symmetric table tablesample then time timestamp to trailing treat trim true union unique \
    user using values varchar variadic verbose when where window with xmlattributes xmlconcat \
    xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

/// An identifier as it must be written: quoted only where needed.
pub(crate) fn quote_identifier(name: &str) -> String {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if starts && plain && !KEYWORDS.contains(&format!(" {name} ")) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal; with an `E` prefix if a backslash is in it.
pub(super) fn quote_literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    if quoted.contains('\\') {
        return format!("E'{}'", quoted.replace('\\', "\\\\"));
    }
    format!("'{quoted}'")
}

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
            let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
            let end = rest.find(|c: char| !inside(c)).unwrap_or(rest.len());
            let first = rest.chars().next()?;
            if end == 0 || first.is_ascii_digit() || first == '$' {
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
    registry.add("quote_ident(text) -> text", |c| text(quote_identifier(c.text(0)?)));
    registry.add("quote_literal(text) -> text", literal);
    registry.add("quote_literal(anyelement) -> text stable", literal);
    registry.add("quote_nullable(text) -> text lax", nullable);
    registry.add("quote_nullable(anyelement) -> text stable lax", nullable);
    registry.add("parse_ident(text) -> text[]", parse_ident);
    registry.add("parse_ident(text, bool) -> text[]", parse_ident);
}
