//! Statements that differ only in their literals share a parse and a plan.

pub(crate) mod given;
pub(crate) mod insert;
mod literals;
mod reader;
