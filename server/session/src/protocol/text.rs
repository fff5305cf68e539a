//! Bytes of a client as text.

use braid_types::Result;
use braid_types::binary::invalid_utf8;

/// Bytes as text; 22021 if they are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| invalid_utf8(&bytes[error.valid_up_to()..]))
}

/// Bytes as text that can be stored; 22021 if they are not UTF-8 or hold a NUL.
pub(crate) fn utf8_without_nul(bytes: &[u8]) -> Result<&str> {
    let text = utf8(bytes)?;
    match text.find('\0') {
        Some(at) => Err(invalid_utf8(&bytes[at..])),
        None => Ok(text),
    }
}
