//! Parallel statements: `RETURNING NOTHING` inside a transaction block.
//!
//! Such a statement is planned, acknowledged and queued. A *group* is what was queued since the
//! last barrier; the *barrier* is the next statement that is not of this kind.
//!
//! ```text
//!   BEGIN
//!   1 INSERT … NOTHING  ──► runs ────────────┐
//!   2 UPDATE … NOTHING  ──► runs ──────┐     │      independent: side by side, in tasks
//!   3 UPDATE … NOTHING  ──► waits for 2└► runs ┐    its spans meet those of 2
//!   4 SELECT (barrier)  ·····················▼─▼──► runs; keys that must not exist are looked at
//!   5 COMMIT            all that is left is folded into the commit       at the same time
//! ```
//!
//! - `interface`: what the rest of a session asks; `session_groups` carries it out
//! - `ledger`: the statements of a group, who waits for whom, what has become of each
//! - `queue`: what the tasks of a session share; starting and stopping them
//! - `task`: one statement in its task, run again after a conflict
//! - `state`: a session's part of its group
//! - `enqueue`: a statement is planned, acknowledged and queued
//! - `barrier`: waiting for the group, and its error
//! - `new_keys`: keys that must not exist, looked at beside a statement
//! - `again`: a transaction of nothing but acknowledgements, run again in order
//! - `report`: the error of a barrier, one context line a failed statement
//! - `timeline`: `SHOW TRANSACTION TIMELINE`
//!
//! Rules that must always hold:
//! - a statement starts when every earlier one whose spans meet its own has finished;
//! - once statement n has failed, earlier ones still start and finish, later ones never start;
//! - nothing of a session runs when a barrier's own work begins, but for the look at new keys,
//!   whose answer is known before anything of that work leaves;
//! - no task outlives its session's interest: the end of the transaction, a cancel request, and
//!   the end of the connection stop every one of them;
//! - at READ COMMITTED a group runs in order, each statement with a snapshot of its own.
//!
//! Not here: which spans a statement reads and writes (`exec`).

mod again;
mod barrier;
mod enqueue;
mod interface;
mod ledger;
mod new_keys;
mod queue;
mod report;
mod session_groups;
mod state;
mod task;
mod timeline;

pub(crate) use interface::ParallelStatements;
pub(crate) use state::GroupState;
pub(crate) use timeline::{Recorder, columns as timeline_columns};
