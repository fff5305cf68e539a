//! Keys: bytes that sort as the values they were made from.
//!
//! A key is `table index column…` and, for a row, a family number last. Table and index are
//! [`uvarint`](table_prefix)s. A column starts with a tag byte for its kind, so that a key
//! can be skipped through and printed without knowing its types:
//!
//! ```text
//! 0x01        end of an array            0xa0..0xa5  numeric: -inf neg zero pos inf nan
//! 0x08 0x09   false, true                0xb0        interval: its comparison value
//! 0x10..0x8d  integers, dates, times     0xb8        array: elements, 0x01, lower bound
//! 0x90        float                      0xb9        record: fields, 0x01
//! 0x98 0x99   text, bytes                0xc0 0xc1   jsonb, json text
//! 0x9a        uuid                       0xfd        NULL
//! ```
//!
//! An array of several dimensions has, in place of its lower bound, a record of their number, their
//! lengths and their lower bounds. So it sorts after the arrays of fewer dimensions.
//!
//! A range is a record of its bounds, without fields if it is empty. A multirange is a record of
//! ranges. The numbers beside a bound's value make the record sort as the range:
//!
//! ```text
//!              infinite   [inclusive     (exclusive
//! lower bound  0          1 value 0      1 value 1
//! upper bound  1          0 value 1      0 value 0
//! ```
//!
//! A descending column is the ascending one with every bit turned over, which puts NULL first, as
//! in PostgreSQL. After the columns of a row comes nothing (family 0), a family number, or
//! [`INTERLEAVE_SENTINEL`] and the key of an interleaved child below that row; the sentinel is
//! higher than every family, so children follow all of their parent's own pairs.
//!
//! Text compares bytewise; of a `citext` the key has the lower case. Numbers of different scale,
//! intervals of different parts and floats of either zero have one key if they are equal:
//! [`is_exact`] says which types lose such detail, and those columns are stored in the value as
//! well.

mod advisory;
mod decode;
mod encode;
mod json;
mod numeric;
mod parts;
mod prefix;
mod print;
mod reader;
mod tag;

pub use advisory::AdvisoryKey;
pub use decode::{decode, decode_int, skip};
pub use encode::{encode, is_exact, is_orderable};
pub use prefix::{
    INTERLEAVE_SENTINEL, decode_prefix, encode_family, encode_interleave, index_prefix, system_key,
    table_prefix,
};
pub use print::{IndexNames, KeyNames, NoNames, print};
