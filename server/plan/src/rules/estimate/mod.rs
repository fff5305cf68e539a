//! How many rows an operator gives, roughly: from statistics of ANALYZE where there are any, and
//! from fixed parts elsewhere.
//!
//! ```text
//!   facts        what is known of the values of one column
//!   pattern      the part of the values that a LIKE pattern matches
//!   conditions   the part of the rows that conditions leave
//!   origin       from a slot to the column of a table that it comes from
//!   joins        the rows of joins and the number of groups
//!   rows         the rows of an operator
//! ```
//!
//! What it does not do: know the values of parameters. A condition on one counts as average.
//!
//! Rules: an estimate is finite and not negative; wrong ones cost time, never rows.

mod conditions;
mod facts;
mod joins;
mod origin;
mod pattern;
mod rows;

pub use conditions::{bounded_part, needs_literals, selectivity};
pub use facts::{distinct, table_rows};
pub use joins::{attached, group_distinct, joined_part};
pub use rows::{gap_keys, rows, size_ctes};
