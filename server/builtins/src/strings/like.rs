//! LIKE, ILIKE, their ESCAPE, and SIMILAR TO's translation into a regular expression.
//!
//! A pattern is matched directly, without a regular expression: `%` any run, `_` one character, a
//! backslash takes the next character as it is.

use braid_types::{Datum, Error, Result, SqlState, work};

use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

fn ends_in_escape() -> Error {
    Error::new(SqlState::InvalidEscapeSequence, "LIKE pattern must not end with escape character")
}

/// Whether `value` matches; goes back only to the last `%`, so the work is at most the product
/// of the lengths.
fn like_bytes(value: &[u8], pattern: &[u8], utf8: bool) -> Result<bool> {
    let (mut v, mut p) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            None if v == value.len() => return Ok(true),
            None => false,
            Some(b'%') => {
                while pattern.get(p) == Some(&b'%') {
                    p += 1;
                }
                if p == pattern.len() {
                    return Ok(true);
                }
                back = Some((v, p));
                continue;
            }
            Some(_) if v >= value.len() => return Ok(false),
            Some(b'_') => {
                v += if utf8 { character_length(value[v]) } else { 1 };
                p += 1;
                true
            }
            Some(b'\\') => {
                let literal = pattern.get(p + 1).ok_or_else(ends_in_escape)?;
                let same = *literal == value[v];
                if same {
                    v += 1;
                    p += 2;
                }
                same
            }
            Some(literal) => {
                let same = *literal == value[v];
                if same {
                    v += 1;
                    p += 1;
                }
                same
            }
        };
        if !step {
            work::tick()?;
            let Some((from, after)) = back else { return Ok(false) };
            if from >= value.len() {
                return Ok(false);
            }
            let next = from + if utf8 { character_length(value[from]) } else { 1 };
            back = Some((next, after));
            (v, p) = (next, after);
        }
    }
}

fn character_length(first: u8) -> usize {
    match first {
        0..=0xbf => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

fn like(call: &Call<'_>) -> Result<bool> {
    like_bytes(call.text(0)?.as_bytes(), call.text(1)?.as_bytes(), true)
}

pub(super) fn ilike(call: &Call<'_>) -> Result<bool> {
    let (value, pattern) = (call.text(0)?.to_lowercase(), call.text(1)?.to_lowercase());
    like_bytes(value.as_bytes(), pattern.as_bytes(), true)
}

fn like_of_bytes(call: &Call<'_>) -> Result<bool> {
    like_bytes(call.bytes(0)?, call.bytes(1)?, false)
}

pub(super) fn one_escape(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (found, None) => Ok(found),
        _ => Err(Error::new(SqlState::InvalidEscapeSequence, "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}

/// The pattern with its escape character changed to a backslash.
fn like_escape(call: &Call<'_>) -> Result<Datum> {
    let (pattern, escape) = (call.text(0)?, one_escape(call.text(1)?)?);
    if escape == Some('\\') {
        return Ok(call.datum(0).clone());
    }
    let mut out = String::new();
    let mut after_escape = false;
    for c in pattern.chars() {
        if Some(c) == escape && !after_escape {
            out.push('\\');
            after_escape = true;
        } else {
            if c == '\\' && !after_escape {
                out.push('\\');
            }
            out.push(c);
            after_escape = false;
        }
    }
    text(out)
}

/// The regular expression that matches what a SIMILAR TO pattern matches.
fn similar_to_escape(call: &Call<'_>) -> Result<Datum> {
    let escape = if call.args.len() > 1 { one_escape(call.text(1)?)? } else { Some('\\') };
    text(similar_pattern(call.text(0)?, escape)?)
}

/// With two escape-double-quote separators the middle part becomes the first group.
pub(super) fn similar_pattern(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let (mut after_escape, mut in_class, mut class_start, mut separators) =
        (false, false, false, 0);
    for c in pattern.chars() {
        if after_escape {
            if c == '"' && !in_class {
                out.push_str(match separators {
                    0 => "){1,1}?(",
                    1 => "){1,1}(?:",
                    _ => {
                        return Err(Error::new(
                            SqlState::InvalidUseOfEscapeCharacter,
                            "SQL regular expression may not contain more than two \
                             escape-double-quote separators",
                        ));
                    }
                });
                separators += 1;
            } else {
                out.push('\\');
                out.push(c);
            }
            after_escape = false;
        } else if Some(c) == escape {
            after_escape = true;
        } else if in_class {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            in_class = c != ']' || class_start;
            class_start = class_start && c == '^';
        } else {
            match c {
                '[' => {
                    out.push(c);
                    in_class = true;
                    class_start = true;
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => {
                    out.push('\\');
                    out.push(c);
                }
                _ => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}

pub(super) fn register(registry: &mut Registry) {
    macro_rules! matching {
        ($($signature:literal => $matcher:expr, $wanted:literal;)*) => {
            $(registry.add($signature, |c| Ok(Datum::Bool($matcher(c)? == $wanted)));)*
        };
    }
    matching! {
        "~~(text, text) -> bool" => like, true;
        "!~~(text, text) -> bool" => like, false;
        "~~*(text, text) -> bool" => ilike, true;
        "!~~*(text, text) -> bool" => ilike, false;
        "~~(bpchar, text) -> bool" => like, true;
        "!~~(bpchar, text) -> bool" => like, false;
        "~~*(bpchar, text) -> bool" => ilike, true;
        "!~~*(bpchar, text) -> bool" => ilike, false;
        "~~(name, text) -> bool" => like, true;
        "!~~(name, text) -> bool" => like, false;
        "~~*(name, text) -> bool" => ilike, true;
        "!~~*(name, text) -> bool" => ilike, false;
        "~~(bytea, bytea) -> bool" => like_of_bytes, true;
        "!~~(bytea, bytea) -> bool" => like_of_bytes, false;
        "like(text, text) -> bool" => like, true;
        "notlike(text, text) -> bool" => like, false;
        "like(bytea, bytea) -> bool" => like_of_bytes, true;
        "notlike(bytea, bytea) -> bool" => like_of_bytes, false;
    }
    registry.add("like_escape(text, text) -> text", like_escape);
    registry.add("similar_to_escape|similar_escape(text) -> text", similar_to_escape);
    registry.add("similar_to_escape|similar_escape(text, text) -> text", similar_to_escape);
}
