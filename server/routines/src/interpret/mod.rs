//! Runs the tree of a PL/pgSQL body.

mod assign;
mod diagnostics;
mod frame;
mod loops;
mod raise;
mod run;
mod sql;
mod state;

pub(crate) use run::run_code;
