//! Runs the tree of a PL/pgSQL body.

mod assign;
mod at_once;
mod cursors;
mod diagnostics;
mod frame;
mod loops;
mod raise;
mod returns;
mod run;
mod sql;
mod state;
mod words;

pub(crate) use run::run_code;
