//! INSERT, ON CONFLICT and UPSERT.

mod insert_rows;
mod rules;

pub use insert_rows::InsertOperator;
