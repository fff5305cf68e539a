//! Literals of ranges and multiranges. How their bounds read and print is the business of the
//! caller.

use std::ops::Bound;

use super::syntax::is_blank;
use crate::range::{Range, RangeKind, normalized};
use crate::scratch::Scratch;
use crate::{Datum, Error, Result, SqlState, work};

fn malformed(what: &str, text: &str, detail: &str) -> Error {
    let message = format!("malformed {what} literal: \"{text}\"");
    Error::new(SqlState::InvalidTextRepresentation, message).detail(detail)
}

/// What follows a word at the beginning of a text, in any case.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}

/// Parses `[1,5)`, `("a b",]` or `empty`.
pub(super) fn parse_range(
    kind: RangeKind,
    text: &str,
    parse_value: impl Fn(&str) -> Result<Datum>,
) -> Result<Range> {
    let malformed = |detail: &str| malformed("range", text, detail);
    let body = text.trim_start_matches(is_blank);
    if let Some(rest) = after_word(body, "empty") {
        return match rest.trim_start_matches(is_blank) {
            "" => Ok(Range::Empty),
            _ => Err(malformed("Junk after \"empty\" key word.")),
        };
    }
    let (is_lower_inclusive, rest) = match (body.strip_prefix('['), body.strip_prefix('(')) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(malformed("Missing left parenthesis or bracket.")),
    };
    let unfinished = || malformed("Unexpected end of input.");
    let (lower, rest) = bound_text(rest).ok_or_else(unfinished)?;
    let Some(rest) = rest.strip_prefix(',') else {
        return Err(malformed("Missing comma after lower bound."));
    };
    let (upper, rest) = bound_text(rest).ok_or_else(unfinished)?;
    let (is_upper_inclusive, rest) = match (rest.strip_prefix(']'), rest.strip_prefix(')')) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(malformed("Too many commas.")),
    };
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(malformed("Junk after right parenthesis or bracket."));
    }
    let bound = |value: Option<String>, is_inclusive: bool| {
        let Some(value) = value else { return Ok(Bound::Unbounded) };
        let value = parse_value(&value)?;
        Ok(if is_inclusive { Bound::Included(value) } else { Bound::Excluded(value) })
    };
    let lower = bound(lower, is_lower_inclusive)?;
    Range::new(kind, lower, bound(upper, is_upper_inclusive)?)
}

/// The text of a bound without its quotes, `None` for an infinite one, and what follows it; `None`
/// if the text ends before.
fn bound_text(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let mut value = String::new();
    let mut is_quoted = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            ',' | ')' | ']' if !is_quoted => return Some((Some(value), text.get(at..)?)),
            '\\' => value.push(chars.next()?.1),
            '"' if !is_quoted => is_quoted = true,
            '"' if chars.next_if(|(_, next)| *next == '"').is_some() => value.push('"'),
            '"' => is_quoted = false,
            c => value.push(c),
        }
    }
    None
}

/// Appends a range; `write_value` appends a bound before quotes.
pub(super) fn format_range(
    range: &Range,
    write_value: impl Fn(&Datum, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    let Range::Between(lower, upper) = range else {
        out.extend_from_slice(b"empty");
        return;
    };
    out.push(if matches!(lower, Bound::Included(_)) { b'[' } else { b'(' });
    put_bound(lower, &write_value, out);
    out.push(b',');
    put_bound(upper, &write_value, out);
    out.push(if matches!(upper, Bound::Included(_)) { b']' } else { b')' });
}

fn put_bound(bound: &Bound<Datum>, write_value: impl Fn(&Datum, &mut Vec<u8>), out: &mut Vec<u8>) {
    let (Bound::Included(value) | Bound::Excluded(value)) = bound else { return };
    let mut text = Vec::new();
    write_value(value, &mut text);
    let is_special = |byte: &u8| {
        matches!(byte, b'"' | b'\\' | b'(' | b')' | b'[' | b']' | b',')
            || is_blank(char::from(*byte))
    };
    if !text.is_empty() && !text.iter().any(is_special) {
        out.extend_from_slice(&text);
        return;
    }
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Where the text of a multirange is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeRange,
    InRange,
    InEscape,
    InQuotes,
    InQuotedEscape,
    AfterRange,
    Finished,
}

/// Where the text is after a character inside of a range that does not end it.
fn inside_range(place: Place, c: char) -> Place {
    match (place, c) {
        (Place::InRange, '"') => Place::InQuotes,
        (Place::InRange, '\\') => Place::InEscape,
        (Place::InEscape, _) => Place::InRange,
        (Place::InQuotes, '"') => Place::InRange,
        (Place::InQuotes, '\\') => Place::InQuotedEscape,
        (Place::InQuotedEscape, _) => Place::InQuotes,
        (place, _) => place,
    }
}

/// Parses `{[1,5),(7,)}`.
pub(super) fn parse_multirange(
    text: &str,
    parse_range: impl Fn(&str) -> Result<Range>,
) -> Result<Vec<Range>> {
    let malformed = |detail: &str| malformed("multirange", text, detail);
    let Some(body) = text.trim_start_matches(is_blank).strip_prefix('{') else {
        return Err(malformed("Missing left brace."));
    };
    let (mut ranges, mut scratch) = (Vec::new(), Scratch::default());
    let (mut place, mut start, mut seen) = (Place::BeforeRange, 0, 0);
    let mut chars = body.char_indices().peekable();
    while place != Place::Finished {
        work::tick()?;
        let Some((at, c)) = chars.next() else {
            return Err(malformed("Unexpected end of input."));
        };
        if is_blank(c) {
            continue;
        }
        place = match (place, c) {
            (Place::BeforeRange, '[' | '(') => {
                start = at;
                Place::InRange
            }
            (Place::BeforeRange, '}') if seen == 0 => Place::Finished,
            (Place::BeforeRange, _) => {
                if body.get(at..).and_then(|rest| after_word(rest, "empty")).is_none() {
                    return Err(malformed("Expected range start."));
                }
                seen += 1;
                chars.by_ref().take("mpty".len()).for_each(drop);
                Place::AfterRange
            }
            (Place::InRange, ']' | ')') => {
                let range = parse_range(body.get(start..=at).unwrap_or_default())?;
                scratch.add(range.size_bytes())?;
                ranges.push(range);
                seen += 1;
                Place::AfterRange
            }
            (Place::AfterRange, ',') => Place::BeforeRange,
            (Place::AfterRange, '}') => Place::Finished,
            (Place::AfterRange, _) => {
                return Err(malformed("Expected comma or end of multirange."));
            }
            (Place::InQuotes, '"') if chars.next_if(|(_, next)| *next == '"').is_some() => place,
            (place, c) => inside_range(place, c),
        };
    }
    let rest = chars.next().and_then(|(at, _)| body.get(at..)).unwrap_or_default();
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(malformed("Junk after closing right brace."));
    }
    normalized(ranges)
}
