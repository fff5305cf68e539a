//! The committer: turns waiting transactions into one batch and one sync. One at a time leads: the
//! committer's thread, or a caller who is alone.
//!
//! ```text
//!   callers    lock written keys ─ check new keys ─ hand over ─────────────────┐
//!   committer  take all that wait ─ validate, enter into the index ─ write ─ sync
//!              ─ publish the view ─ release locks ─ acknowledge ◀──────────────┘
//! ```
//!
//! # What must always hold
//!
//! - An accepted transaction is in the index of recent writes before the next one of the same
//!   batch is checked, or two that read what the other writes would both pass.
//! - Nothing is visible before it is synced, and locks go after it is visible: who gets a lock
//!   reads the newest value.
//! - Observers of commits are told after the publication and before the acknowledgement, in the
//!   order of commit numbers. Groups do not overlap, so the order holds across them.
//! - Written keys are locked exclusively by their transaction up to the publication, by the
//!   caller if not before. So no two transactions of one batch write the same key, and blind
//!   writers respect the locks of others.
//! - What a commit has to forget of others' old writes is bounded; the rest, and room in the
//!   journal, is seen to when nobody waits ([`Chore::Tidy`]).
//! - A failed write or sync leaves the outcome of the whole batch unknown, and the store stops:
//!   after a failed sync nobody can say what the disk has.
//!
//! - `request`: the caller's half
//! - `queue`: the hand-over, and who leads
//! - `group`: the leader's half
//! - `validate`: whether what was read still holds
//! - `ingest`: large commits, which become tables at once
//! - `journal`: what makes a sync short

mod group;
mod ingest;
mod journal;
mod queue;
mod request;
mod validate;

pub(crate) use group::Committer;
pub(crate) use queue::{Chore, Hidden, Leader, Pause, Queue};
pub(crate) use request::commit;
