//! Text from and to the bytes of an encoding.

use std::borrow::Cow;

use encoding_rs::{Decoder, DecoderResult, EncoderResult};

use super::{Encoding, Tables};
use crate::binary::invalid_utf8;
use crate::{Error, Result, SqlState, SqlType};

fn shown(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    bytes.join(" ")
}

/// 22021: the bytes are no text of that encoding.
fn invalid(encoding: &Encoding, bytes: &[u8]) -> Error {
    let (name, shown) = (encoding.name, shown(bytes));
    let message = format!("invalid byte sequence for encoding \"{name}\": {shown}");
    Error::new(SqlState::CharacterNotInRepertoire, message)
}

/// 22P05: a character of one encoding is not in the other.
fn untranslatable(bytes: &[u8], from: &str, to: &str) -> Error {
    let shown = shown(bytes);
    let message = format!(
        "character with byte sequence {shown} in encoding \"{from}\" has no equivalent in \
         encoding \"{to}\""
    );
    Error::new(SqlState::UntranslatableCharacter, message)
}

/// The text of bytes. 22021 for bytes that are none, 22P05 for a character that UTF8 lacks.
pub fn decode<'b>(encoding: &'static Encoding, bytes: &'b [u8]) -> Result<Cow<'b, str>> {
    if !encoding.converts() {
        let text = std::str::from_utf8(bytes);
        return text
            .map(Cow::Borrowed)
            .map_err(|error| invalid_utf8(&bytes[error.valid_up_to()..]));
    }
    if bytes.is_ascii()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Ok(Cow::Borrowed(text));
    }
    let mut text = String::new();
    StreamDecoder::new(encoding).decode(bytes, true, &mut text)?;
    Ok(Cow::Owned(text))
}

/// Appends the bytes of a text. 22P05 for a character that the encoding lacks.
pub fn encode(encoding: &Encoding, text: &str, out: &mut Vec<u8>) -> Result<()> {
    let missing = |found: char| {
        let mut bytes = [0; 4];
        untranslatable(found.encode_utf8(&mut bytes).as_bytes(), "UTF8", encoding.name)
    };
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    let (table, is_page) = match encoding.tables {
        Tables::Utf8 | Tables::Ascii | Tables::Missing => {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        Tables::Latin1 => {
            for found in text.chars() {
                out.push(u8::try_from(u32::from(found)).map_err(|_| missing(found))?);
            }
            return Ok(());
        }
        Tables::Listed(table) => (table, false),
        Tables::CodePage(table) => (table, true),
    };
    if is_page && let Some(found) = text.chars().find(|found| is_c1(*found)) {
        return Err(missing(found));
    }
    let mut encoder = table.new_encoder();
    let mut rest = text;
    loop {
        let needed = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        out.reserve(needed.unwrap_or(rest.len()));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, out, true);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return Ok(()),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(found) => return Err(missing(found)),
        }
    }
}

/// Whether values of that type in binary format are text in the encoding of the client. Arrays
/// and records of texts, and `jsonb`, are UTF8.
pub fn is_text_in_binary(ty: &SqlType) -> bool {
    use SqlType::{Char, Citext, Enum, Json, Name, Text, Unknown, Varchar};
    matches!(ty, Char(_) | Citext | Enum(_) | Json | Name | Text | Unknown | Varchar(_))
}

/// Whether it is one of the control characters from 0x80 to 0x9f.
fn is_c1(found: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&found)
}

/// Decodes text that arrives in pieces, which may end within a character.
pub struct StreamDecoder {
    encoding: &'static Encoding,
    decoder: Option<Decoder>,
    /// The last bytes of the piece before, for messages.
    tail: Vec<u8>,
}

/// Bytes of a piece that messages about the next one may show.
const TAIL_BYTES: usize = 3;

impl StreamDecoder {
    /// A decoder at the start of a text.
    pub fn new(encoding: &'static Encoding) -> StreamDecoder {
        let decoder = match encoding.tables {
            Tables::Listed(table) | Tables::CodePage(table) => {
                Some(table.new_decoder_without_bom_handling())
            }
            Tables::Utf8 | Tables::Ascii | Tables::Latin1 | Tables::Missing => None,
        };
        StreamDecoder { encoding, decoder, tail: Vec::new() }
    }

