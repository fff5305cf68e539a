//! Commits.
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
//! - C is taken after the last prewrite, so whoever commits below C had its locks or its values in
//!   place when the reads are looked at again; and the transaction commits at exactly that C.
//! - Of two transactions that each read what the other writes, one meets the other's lock or value:
//!   each validates with its own locks in place. A foreign lock in the way is pushed above C, read
//!   as committed, or waited for; it is never just ignored.
//! - A key that is locked is prewritten even if it is not written, with the check that its lock is
//!   still there: a lock in memory may be lost with its leader.
//! - Before anything is reported as aborted, it has been made impossible to commit. What can
//!   neither be proved committed nor be prevented is unknown.

mod finish;
mod plan;
mod prewrite;
mod run;
mod validate;

pub(crate) use plan::proofs_of;
pub(crate) use run::{Committing, commit};
pub(crate) use validate::{Proof, What, prove};
