//! `DO`, `CALL`, and calls of functions that define objects: bodies that run in the session itself.

mod defining;
mod host;
mod run;
mod surroundings;

pub(crate) use defining::{BeforeCall, run_defining};
pub(crate) use run::run_routine;
pub(crate) use surroundings::surroundings;
