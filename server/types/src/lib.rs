//! SQL types, datums and casts: the vocabulary every other room speaks.
//!
//! What is here: [`SqlType`] (a column's declared type), [`Datum`] (a value),
//! [`Error`] with its [`SqlState`], PostgreSQL's text and binary formats ([`text`], [`binary`]),
//! casts ([`cast`]), arithmetic and calendar helpers, and the statement that a thread computes for
//! ([`work`]).
//! What is not: keys and stored values (`codec`), functions by name (`builtins`).
//!
//! Rules that must always hold:
//! - `text::parse(format(d)) == d` and `binary::decode(encode(d)) == d` for every datum and type.
//! - [`Datum`] orders, equals and hashes as SQL does: `1.0` is `1.00`, NaN is the largest.
//! - no input panics; what is out of range is an [`Error`] with PostgreSQL's SQLSTATE.

pub mod array;
pub mod binary;
pub mod cast;
pub mod collation;
pub mod datetime;
mod datum;
pub mod encoding;
pub mod enums;
mod error;
mod floats;
pub mod geometry;
pub mod hashing;
pub mod json;
pub mod jsonpath;
pub mod mac;
pub mod net;
pub mod numeric;
pub mod range;
pub mod regex;
pub mod scratch;
pub mod search;
pub mod sql_type;
pub mod text;
mod text_types;
pub mod tid;
pub mod timetz;
pub mod unsigned;
pub mod work;

pub use array::Dimension;
pub use datum::{Array, Datum, Interval, Row, compare_rows, ignores_blanks, strip_blanks};
pub use enums::{EnumLabel, EnumType};
pub use error::{Error, Result, SqlState};
pub use floats::compare_floats;
pub use json::Json;
pub use jsonpath::JsonPath;
pub use numeric::{Coefficient, Numeric, money};
pub use range::{Range, RangeKind};
pub use sql_type::SqlType;
pub use text::FormatSettings;
pub use text_types::{bits, citext, hstore, snapshot};
