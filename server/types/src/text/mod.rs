//! PostgreSQL's text format: what literals, COPY and text-format results use.
//!
//! Here: one file per family of types, both directions, and the settings they depend on.
//! Not here: the binary format (`binary`), conversions between types (`cast`), `to_char`
//! (`datetime`).
//!
//! Rules: `parse(format(d)) == d` under the same settings; messages are PostgreSQL's.

mod aclitem;
mod array;
mod date_format;
mod date_parse;
mod date_tokens;
mod dispatch;
mod interval_format;
mod interval_parse;
mod scalar;
mod settings;
mod timetz_parse;
mod vector;

pub use aclitem::{AclParts, acl_role, split_aclitem};
pub use array::{format_record, quote_element};
pub use date_parse::{parse_date, parse_time, parse_timestamp};
pub use dispatch::{format, parse, to_string};
pub use interval_parse::{parse_interval, parse_interval_typmod};
pub(crate) use scalar::leading_integer;
pub use scalar::{
    apply_length, format_bytes, format_f32, format_f64, parse_bool, parse_bytes, parse_f32,
    parse_f64, parse_int, parse_uuid,
};
pub use settings::{DateOrder, DateStyle, FormatSettings, IntervalStyle};
pub use timetz_parse::parse_timetz;

use crate::{Error, SqlState};

/// 22P02 in PostgreSQL's words.
pub(crate) fn invalid_syntax(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::InvalidTextRepresentation,
        format!("invalid input syntax for type {type_name}: \"{text}\""),
    )
}

/// Blanks as C's `isspace` has them.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}
