//! Decoding of string literals and quoted names, and quoting of names.

use braid_types::{Error, Result, SqlState};

use super::keywords;
use crate::ast::Ident;

/// Joins pieces and makes doubled quotes single.
pub(crate) fn undouble(pieces: &[&str], quote: char) -> String {
    let mut value = String::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        let mut rest = *piece;
        while let Some(at) = rest.find(quote) {
            value.push_str(&rest[..=at]);
            rest = rest.get(at + 2..).unwrap_or("");
        }
        value.push_str(rest);
    }
    value
}

fn not_utf8(bytes: &[u8]) -> Error {
    let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    Error::new(
        SqlState::CharacterNotInRepertoire,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}

fn bad_unicode_escape() -> Error {
    Error::new(SqlState::InvalidEscapeSequence, "invalid Unicode escape")
        .hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
}

fn bad_surrogate() -> Error {
    Error::new(SqlState::SyntaxError, "invalid Unicode surrogate pair")
}

fn bad_value() -> Error {
    Error::new(SqlState::SyntaxError, "invalid Unicode escape value")
}

/// Joins UTF-16 code units from escapes to characters.
#[derive(Default)]
struct Surrogates {
    high: Option<u32>,
}

impl Surrogates {
    /// Takes the next code point or unit; returns a character when one is complete.
    fn push(&mut self, code: u32) -> Result<Option<char>> {
        match (self.high.take(), code) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(code);
                Ok(None)
            }
            (Some(high), 0xdc00..=0xdfff) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00);
                char::from_u32(code).map(Some).ok_or_else(bad_surrogate)
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => Err(bad_surrogate()),
            (None, 0) => Err(not_utf8(&[0])),
            (None, code) => char::from_u32(code).map(Some).ok_or_else(bad_value),
        }
    }

    /// Fails when a first half waits for its second.
    fn settled(&self) -> Result<()> {
        if self.high.is_some() { Err(bad_surrogate()) } else { Ok(()) }
    }
}

/// Decodes the pieces of an `E'…'` string.
pub(crate) fn decode_escapes(pieces: &[&str]) -> Result<String> {
    let mut value: Vec<u8> = Vec::new();
    let mut surrogates = Surrogates::default();
    for piece in pieces {
        let mut chars = piece.chars().peekable();
        while let Some(c) = chars.next() {
            let escape = if c == '\\' { chars.next() } else { None };
            let Some(escape) = escape else {
                surrogates.settled()?;
                if c == '\'' {
                    chars.next();
                }
                value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            };
            if matches!(escape, 'u' | 'U') {
                let digits = if escape == 'u' { 4 } else { 8 };
                let mut code = 0u32;
                for _ in 0..digits {
                    let digit = chars.next().and_then(|c| c.to_digit(16));
                    let digit = digit.ok_or_else(bad_unicode_escape)?;
                    code = (code << 4) | digit;
                }
                if let Some(c) = surrogates.push(code)? {
                    value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                continue;
            }
            surrogates.settled()?;
            simple_escape(escape, &mut chars, &mut value)?;
        }
    }
    surrogates.settled()?;
    String::from_utf8(value).map_err(|error| {
        let bad = error.utf8_error();
        let from = bad.valid_up_to();
        let length = bad.error_len().unwrap_or(1);
        not_utf8(error.as_bytes().get(from..from + length).unwrap_or(&[]))
    })
}

/// The escapes of one character, of octal and of hexadecimal digits.
fn simple_escape(
    escape: char,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    value: &mut Vec<u8>,
) -> Result<()> {
    let mut digits = |radix: u32, mut code: u32, mut left: usize| {
        while left > 0
            && let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix))
        {
            code = code * radix + digit;
            chars.next();
            left -= 1;
        }
        code
    };
    let byte = match escape {
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        '0'..='7' => {
            let first = escape.to_digit(8).unwrap_or(0);
            // Three octal digits may exceed a byte; PostgreSQL keeps the low eight bits.
            (digits(8, first, 2) & 0xff) as u8
        }
        'x' => {
            const NONE: u32 = 0x1_0000;
            let code = digits(16, NONE, 2);
            if code == NONE {
                b'x'
            } else if code < NONE * 256 {
                (code - NONE * 16) as u8
            } else {
                (code - NONE * 256) as u8
            }
        }
        other => {
            value.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(());
        }
    };
    if byte == 0 {
        return Err(not_utf8(&[0]));
    }
    value.push(byte);
    Ok(())
}

/// Decodes the text of a `U&'…'` string or name.
pub(crate) fn decode_unicode(text: &str, escape: char) -> Result<String> {
    let mut value = String::with_capacity(text.len());
    let mut surrogates = Surrogates::default();
    let mut chars = text.chars().peekable();
    let bad = || {
        Error::new(SqlState::SyntaxError, "invalid Unicode escape")
            .hint("Unicode escapes must be \\XXXX or \\+XXXXXX.")
    };
    while let Some(c) = chars.next() {
        if c != escape || chars.peek() == Some(&escape) {
            surrogates.settled()?;
            if c == escape {
                chars.next();
            }
            value.push(c);
            continue;
        }
        let digits = if chars.peek() == Some(&'+') {
            chars.next();
            6
        } else {
            4
        };
        let mut code = 0u32;
        for _ in 0..digits {
            let digit = chars.next().and_then(|c| c.to_digit(16)).ok_or_else(bad)?;
            code = (code << 4) | digit;
        }
        if let Some(c) = surrogates.push(code)? {
            value.push(c);
        }
    }
    surrogates.settled()?;
    Ok(value)
}

/// The name that an identifier means: unquoted ones in lower case, cut to 63 bytes.
pub fn fold(ident: &Ident) -> String {
    let mut name = match ident.quote_style {
        None => ident.value.to_ascii_lowercase(),
        Some(_) => ident.value.clone(),
    };
    truncate_name(&mut name);
    name
}

/// A name as SQL text, in double quotes where it needs them.
pub fn quote_ident(name: &str) -> String {
    let plain = name
        .bytes()
        .enumerate()
        .all(|(i, b)| b.is_ascii_lowercase() || b == b'_' || (i > 0 && b.is_ascii_digit()));
    let free = || {
        keywords::lookup(name).is_none_or(|info| info.category == keywords::Category::Unreserved)
    };
    if plain && !name.is_empty() && free() {
        return name.to_owned();
    }
    double_quoted(name)
}

/// A name as SQL text, always in double quotes.
pub(crate) fn double_quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string as SQL text, in single quotes.
pub fn quote_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        // As PostgreSQL's quote_literal(): safe whatever standard_conforming_strings says.
        return format!("E'{}'", doubled.replace('\\', "\\\\"));
    }
    format!("'{doubled}'")
}

/// Cuts a name to [`NAME_BYTES_MAX`] bytes at a character's border.
pub(crate) fn truncate_name(name: &mut String) {
    if name.len() > NAME_BYTES_MAX {
        let end = (0..=NAME_BYTES_MAX).rev().find(|i| name.is_char_boundary(*i)).unwrap_or(0);
        name.truncate(end);
    }
}

/// The longest name in bytes; longer ones are cut, as in PostgreSQL.
pub(crate) const NAME_BYTES_MAX: usize = 63;
