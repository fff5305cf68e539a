//! Bodies of routines: those that run in the session itself, and the commands of all others.

mod commands;
mod defining;
mod definitions;
mod host;
mod run;
mod services;
mod surroundings;
mod transactions;

pub(crate) use defining::{BeforeCall, run_defining};
pub(crate) use definitions::{carry_out, check_definition, lock_catalog, schema_changed};
pub(crate) use run::run_routine;
pub(crate) use surroundings::surroundings;
