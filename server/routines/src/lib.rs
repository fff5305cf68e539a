//! Functions and procedures of users: their bodies are compiled once and run inside a statement.
//!
//! ```text
//!   exec: an expression calls a function ──┐
//!   session: CALL, DO ─────────────────────┤
//!   dml: a change fires a trigger ─────────┤
//!                                          ▼
//!      text ──plpgsql──▶ tree ──interpret──▶ BodyStatement ──▶ plan, dml (rows)
//!                                     │
//!                                     └──▶ Host: numbers of statements, savepoints, definitions
//! ```
//!
//! What is here: the parser of PL/pgSQL ([`plpgsql`]), its interpreter, and bodies in SQL.
//! What is not: catalogs of routines (`catalog`), which routine a call means (`plan`), transactions
//! (`session`).
//!
//! Rules that must always hold:
//! - a volatile routine's statements have numbers of their own, above that of the statement that
//!   calls it; so they see its changes, and a handler's rollback takes only theirs back;
//! - a routine that is not volatile reads with the number of its caller, and changes nothing;
//! - an error that asks for a restart of the transaction passes every handler;
//! - loops and recursion notice a cancel request, and recursion has a limit.

mod body;
mod built_in_trigger;
mod cache;
mod call;
mod conditions;
mod deep;
mod host;
mod interpret;
pub mod plpgsql;
mod query;
mod simple;
mod sql_body;
mod trigger;
mod values;

pub use cache::RoutineCache;
pub use call::{call_function, call_set_function, run_block, run_inner_procedure, run_procedure};
pub use host::{CommandRefused, Host, Mark, not_its_transaction};
pub use sql_body::check_sql_body;
pub use trigger::{call_trigger, check_trigger_body};
