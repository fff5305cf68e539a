//! Bytes of a client as text.

use braid_types::{Error, Result, SqlState};

/// Bytes as text; 22021 if they are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| invalid(&bytes[error.valid_up_to()..]))
}

/// Bytes as text that can be stored; 22021 if they are not UTF-8 or hold a NUL.
pub(crate) fn utf8_without_nul(bytes: &[u8]) -> Result<&str> {
    let text = utf8(bytes)?;
    match text.find('\0') {
        Some(at) => Err(invalid(&bytes[at..])),
        None => Ok(text),
    }
}

/// PostgreSQL shows as many bytes as the first one announces.
fn invalid(rest: &[u8]) -> Error {
    let announced = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> =
        rest.iter().take(announced).map(|byte| format!("0x{byte:02x}")).collect();
    Error::new(
        SqlState::CharacterNotInRepertoire,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}
