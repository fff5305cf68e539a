//! Operators on encoded rows: queries, and the run of any statement.
//!
//! [`Execution`] runs a [`braid_plan::PlannedStatement`] inside a transaction and gives rows in
//! batches, on demand: what nobody asks for is not read.
//!
//! ```text
//! session ──next──▶ Execution ──next──▶ operator ──next──▶ operator ──scan, lock──▶ kv
//! ```
//!
//! What it does not do: begin or end transactions, parse, plan, change rows (`dml`, through
//! [`RowChanges`]), change descriptors (`ddl`), or know the wire format.
//!
//! Rules that must always hold: a statement never sees its own writes in its scans (by its
//! statement number), but its checks do; every wait can be cancelled; memory is counted, and rows
//! that it has no room for are on disk (`spill`).

mod advisory;
mod cancel;
mod constraint_modes;
mod context;
mod errors;
mod execution;
mod explain;
mod index_exprs;
mod large_objects;
mod lock_table;
mod memory;
mod notifications;
mod operator;
mod predict;
mod routines;
mod sequences;
mod spill;
mod triggers;

pub use advisory::AdvisoryLocks;
pub use cancel::Cancel;
pub use constraint_modes::ConstraintModes;
pub use context::{ExecContext, NewKeys, NoticeLevel, SessionServices};
pub use errors::from_kv;
pub use execution::Execution;
pub use index_exprs::IndexExprs;
pub use large_objects::{
    all_objects as all_large_objects, drop_large_object, large_object, put_large_object,
};
pub use lock_table::lock_table;
pub use memory::{Memory, MemoryPool, key_bytes, row_bytes};
pub use notifications::{
    Listening, Notification, PendingNotifications, change_listening, notify, pending_notifications,
};
pub use operator::eval::Evaluator;
pub use operator::parallel::parallelism::Parallelism;
pub use operator::parallel::worker_task::WorkerTask;
pub use operator::postponed::Postponed;
pub use operator::reservation::MemoryReservation;
pub use operator::scan::multi_scan::{MultiScan, first_batches};
pub use operator::scan::reader::{KeyBounds, Reader};
pub use operator::state::{ExecutionState, NewRowChanges, RowChange, RowChanges};
pub use operator::{BoxedOperator, Operator, OuterRow};
pub use predict::{Dependency, StatementSpans, predict_spans};
pub use routines::{
    CursorSource, CursorStep, LentDraft, PlansAround, RoutineCommand, RoutineCursor,
    RoutineCursors, RoutineRows, RunningLoop, SessionSettings, SharedCursor, TransactionDraft,
};
pub use spill::{RowPages, RowStore, StoreCursor, TempFolder, TempSpace};
pub use triggers::TriggerCall;
