//! A join by an index of its right side.
//!
//! ```text
//!   left rows ──▶ keys or spans ──▶ store ──▶ found rows, still encoded ──▶ pairs
//!                 direct_keys.rs    right_rows.rs      found_rows.rs        operator.rs: rows
//!                                                                           by_columns.rs: columns
//! ```

mod by_columns;
mod decided;
mod direct_keys;
mod found_rows;
mod layout;
mod left_side;
mod limit_goal;
mod operator;
mod right_rows;
mod row_pairs;

pub(crate) use operator::LookupJoinOperator;
