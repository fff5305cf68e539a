//! Calls of functions, procedures and aggregates of users: which routine a call means.

mod call;
mod choose;
mod inline;
mod part;

pub(crate) use call::{
    FoundCall, bind_routine, computed_field, find_aggregate, find_call, may_compute_field,
    name_parts, names_function,
};
pub use choose::is_same_binary;
pub(crate) use choose::undefined;

pub use part::{FoundPart, find_part};
