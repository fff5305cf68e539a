//! Operators on encoded rows: queries and statements that change rows.
//!
//! [`Execution`] runs a [`braid_plan::PlannedStatement`] inside a transaction and gives rows in
//! batches, on demand: what nobody asks for is not read.
//!
//! ```text
//! session ──next──▶ Execution ──next──▶ operator ──next──▶ operator ──scan, lock──▶ kv
//! ```
//!
//! What it does not do: begin or end transactions, parse, plan, change descriptors (`ddl`), or know
//! the wire format.
//!
//! Rules that must always hold: a statement never sees its own writes in its scans (its number
//! sees to that), but its checks do; every wait can be cancelled; memory is counted.

mod advisory;
mod change;
mod check_table;
mod constraint_modes;
mod context;
mod errors;
mod execution;
mod explain;
mod index_exprs;
mod lock_table;
mod memory;
mod notifications;
mod operator;
mod predict;
mod sequences;

pub use advisory::AdvisoryLocks;
pub use change::foreign_keys::{check_left, foreign_key_changed, has_left_checks, has_left_on};
pub use check_table::check_table;
pub use constraint_modes::ConstraintModes;
pub use context::{Cancel, ExecContext, NewKeys, SessionServices};
pub use errors::from_kv;
pub use execution::Execution;
pub use index_exprs::IndexExprs;
pub use lock_table::lock_table;
pub use memory::{Memory, MemoryPool};
pub use notifications::{
    Listening, Notification, PendingNotifications, change_listening, notify, pending_notifications,
};
pub use predict::{Dependency, StatementSpans, predict_spans};
