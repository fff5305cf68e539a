//! Bytes of a client as text, and the text of a statement.

use std::borrow::Cow;

use braid_types::binary::{self, invalid_utf8};
use braid_types::encoding::{Encoding, decode, is_text_in_binary};
use braid_types::{Datum, Result, SqlType};

use crate::client::Severity;
use crate::session::Session;

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

/// A value in binary format, whose text is in the client's encoding.
pub(crate) fn binary_value(
    ty: &SqlType,
    bytes: &[u8],
    encoding: &'static Encoding,
) -> Result<Datum> {
    if encoding.converts() && is_text_in_binary(ty) {
        return binary::decode(ty, decode(encoding, bytes)?.as_bytes());
    }
    binary::decode(ty, bytes)
}

/// The text of statements, written as if `standard_conforming_strings` were on.
pub(crate) fn as_standard<'t>(session: &mut Session, sql: &'t str) -> Result<Cow<'t, str>> {
    let active = session.active();
    if active.standard_strings {
        return Ok(Cow::Borrowed(sql));
    }
    let Some((text, warnings)) = braid_sql::with_escape_strings(sql)? else {
        return Ok(Cow::Borrowed(sql));
    };
    if active.warns_of_escapes {
        for warning in warnings {
            session.notices.add(Severity::Warning, warning);
        }
    }
    Ok(Cow::Owned(text))
}
