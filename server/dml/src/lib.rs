//! Changes of rows: INSERT, UPDATE, DELETE and UPSERT, constraints, and foreign keys.
//!
//! ```text
//!   session, ddl ──start──▶ Execution (exec) ──needs an operator that changes rows──┐
//!                                                                                   ▼
//!   exec: scans, evaluator ◀──reads── InsertOperator, UpdateOperator, DeleteOperator
//!                                          │ rows               │ questions
//!                                          ▼                    ▼
//!                                     TableWriter ──▶ kv     foreign keys and AFTER triggers, at
//!                                                            the statement's end
//! ```
//!
//! This room is above `exec` and uses its scans and its evaluator. [`start`] hands `exec` what
//! changes rows ([`braid_exec::RowChanges`]), because a plan may change rows anywhere in a WITH.
//!
//! What it does not do: plan, begin or end transactions, change descriptors (`ddl`).
//!
//! Rules that must always hold: a row, its column families and its index entries change together;
//! no row of a result leaves before foreign keys and triggers have looked at all changes of the
//! statement;
//! checks see the statement's own writes, scans do not.

mod check_table;
mod counts;
mod deferrable_keys;
mod delete;
mod exclusions;
mod foreign_keys;
mod insert;
mod merge;
mod partitions;
mod policy_checks;
mod queues;
mod range_delete;
mod statement;
mod table_writer;
mod triggers;
mod update;

pub use check_table::check_table;
pub use deferrable_keys::unique_key_changed;
pub use exclusions::{check_all_entries, exclusion_changed};
pub use foreign_keys::{check_left, foreign_key_changed, has_left_checks, has_left_on};
pub use statement::{StatementParts, start};
