//! Row locks: in memory, on keys and spans, shared or exclusive, first come first served.
//!
//! ```text
//!   key  account/7     held: T3 shared, T5 shared     queue: T8 exclusive, T9 shared
//!   span account/…     held: -                        queue: T10 exclusive
//!
//!   T3 asks for exclusive: it goes ahead of T8 (it holds already) and waits for T5 alone.
//!   T5 asks for exclusive too: T3 → T5 → T3, a deadlock; the youngest, T5, is the victim.
//! ```
//!
//! # What must always hold
//!
//! - A request is granted when nobody else holds a conflicting lock over the same keys and nobody
//!   else asked for one before. A request whose transaction already holds something there goes
//!   ahead of the queue, since those in the queue wait for it anyway.
//! - Several keys are locked in key order, so that equal statements do not deadlock.
//! - A lock is handed over by the one who releases it: nobody can push in between.
//! - Every wait is checked for a cycle when it begins. What a waiter waits for only shrinks later,
//!   except when somebody goes ahead of it. If that one waits, be it with another of its
//!   statements, it is checked again; and what it has taken may let its own waits pass.
//! - The end of a transaction releases everything it holds and cancels what it still waits for, in
//!   portions, so that a large transaction does not keep the table from others.
//!
//! Locks say nothing about versions: who was granted one reads the newest published view.
//!
//! - `held_locks`: who holds what
//! - `table`: queues, granting and releasing
//! - `deadlock`: the search for cycles
//! - `pairs`: which transaction runs in which session that holds locks of its own
//! - `session`: locks of sessions, which outlast transactions
//! - `wait`: requests, waiting, time limits

mod deadlock;
mod held_locks;
mod pairs;
mod session;
mod table;
#[cfg(test)]
mod tests;
mod wait;

pub(crate) use held_locks::Target;
pub(crate) use wait::{LockManager, Request};
