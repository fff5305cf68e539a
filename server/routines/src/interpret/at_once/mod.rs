//! Statements whose expressions wait for nothing: they run without a future of their own.
//!
//! ```text
//!   list of statements ──▶ run_at_once ──▶ the end of the list, or where it leads
//!                               │
//!                               └──▶ a statement that may wait: `go_on` awaits it
//! ```
//!
//! Rules that must always hold:
//! - nothing of a statement has been evaluated if it is left to `go_on`;
//! - no code of others runs between two statements that run at once, so the catalog and the
//!   settings are compared once for all of them ([`Run::is_settled`](super::state::Run));
//! - texts that grow are shown to whatever reads the variables by itself.

mod append;
mod expression;
mod statement;

pub(super) use expression::{is_settled, now};
pub(super) use statement::{Path, holds_now, run_at_once};
