//! `unistr`: Unicode escapes in text. `normalize`: Unicode's normal forms.

use braid_types::{Datum, Error, Result, SqlState};

use unicode_normalization::UnicodeNormalization as _;

use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

fn invalid_escape() -> Error {
    Error::new(SqlState::SyntaxError, "invalid Unicode escape")
        .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
}

/// The code after a backslash, and how many characters of the input it took.
fn code(rest: &[char]) -> Option<(u32, usize)> {
    let (skip, digits) = match rest.first()? {
        'u' => (1, 4),
        'U' => (1, 8),
        '+' => (1, 6),
        _ => (0, 4),
    };
    let digits_text: String = rest.get(skip..skip + digits)?.iter().collect();
    if !digits_text.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(&digits_text, 16).ok()?, skip + digits))
}

/// A text in the normal form that the second argument names; NFC without one.
fn normalized(call: &Call<'_>) -> Result<String> {
    let text = call.text(0)?;
    let form = match call.args.len() {
        1 => "NFC",
        _ => call.text(1)?,
    };
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => {
            let message = format!("invalid normalization form: {form}");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    })
}

fn normalize(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::text(normalized(call)?))
}

fn is_normalized(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Bool(normalized(call)? == call.text(0)?))
}

fn unistr(call: &Call<'_>) -> Result<Datum> {
    let input: Vec<char> = call.text(0)?.chars().collect();
    let mut units: Vec<u16> = Vec::new();
    let mut at = 0;
    while at < input.len() {
        if input[at] != '\\' {
            units.extend_from_slice(input[at].encode_utf16(&mut [0; 2]));
            at += 1;
        } else if input.get(at + 1) == Some(&'\\') {
            units.push(u16::from(b'\\'));
            at += 2;
        } else {
            let (value, used) = code(&input[at + 1..]).ok_or_else(invalid_escape)?;
            at += 1 + used;
            match (u16::try_from(value), char::from_u32(value)) {
                (Ok(0), _) | (Err(_), None) => {
                    let message = format!("invalid Unicode code point: {value:04X}");
                    return Err(Error::new(SqlState::SyntaxError, message));
                }
                (Ok(unit), _) => units.push(unit),
                (Err(_), Some(c)) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }
    let decoded = String::from_utf16(&units)
        .map_err(|_| Error::new(SqlState::SyntaxError, "invalid Unicode surrogate pair"))?;
    text(decoded)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("normalize(text) -> text", normalize);
    registry.add("normalize(text, text) -> text", normalize);
    registry.add("is_normalized(text) -> bool", is_normalized);
    registry.add("is_normalized(text, text) -> bool", is_normalized);
    registry.add("unistr(text) -> text", unistr);
}
