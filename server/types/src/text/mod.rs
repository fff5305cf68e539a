//! PostgreSQL's text format: what literals, COPY and text-format results use.
//!
//! Here: one file per family of types, both directions, and the settings they depend on.
//! Not here: the binary format (`binary`), conversions between types (`cast`), `to_char`
//! (`datetime`).
//!
//! Rules: `parse(format(d)) == d` under the same settings; messages are PostgreSQL's.

mod aclitem;
mod array;
mod dispatch;
mod range;
mod record;
mod scalar;
mod settings;
mod syntax;
mod times;
mod vector;

pub use aclitem::{AclParts, acl_role, split_aclitem};
pub use dispatch::{format, parse, to_string};
pub(crate) use scalar::leading_integer;
pub use scalar::{
    apply_length, format_bytes, format_f32, format_f64, parse_bool, parse_bytes, parse_f32,
    parse_f64, parse_int, parse_uuid,
};
pub use settings::{DateOrder, DateStyle, FormatSettings, IntervalStyle};
pub(crate) use syntax::{invalid_syntax, is_blank};
pub use times::{
    parse_date, parse_interval, parse_interval_typmod, parse_time, parse_timestamp, parse_timetz,
};
