//! The transaction of a session: its block, its savepoints, its commit and the checks before it.

pub(crate) mod commit;
pub(crate) mod commit_attempt;
pub(crate) mod commit_token;
pub(crate) mod deferred_constraints;
pub(crate) mod deferred_unique_checks;
pub(crate) mod exported_snapshots;
pub(crate) mod machine;
pub(crate) mod open;
pub(crate) mod savepoints;
pub(crate) mod state;
pub(crate) mod temporary;
pub(crate) mod temporary_objects;
