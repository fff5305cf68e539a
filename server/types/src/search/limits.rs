//! How large lexemes, vectors and queries may be.

use crate::{Error, SqlState};

/// Bytes of a lexeme at most.
pub const LEXEME_BYTES_MAX: usize = 2046;
/// The last position; what comes after it is there, too.
pub const POSITION_MAX: u16 = 16_383;
/// Places of a lexeme at most.
pub const PLACES_MAX: usize = 256;
/// Bytes of the lexemes and places of a vector, or of the operands of a query, at most.
pub const TEXT_BYTES_MAX: usize = (1 << 20) - 1;

/// 54000 with this message.
pub(super) fn too_large(message: String) -> Error {
    Error::new(SqlState::ProgramLimitExceeded, message)
}
