//! Operators on encoded rows; DML and DDL.
//!
//! [`Execution`] runs a [`braid_plan::PlannedStatement`] inside a transaction and gives rows in
//! batches, on demand: what nobody asks for is not read. [`ddl`] changes descriptors.
//!
//! ```text
//! session ──next──▶ Execution ──next──▶ operator ──next──▶ operator ──scan, lock──▶ kv
//! ```
//!
//! What it does not do: begin or end transactions, parse, plan, or know the wire format.
//!
//! Rules that must always hold: a statement never sees its own writes in its scans (its number
//! sees to that), but its checks do; every wait can be cancelled; memory is counted.

mod advisory;
mod check_table;
mod constraint_modes;
mod context;
pub mod ddl;
mod duplicate;
mod errors;
mod execution;
mod explain;
mod index_exprs;
mod lock_table;
mod memory;
mod notifications;
mod operator;
mod predict;
pub mod rows;
mod sequences;

pub use advisory::AdvisoryLocks;
pub use check_table::check_table;
pub use constraint_modes::ConstraintModes;
pub use context::{Cancel, ExecContext, NewKeys, SessionServices};
pub use duplicate::duplicate_key;
pub use errors::from_kv;
pub use execution::Execution;
pub use lock_table::lock_table;
pub use memory::{Memory, MemoryPool};
pub use notifications::{
    Listening, Notification, PendingNotifications, change_listening, notify, pending_notifications,
};
pub use operator::{check_left, foreign_key_changed, has_left_checks, has_left_on};
pub use predict::{Dependency, StatementSpans, predict_spans};
