//! INSERT, ON CONFLICT and UPSERT.

mod insert_rows;
mod rules;

pub(crate) use insert_rows::InsertOperator;
