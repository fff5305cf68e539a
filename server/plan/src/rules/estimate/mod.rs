//! How many rows an operator gives, roughly: from statistics of ANALYZE where there are any, and
//! from fixed parts elsewhere.
//!
//! ```text
//!   facts        what is known of the values of one column
//!   pattern      the part of the values that a LIKE pattern matches
//!   guesses      the values that other expressions than constants have while planning
//!   values       constants in the place of parameters, for a plan of one execution
//!   conditions   the part of the rows that conditions leave
//!   origin       from a slot to the column of a table that it comes from
//!   joins        the rows of joins and the number of groups
//!   rows         the rows of an operator
//! ```
//!
//! A parameter counts as average, unless the plan is for its value alone.
//!
//! Rules: an estimate is finite and not negative; wrong ones cost time, never rows.

mod conditions;
mod facts;
pub(crate) mod guesses;
mod joins;
mod origin;
mod pattern;
mod rows;
pub(crate) mod values;

pub(crate) use conditions::{bounded_part, comparison, needs_literals, selectivity};
pub(crate) use facts::{bounds, distinct, table_rows};
pub(crate) use joins::{attached, group_distinct, joined_part};
pub(crate) use origin::is_column_of;
pub(crate) use pattern::prefix;
pub(crate) use rows::rows;
pub(crate) use rows::{UNKNOWN_LIMIT, gap_keys, rows_inside, size_ctes};
