//! Array and record literals.

use std::sync::Arc;

use super::{FormatSettings, dispatch, is_blank};
use crate::{Array, Datum, Error, Result, SqlState, SqlType};

fn malformed(text: &str, detail: &str) -> Error {
    Error::new(SqlState::InvalidTextRepresentation, format!("malformed array literal: \"{text}\""))
        .detail(detail)
}

const NO_BRACE: &str = "Array value must start with \"{\" or dimension information.";
const UNEXPECTED_END: &str = "Unexpected end of input.";

/// The lower bound given by `[2:4]=`, and what follows it.
fn dimensions<'a>(text: &str, body: &'a str) -> Result<(i32, Option<i64>, &'a str)> {
    let Some(rest) = body.strip_prefix('[') else { return Ok((1, None, body)) };
    let Some((bounds, rest)) = rest.split_once(']') else {
        return Err(malformed(text, "Missing \"]\" after array dimensions."));
    };
    let number = |part: &str| {
        part.trim_matches(is_blank).parse::<i32>().map_err(|_| {
            malformed(text, "\"[\" must introduce explicitly-specified array dimensions.")
        })
    };
    let (low, high) = match bounds.split_once(':') {
        Some((low, high)) => (number(low)?, number(high)?),
        None => (1, number(bounds)?),
    };
    if high < low {
        return Err(Error::new(
            SqlState::ArraySubscriptError,
            "upper bound cannot be less than lower bound",
        ));
    }
    let rest = rest.trim_start_matches(is_blank);
    if rest.starts_with('[') {
        return Err(Error::unsupported("an array of more than one dimension"));
    }
    let Some(rest) = rest.strip_prefix('=') else {
        return Err(malformed(text, "Missing \"=\" after array dimensions."));
    };
    let rest = rest.trim_start_matches(is_blank);
    if !rest.starts_with('{') {
        return Err(malformed(text, "Array contents must start with \"{\"."));
    }
    Ok((low, Some(i64::from(high) - i64::from(low) + 1), rest))
}

/// Parses `{a,"b c",NULL}` with an optional `[2:4]=` before it.
pub(super) fn parse_array(
    element: &SqlType,
    text: &str,
    settings: &FormatSettings,
    now_micros: i64,
) -> Result<Array> {
    let body = text.trim_matches(is_blank);
    let (lower, length, body) = dimensions(text, body)?;
    let Some(inner) = body.strip_prefix('{') else { return Err(malformed(text, NO_BRACE)) };
    let mut items = Vec::new();
    let mut rest = inner.trim_start_matches(is_blank);
    if let Some(after) = rest.strip_prefix('}') {
        rest = after;
    } else {
        loop {
            let (item, after) = parse_element(text, rest)?;
            items.push(match item {
                None => Datum::Null,
                Some(item) => dispatch::parse(element, &item, settings, now_micros)?,
            });
            rest = after.trim_start_matches(is_blank);
            if let Some(after) = rest.strip_prefix(',') {
                rest = after.trim_start_matches(is_blank);
            } else if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            } else if rest.is_empty() {
                return Err(malformed(text, UNEXPECTED_END));
            } else {
                return Err(malformed(text, "Unexpected array element."));
            }
        }
    }
    if !rest.trim_matches(is_blank).is_empty() {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    if length.is_some_and(|length| length != items.len() as i64) {
        return Err(malformed(text, "Specified array dimensions do not match array contents."));
    }
    let lower = if items.is_empty() { 1 } else { lower };
    Ok(Array { element: element.clone(), lower, items })
}

/// One element's text (`None` for NULL) and what follows it.
fn parse_element<'a>(text: &str, rest: &'a str) -> Result<(Option<String>, &'a str)> {
    let mut out = String::new();
    let mut chars = rest.char_indices();
    if rest.starts_with('{') {
        return Err(Error::unsupported("an array of more than one dimension"));
    }
    if rest.starts_with('"') {
        chars.next();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return Ok((Some(out), &rest[at + 1..])),
                '\\' => match chars.next() {
                    Some((_, c)) => out.push(c),
                    None => return Err(malformed(text, UNEXPECTED_END)),
                },
                _ => out.push(c),
            }
        }
        return Err(malformed(text, UNEXPECTED_END));
    }
    let mut escaped = false;
    // Length up to the last character that is not a bare blank.
    let mut kept = 0;
    while let Some((at, c)) = chars.next() {
        match c {
            ',' | '}' => {
                out.truncate(kept);
                if out.is_empty() && !escaped {
                    return Err(malformed(text, &format!("Unexpected \"{c}\" character.")));
                }
                let null = !escaped && out.eq_ignore_ascii_case("null");
                return Ok(((!null).then_some(out), &rest[at..]));
            }
            '{' => return Err(malformed(text, "Unexpected \"{\" character.")),
            '"' => return Err(malformed(text, "Unexpected array element.")),
            '\\' => {
                let Some((_, c)) = chars.next() else {
                    return Err(malformed(text, UNEXPECTED_END));
                };
                escaped = true;
                out.push(c);
                kept = out.len();
            }
            c => {
                out.push(c);
                if !is_blank(c) {
                    kept = out.len();
                }
            }
        }
    }
    Err(malformed(text, UNEXPECTED_END))
}

/// Appends `{a,"b c",NULL}`.
pub(super) fn format_array(array: &Array, settings: &FormatSettings, out: &mut Vec<u8>) {
    if array.lower != 1 && !array.items.is_empty() {
        let upper = i64::from(array.lower) + array.items.len() as i64 - 1;
        out.extend_from_slice(format!("[{}:{upper}]=", array.lower).as_bytes());
    }
    out.push(b'{');
    let mut item_text = Vec::new();
    for (at, item) in array.items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if item.is_null() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        item_text.clear();
        dispatch::format(&array.element, item, settings, &mut item_text);
        quote_element(&item_text, out);
    }
    out.push(b'}');
}

/// Appends an array element, quoted if it needs to be.
pub fn quote_element(item: &[u8], out: &mut Vec<u8>) {
    let special = |b: &u8| {
        matches!(b, b'"' | b'\\' | b'{' | b'}' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 11 | 12)
    };
    if !item.is_empty() && !item.iter().any(special) && !item.eq_ignore_ascii_case(b"null") {
        out.extend_from_slice(item);
        return;
    }
    out.push(b'"');
    for byte in item {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// Appends `(a,"b c",)`; fields beyond the known types print by their own kind.
pub fn format_record(
    types: &[(String, SqlType)],
    fields: &[Datum],
    settings: &FormatSettings,
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
        dispatch::format(ty, field, settings, &mut text);
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
    settings: &FormatSettings,
    now_micros: i64,
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
                None => return Err(malformed(UNEXPECTED_END)),
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
        return Err(malformed(UNEXPECTED_END));
    }
    if chars.next().is_some() {
        return Err(malformed("Junk after right parenthesis."));
    }
    match fields.len().cmp(&types.len()) {
        std::cmp::Ordering::Less => return Err(malformed("Too few columns.")),
        std::cmp::Ordering::Greater => return Err(malformed("Too many columns.")),
        std::cmp::Ordering::Equal => {}
    }
    let values = fields.into_iter().zip(types).map(|(field, (_, ty))| match field {
        None => Ok(Datum::Null),
        Some(field) => dispatch::parse(ty, &field, settings, now_micros),
    });
    values.collect()
}

/// The datum that holds the array.
impl From<Array> for Datum {
    fn from(array: Array) -> Self {
        Datum::Array(Arc::new(array))
    }
}
