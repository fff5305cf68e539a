//! `DO` and `CALL`: bodies that run in the session itself, and may define objects.

mod host;
mod run;

pub(crate) use run::run_routine;
