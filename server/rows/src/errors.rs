//! Stored bytes and values in error messages.

use braid_types::{Datum, Error, FormatSettings, SqlState, SqlType};

/// XX001: stored bytes that cannot be read are a fault of the store.
pub fn from_codec(error: braid_codec::Error) -> Error {
    Error::new(SqlState::DataCorrupted, error.to_string())
}

/// A value as the details of errors show it.
pub fn show(value: &Datum, ty: &SqlType, settings: &FormatSettings) -> String {
    if value.is_null() {
        "null".to_owned()
    } else {
        braid_types::text::to_string(ty, value, settings)
    }
}
