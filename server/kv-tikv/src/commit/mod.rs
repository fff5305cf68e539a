//! Commits: prewrite, commit timestamp, validation, second phase.
//!
//! - `plan`: what a commit writes and what it proves
//! - `run`: one commit from its request to its outcome
//! - `prewrite`: the first phase, in all regions at once
//! - `validate`: proofs that reads still hold at another timestamp
//! - `finish`: the second phase, rollback, the outcome of a commit without an answer
//! - `context`: what all of them share
//!
//! ```text
//!   prewrite every region at once ─▶ C from PD ─▶ reads still the same at C? ─▶ commit at C
//!        │                             ▲                                          │
//!        │                             └──────── a reader has pushed us above C ──┘
//!        └▶ nothing to prove: committed by the prewrite itself (async commit, one phase)
//! ```
//!
//! # What must always hold
//!
//! - C is taken after the last prewrite. So a transaction that commits below C has its locks or its
//!   values in place when the reads are validated. The transaction commits at exactly that C.
//! - Of two transactions that each read what the other writes, one meets the other's lock or value,
//!   because each validates with its own locks in place. A foreign lock is pushed above C, read as
//!   committed, or waited for; it is never ignored.
//! - A key that is locked is prewritten even if it is not written, with the check that its lock is
//!   still there: a lock in memory may be lost with its leader.
//! - Before anything is reported as aborted, it has been made impossible to commit. What can
//!   neither be proved committed nor be prevented is unknown.

mod context;
mod finish;
mod plan;
mod prewrite;
mod run;
mod validate;

pub(crate) use context::CommitContext;
pub(crate) use plan::proofs_of;
pub(crate) use run::commit;
pub(crate) use validate::prove;
