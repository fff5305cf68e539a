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
mod errors;
mod lexer;
mod limits;
mod matching;
mod query;
mod query_binary;
mod query_bytes;
mod query_parser;
mod query_text;
mod vector;
mod vector_text;

pub use lexer::Syntax;
pub use limits::{LEXEME_BYTES_MAX, PLACES_MAX, POSITION_MAX, TEXT_BYTES_MAX};
pub use matching::{Found, Match, matches};
pub use query::{Item, Operator, Query, Trimmed};
pub use query_binary::{decode_query, encode_query};
pub use query_parser::{Operand, PutWord, parse_query};
pub use query_text::format_query;
pub use vector::{Lexeme, LexemeRef, Place, Vector, has_prefix};
pub use vector_text::{decode_vector, encode_vector, format_vector, parse_vector};
