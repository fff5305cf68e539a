//! Escapes in names and strings: `\n`, `\x41`, `\u0041` and `\u{41}`.

use crate::{Error, Result, SqlState};

/// What stands at a backslash.
pub(super) enum Escape {
    /// Characters, and how many bytes of the input they took.
    Text(String, usize),
    /// An error, and the number of bytes of the input that its message quotes.
    Broken(&'static str, usize),
}

/// The bytes of `\uXXXX` or `\u{X…}` at the front, with its code; `Err` has those of a part of it.
fn unicode(input: &str) -> Result<(u32, usize), usize> {
    let hex =
        |text: &str, most: usize| text.bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
    let code = |digits: &str| u32::from_str_radix(digits, 16).unwrap_or(0);
    let body = &input[2..];
    if let Some(inside) = body.strip_prefix('{') {
        let digits = hex(inside, 6);
        if digits > 0 && inside[digits..].starts_with('}') {
            return Ok((code(&inside[..digits]), digits + 4));
        }
        return Err(digits + 3);
    }
    match hex(body, 4) {
        4 => Ok((code(&body[..4]), 6)),
        digits => Err(digits + 2),
    }
}

fn invalid(detail: &str) -> Error {
    Error::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type jsonpath")
        .detail(detail)
}

fn character(code: u32) -> Result<char> {
    if code == 0 {
        let message = "unsupported Unicode escape sequence";
        return Err(Error::new(SqlState::UntranslatableCharacter, message)
            .detail("\\u0000 cannot be converted to text."));
    }
    char::from_u32(code)
        .ok_or_else(|| Error::new(SqlState::SyntaxError, "invalid Unicode code point"))
}

/// A run of `\u` escapes, in which surrogates come in pairs.
fn unicode_run(input: &str) -> Result<Escape> {
    let (mut codes, mut at) = (Vec::new(), 0);
    while input[at..].starts_with("\\u") {
        match unicode(&input[at..]) {
            Ok((code, length)) => {
                codes.push(code);
                at += length;
            }
            Err(length) => return Ok(Escape::Broken("invalid unicode sequence", at + length)),
        }
    }
    let (mut text, mut high) = (String::new(), None);
    for code in codes {
        match (code, high) {
            (0xd800..=0xdbff, None) => high = Some(code),
            (0xd800..=0xdbff, Some(_)) => {
                return Err(invalid("Unicode high surrogate must not follow a high surrogate."));
            }
            (0xdc00..=0xdfff, Some(first)) => {
                text.push(character(0x10000 + ((first & 0x3ff) << 10) + (code & 0x3ff))?);
                high = None;
            }
            (0xdc00..=0xdfff, None) | (_, Some(_)) => {
                return Err(invalid("Unicode low surrogate must follow a high surrogate."));
            }
            (code, None) => text.push(character(code)?),
        }
    }
    if high.is_some() {
        return Err(invalid("Unicode low surrogate must follow a high surrogate."));
    }
    Ok(Escape::Text(text, at))
}

/// Reads the escape at the front of the input, which begins with a backslash.
pub(super) fn read(input: &str) -> Result<Escape> {
    let plain = |c: char, length: usize| Ok(Escape::Text(c.to_string(), length));
    match input[1..].chars().next() {
        None | Some('\n') => Ok(Escape::Broken("unexpected end after backslash", 1)),
        Some('b') => plain('\u{8}', 2),
        Some('f') => plain('\u{c}', 2),
        Some('n') => plain('\n', 2),
        Some('r') => plain('\r', 2),
        Some('t') => plain('\t', 2),
        Some('v') => plain('\u{b}', 2),
        Some('u') => unicode_run(input),
        Some('x') => {
            let digits = input[2..].bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
            if digits < 2 {
                return Ok(Escape::Broken("invalid hex character sequence", digits + 2));
            }
            plain(character(u32::from_str_radix(&input[2..4], 16).unwrap_or(0))?, 4)
        }
        Some(c) => plain(c, 1 + c.len_utf8()),
    }
}
