//! Full-text search: the values of `tsvector` and `tsquery`, and the built-in configurations.
//!
//! Here: the two types, their text and binary forms, their bytes, and whether a query matches. Not
//! here: how a text becomes lexemes, ranking and headlines (`builtins`).
//!
//! ```text
//!   'fat':2,11 'cat':3A      vector      lexemes in the order of their bytes, each with places
//!   'fat' & ( 'rat' | !'c' ) query       fat  rat  c  !  |  &      operands before operators
//! ```
//!
//! Both are held as [`crate::Datum::Bytes`], in a form whose bytes have the order of the values.
//!
//! Rules that must always hold:
//! - equal values have equal bytes, and these never change, since tables have them on disk;
//! - nothing recurses over a query, so that a query may nest as deeply as its size allows.

pub mod configs;
mod lexer;
mod matching;
mod query;
mod query_binary;
mod query_bytes;
mod query_parser;
mod query_text;
mod vector;
mod vector_text;

pub use lexer::Syntax;
pub use matching::{Found, Match, matches};
pub use query::{Item, Operator, Query, Trimmed};
pub use query_binary::{decode_query, encode_query};
pub use query_parser::{Operand, PutWord, parse_query};
pub use query_text::format_query;
pub use vector::{Lexeme, LexemeRef, Place, Vector, has_prefix};
pub use vector_text::{decode_vector, encode_vector, format_vector, parse_vector};

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
pub(crate) fn too_large(message: String) -> Error {
    Error::new(SqlState::ProgramLimitExceeded, message)
}

/// 42601 in PostgreSQL's words.
fn syntax_error(what: &str, text: &str) -> Error {
    Error::new(SqlState::SyntaxError, format!("syntax error in {what}: \"{text}\""))
}

/// XX000 for bytes that are no value.
fn corrupt(what: &str) -> Error {
    Error::internal(format!("the bytes of a {what} are corrupt"))
}
