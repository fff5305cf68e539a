//! UPDATE.

mod changes;
mod update_rows;

pub(crate) use update_rows::UpdateOperator;
