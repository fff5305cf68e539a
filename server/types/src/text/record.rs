//! Record literals. How their fields read and print is the business of the caller.

use super::syntax::is_blank;
use crate::{Datum, Error, Result, SqlState, SqlType};

/// Appends `(a,"b c",)`; fields beyond the known types print by their own kind.
///
/// `write_field` appends a field that is not NULL, before quotes.
pub(super) fn format_record(
    types: &[(String, SqlType)],
    fields: &[Datum],
    write_field: impl Fn(&SqlType, &Datum, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.push(b'(');
    let mut text = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if field.is_null() {
            continue;
        }
        text.clear();
        let ty = types.get(at).map_or(&SqlType::Unknown, |(_, ty)| ty);
        write_field(ty, field, &mut text);
        let special = |b: &u8| {
            matches!(b, b'"' | b'\\' | b'(' | b')' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 11 | 12)
        };
        if !text.is_empty() && !text.iter().any(special) {
            out.extend_from_slice(&text);
            continue;
        }
        out.push(b'"');
        for byte in &text {
            if matches!(byte, b'"' | b'\\') {
                out.push(*byte);
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    out.push(b')');
}

/// Parses `(a,"b c",)` with known field types.
pub(super) fn parse_record(
    types: &[(String, SqlType)],
    text: &str,
    parse_field: impl Fn(&SqlType, &str) -> Result<Datum>,
) -> Result<Vec<Datum>> {
    let malformed = |detail: &str| {
        Error::new(
            SqlState::InvalidTextRepresentation,
            format!("malformed record literal: \"{text}\""),
        )
        .detail(detail)
    };
    let body = text.trim_matches(is_blank);
    let Some(inner) = body.strip_prefix('(') else {
        return Err(malformed("Missing left parenthesis."));
    };
    let mut fields: Vec<Option<String>> = Vec::new();
    let mut field: Option<String> = None;
    let mut quoted = false;
    let mut chars = inner.chars().peekable();
    let mut closed = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                field.get_or_insert_default();
            }
            '\\' => match chars.next() {
                Some(c) => field.get_or_insert_default().push(c),
                None => return Err(malformed("Unexpected end of input.")),
            },
            ',' if !quoted => fields.push(field.take()),
            ')' if !quoted => {
                fields.push(field.take());
                closed = true;
                break;
            }
            c => field.get_or_insert_default().push(c),
        }
    }
    if !closed {
        return Err(malformed("Unexpected end of input."));
    }
    if chars.next().is_some() {
        return Err(malformed("Junk after right parenthesis."));
    }
    // `()` has no field if the type has none.
    if types.is_empty() && fields == [None] {
        return Ok(Vec::new());
    }
    match fields.len().cmp(&types.len()) {
        std::cmp::Ordering::Less => return Err(malformed("Too few columns.")),
        std::cmp::Ordering::Greater => return Err(malformed("Too many columns.")),
        std::cmp::Ordering::Equal => {}
    }
    let values = fields.into_iter().zip(types).map(|(field, (_, ty))| match field {
        None => Ok(Datum::Null),
        Some(field) => parse_field(ty, &field),
    });
    values.collect()
}
