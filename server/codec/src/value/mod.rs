//! Values: the columns of a row that its key does not hold, one value a family.
//!
//! ```text
//! flags first count [absent bits] [null bits] ends… cells…
//! ```
//!
//! Columns are numbered; a row holds the slots `first..first + count`, so a column's place is a
//! subtraction. `ends` has the end of each slot's cell but the last, in 1, 2 or 4 bytes. NULL and
//! absent (a column added after the row was written) have a bit each and an empty cell; the bits
//! are left out when none is set. Rows whose column numbers are far apart have a sorted list of
//! numbers instead of `first`. Reading k columns looks at k slots, whatever the row's width.
//!
//! A cell's form depends on its column's type: integers, dates and times are as few bytes as the
//! number needs, little end first; text, `json` and `bytea` are as they are, so that they can go to
//! the wire without a copy; the rest is in [`decode_cell`].

mod cell;
mod decode;
mod json;
mod parts;
mod row;

pub use cell::encode_cell;
pub use decode::{cell_bool, cell_f64, decode_cell, decode_members};
pub use parts::{cell_decimal, cell_i64, cell_str};
pub use row::{Cell, RowReader, encode_columns, encode_row};
