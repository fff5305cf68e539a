//! The statements that change rows, and the foreign keys that they reach.

pub(crate) mod arbiters;
pub(crate) mod assignment;
pub(crate) mod cascade;
pub(crate) mod delete;
pub(crate) mod insert;
pub(crate) mod merge;
pub(crate) mod shown;
pub(crate) mod target;
pub(crate) mod triggers;
pub(crate) mod update;
pub(crate) mod view;
mod view_privileges;
