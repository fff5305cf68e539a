//! `DO` and `CALL`: bodies that run in the session itself, and may define objects.

mod host;
mod run;
mod surroundings;

pub(crate) use run::run_routine;
pub(crate) use surroundings::surroundings;
