//! Changes that work in several transactions while others write, and what they leave.
//!
//! `steps` runs one step as a transaction; `unfinished` takes over the steps of gateways that are
//! gone.

pub(crate) mod closed_table;
pub(crate) mod dropped;
pub(crate) mod index;
pub(crate) mod left_over;
pub(crate) mod move_index;
pub(crate) mod move_table;
pub(crate) mod replace_index;
pub(crate) mod steps;
pub(crate) mod unfinished;
pub(crate) mod vacate;
pub(crate) mod validate_rows;