    /// Appends the text of the next piece.
    pub fn decode(&mut self, bytes: &[u8], is_last: bool, text: &mut String) -> Result<()> {
        let Some(decoder) = &mut self.decoder else {
            // Each byte of LATIN1 is the character with that number.
            text.extend(bytes.iter().copied().map(char::from));
            return Ok(());
        };
        let start = text.len();
        let mut rest = bytes;
        loop {
            let needed = decoder.max_utf8_buffer_length_without_replacement(rest.len());
            text.reserve(needed.unwrap_or(rest.len()));
            let (result, read) = decoder.decode_to_string_without_replacement(rest, text, is_last);
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => rest = &rest[read..],
                DecoderResult::Malformed(length, after) => {
                    let end = bytes.len() - rest.len() + read;
                    let (length, after) = (usize::from(length), usize::from(after));
                    return Err(self.malformed(bytes, end.saturating_sub(after), length));
                }
            }
        }
        self.tail = bytes[bytes.len().saturating_sub(TAIL_BYTES)..].to_vec();
        let is_page = matches!(self.encoding.tables, Tables::CodePage(_));
        match text[start..].chars().find(|found| is_page && is_c1(*found)) {
            Some(found) => {
                let byte = u8::try_from(u32::from(found)).unwrap_or(0);
                Err(untranslatable(&[byte], self.encoding.name, "UTF8"))
            }
            None => Ok(()),
        }
    }

    /// The error about bytes that end at a place of this piece. They may begin in the one before.
    fn malformed(&self, bytes: &[u8], end: usize, length: usize) -> Error {
        let known = [self.tail.as_slice(), bytes].concat();
        let from = (self.tail.len() + end).saturating_sub(length);
        // PostgreSQL shows as many bytes as a character has.
        let shown = known.iter().skip(from).take(length.max(2)).copied().collect::<Vec<_>>();
        match self.encoding.tables {
            // Every byte is text here, but some are no character of UTF8.
            Tables::Listed(table) | Tables::CodePage(table) if table.is_single_byte() => {
                untranslatable(&shown[..length.min(shown.len())], self.encoding.name, "UTF8")
            }
            _ => invalid(self.encoding, &shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str, text: &str) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        encode(Encoding::named(name).expect("is known"), text, &mut out).map(|()| out)
    }

    fn text(name: &str, bytes: &[u8]) -> Result<String> {
        decode(Encoding::named(name).expect("is known"), bytes).map(Cow::into_owned)
    }

    #[test]
    fn texts_go_there_and_back() {
        for (name, written, expected) in [
            ("latin1", "aé\u{85}", &b"a\xe9\x85"[..]),
            ("LATIN9", "€é", b"\xa4\xe9"),
            ("windows-1252", "€é", b"\x80\xe9"),
            ("win1251", "да", b"\xe4\xe0"),
            ("KOI8R", "да", b"\xc4\xc1"),
            ("SJIS", "日本", b"\x93\xfa\x96\x7b"),
            ("EUC_JP", "日本", b"\xc6\xfc\xcb\xdc"),
            ("utf-8", "日", "日".as_bytes()),
        ] {
            assert_eq!(bytes(name, written).expect(name), expected, "{name}");
            assert_eq!(text(name, expected).expect(name), written, "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_an_error() {
        let state = |error: Error| error.state().code();
        assert_eq!(bytes("LATIN1", "€").map_err(state), Err("22P05"));
        assert_eq!(bytes("WIN1252", "\u{81}").map_err(state), Err("22P05"));
        assert_eq!(text("WIN1252", b"\x81").map_err(state), Err("22P05"));
        assert_eq!(text("SJIS", b"\x93").map_err(state), Err("22021"));
        assert_eq!(text("UTF8", b"\xff").map_err(state), Err("22021"));
    }

    #[test]
    fn a_piece_may_end_within_a_character() {
        let mut decoder = StreamDecoder::new(Encoding::named("sjis").expect("is known"));
        let mut text = String::new();
        decoder.decode(b"\x93", false, &mut text).expect("is a beginning");
        decoder.decode(b"\xfa", true, &mut text).expect("is its end");
        assert_eq!(text, "日");
    }
}
