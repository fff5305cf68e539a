//! UPDATE.

mod changes;
mod update_rows;

pub use update_rows::UpdateOperator;
