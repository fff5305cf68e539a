//! Triggers: when the functions of a table's triggers run, and on which rows.
//!
//! ```text
//!   operator ──begin──▶ BEFORE STATEMENT
//!      │ each row: before_row ──▶ BEFORE ROW: keeps, changes or drops the new row
//!      │           write
//!      │           after_row ──▶ queue ─┐       rows for transition tables are kept
//!      └──end──▶ queue of statements ─┐ │
//!                                     ▼ ▼
//!   the statement's end: foreign keys, level by level ──▶ AFTER ROW, AFTER STATEMENT in order
//!                                                             └─ deferred: left to the commit
//! ```
//!
//! The functions run in `routines`, reached through [`braid_exec::SessionServices::call_trigger`].
//! Their statements have numbers above that of the statement that fires them.
//!
//! Rules that must always hold:
//! - triggers of one firing run in the order of their names;
//! - constraints look at the row as the last BEFORE trigger has left it;
//! - no row of the result leaves before the last trigger of the statement;
//! - what follows a trigger's statements (foreign keys, the next level of a cascade) has a number
//!   above theirs, so that it sees what they did.

mod call;
mod deferred;
mod instead;
mod queue;
mod rows;
mod run;

pub(crate) use call::later_run;
pub(crate) use deferred::{fire_deferred, has_deferred, has_deferred_on};
pub(crate) use instead::InsteadOperator;
pub(crate) use queue::TriggerQueue;
pub(crate) use rows::RowTriggers;
pub(crate) use run::fire_queued;
