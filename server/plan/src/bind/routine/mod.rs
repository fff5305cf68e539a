//! Calls of functions, procedures and aggregates of users: which routine a call means.

mod call;
mod choose;
mod field;
mod inline;
mod part;

pub(crate) use call::{
    FoundCall, bind_routine, find_aggregate, find_call, name_parts, names_function,
};
pub use choose::is_same_binary;
pub(crate) use choose::undefined;
pub(crate) use field::{computed_field, may_compute_field};
pub use part::{FoundPart, find_part};
