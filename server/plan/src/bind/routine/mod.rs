//! Calls of functions and procedures of users: which routine a call means.

mod call;
mod choose;
mod inline;

pub(crate) use call::{FoundCall, bind_routine, find_call};
