//! Calls of functions and procedures of users: which routine a call means.

mod choose;

pub(crate) use choose::{Chosen, choose, undefined};
