//! Foreign keys: the checks and cascades of a statement, after it has written all its rows.
//!
//! ```text
//!   operators ──changed──▶ queue ──▶ level: read in one batch ─▶ act in order ─▶ write ─┐
//!                            ▲                                                          │
//!                            └──────────── what the level's own changes ask for ────────┘
//! ```
//!
//! A row that comes asks whether its parents exist; one that goes, or whose key changes, asks what
//! becomes of its children. These questions ([`event`]) are answered level by level: all reads of a
//! level go out together ([`cascade::children`]), then the events take their turn in memory, in the
//! order in which PostgreSQL's triggers would fire ([`cascade::level`]), then the rows that have
//! changed are written ([`cascade::changes`]) and ask questions of their own. A level waits as
//! often for a million rows as for one, apart from the size of batches. Levels that only delete
//! children, most cascades, do so in a stream ([`cascade::plain`]).
//!
//! Checks take no locks: they read existence only, and that is validated at commit at every
//! isolation level. Rows that a cascade writes are locked, like those of an UPDATE.
//! Checks of deferred constraints are left to the commit ([`deferred`]).
//!
//! At READ COMMITTED each level reads what is committed when it begins, as PostgreSQL's checks do:
//! the statement may have waited for locks, and has written over rows as they were behind them.
//!
//! What must hold: nothing of the statement's result leaves before its last level; a level sees
//! everything that earlier levels have written.

pub(crate) mod cascade;
pub(crate) mod changed;
pub(crate) mod collect;
pub(crate) mod deferred;
pub(crate) mod event;
pub(crate) mod finish;
pub(crate) mod link;
pub(crate) mod messages;
pub(crate) mod queue;

pub use changed::foreign_key_changed;
pub(crate) use collect::ForeignKeys;
pub use deferred::{check_left, has_left_checks, has_left_on};
