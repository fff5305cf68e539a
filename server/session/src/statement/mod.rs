//! One statement: prepared, bound, planned, run, its rows delivered.
//!
//! `runner` is the way of a statement from its portal to its tag; the other files are its steps.

pub(crate) mod binding;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod cursor_rows;
pub(crate) mod deadline;
pub(crate) mod describe;
pub(crate) mod environment;
pub(crate) mod execute;
pub(crate) mod kinds;
pub(crate) mod plans;
pub(crate) mod portal;
pub(crate) mod prepare;
pub(crate) mod prepared;
pub(crate) mod runner;
pub(crate) mod skeleton;
