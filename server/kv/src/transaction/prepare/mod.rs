//! Transactions that are prepared: two-phase commit, whose second step a later call or a later
//! process takes.
//!
//! ```text
//!   Preparation::begin ─────────────▶ Preparation ─ prepare ─▶ PreparedTransaction ─▶ commit
//!      locks what it writes and reads       │ one commit: proves its reads,    │      or rollback
//!                                           ▼ puts its record                  ▼
//!                                      record in the store ── restart ──▶ restore_prepared
//! ```
//!
//! # What must always hold
//!
//! - What a prepared transaction writes is locked exclusively, and what it must find unchanged is
//!   locked shared, from before its reads are proved until it has ended. Every writer locks what
//!   it writes. So the proof still holds when the transaction commits, however late that is.
//! - The record contains its writes and the names of its locks. It is durable before `prepare`
//!   answers, and goes in the same commit as the transaction's writes come.
//! - Only a store that keeps locks until they are given back can prepare
//!   ([`crate::Store::can_prepare`]).
//!
//! - `preparation`: the first step
//! - `prepared`: the second step, and the return after a restart
//! - `record`: the bytes of a record

mod preparation;
mod prepared;
mod record;

pub use preparation::Preparation;
pub use prepared::PreparedTransaction;
