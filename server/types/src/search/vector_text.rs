//! The text and binary forms of `tsvector`.

use crate::scratch::Scratch;
use crate::{Datum, Error, Result, SqlState, work};

use super::lexer::Lexer;
use super::limits::{LEXEME_BYTES_MAX, TEXT_BYTES_MAX, too_large};
use super::vector::{Lexeme, Place, Vector};

/// Parses `'a':1A,2 b`; 42601 if it is no vector, 54000 if it is too large.
pub fn parse_vector(text: &str) -> Result<Datum> {
    let mut lexer = Lexer { text, at: 0, syntax: None };
    let (mut lexemes, mut bytes, mut scratch) = (Vec::new(), 0, Scratch::default());
    while let Some((text, places)) = lexer.word()? {
        work::tick()?;
        check_lexeme(&text)?;
        bytes += text.len();
        if bytes > TEXT_BYTES_MAX {
            return Err(too_large(format!(
                "string is too long for tsvector ({bytes} bytes, max {TEXT_BYTES_MAX} bytes)"
            )));
        }
        scratch.add(text.len() + places.len() * 4 + size_of::<Lexeme>())?;
        lexemes.push(Lexeme { text, places });
    }
    Vector::make(lexemes)
}

fn check_lexeme(text: &str) -> Result<()> {
    let bytes = text.len();
    if bytes > LEXEME_BYTES_MAX {
        return Err(too_large(format!(
            "word is too long ({bytes} bytes, max {LEXEME_BYTES_MAX} bytes)"
        )));
    }
    Ok(())
}

/// Appends a lexeme in quotes.
pub(super) fn put_quoted(text: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
}

/// Appends the text form of a vector's bytes.
pub fn format_vector(bytes: &[u8], out: &mut Vec<u8>) {
    let Ok(vector) = Vector::read(bytes) else { return };
    let mut text = String::new();
    for lexeme in &vector.lexemes {
        work::note(1);
        if !text.is_empty() {
            text.push(' ');
        }
        put_quoted(lexeme.text, &mut text);
        for (at, place) in lexeme.places().enumerate() {
            text.push(if at == 0 { ':' } else { ',' });
            text.push_str(&place.position.to_string());
            text.push_str(["", "C", "B", "A"].get(usize::from(place.weight)).unwrap_or(&""));
        }
    }
    out.extend_from_slice(text.as_bytes());
}

/// Appends PostgreSQL's binary form of a vector's bytes.
pub fn encode_vector(bytes: &[u8], out: &mut Vec<u8>) {
    let Ok(vector) = Vector::read(bytes) else { return };
    out.extend_from_slice(&(vector.lexemes.len() as u32).to_be_bytes());
    for lexeme in &vector.lexemes {
        work::note(1);
        out.extend_from_slice(lexeme.text.as_bytes());
        out.push(0);
        out.extend_from_slice(&(lexeme.count() as u16).to_be_bytes());
        lexeme.places().for_each(|place| out.extend_from_slice(&place.to_bits().to_be_bytes()));
    }
}

fn invalid(what: &str) -> Error {
    Error::new(SqlState::InvalidBinaryRepresentation, format!("invalid tsvector: {what}"))
}

/// Reads PostgreSQL's binary form; 22P03 if it is none.
pub fn decode_vector(bytes: &[u8]) -> Result<Datum> {
    let short = || invalid("insufficient data left in message");
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let (mut lexemes, mut scratch) = (Vec::new(), Scratch::default());
    for _ in 0..u32::from_be_bytes(*count) {
        work::tick()?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        let text = std::str::from_utf8(&rest[..end]);
        let text =
            text.map_err(|error| crate::binary::invalid_utf8(&rest[error.valid_up_to()..end]))?;
        check_lexeme(text)?;
        let (number, after) = rest[end + 1..].split_first_chunk::<2>().ok_or_else(short)?;
        let number = usize::from(u16::from_be_bytes(*number));
        let (found, after) = after.split_at_checked(number * 2).ok_or_else(short)?;
        rest = after;
        let places = found.as_chunks().0.iter();
        let places: Vec<Place> =
            places.map(|bits| Place::from_bits(u16::from_be_bytes(*bits))).collect();
        if !places.is_sorted_by_key(|place| place.position) {
            return Err(invalid("position information is misordered"));
        }
        scratch.add(text.len() + number * 4 + size_of::<Lexeme>())?;
        lexemes.push(Lexeme { text: text.to_owned(), places });
    }
    if rest.is_empty() { Vector::make(lexemes) } else { Err(invalid("bytes after its end")) }
}
