//! Advisory locks of one session: how often each is held, and what the store keeps for it.
//!
//! ```text
//!   call                          ledger                              store
//!   pg_advisory_lock(7)           7 exclusive: session 1              7 exclusive
//!   pg_advisory_xact_lock(7)      7 exclusive: session 1, txn 1       (nothing to do)
//!   COMMIT                        7 exclusive: session 1              (nothing to do)
//!   pg_advisory_unlock(7)         -                                   7 given back
//! ```
//!
//! Rules that must always hold:
//! - the store keeps exactly what the ledger counts, except while a statement runs again: what its
//!   failed attempt took stays until it has ended, so that the next attempt need not queue;
//! - an attempt that is given up leaves no count behind;
//! - an unlock takes effect at once, so a statement that has unlocked does not run again.

mod ledger;
mod locks;

pub use locks::AdvisoryLocks;
pub(crate) use locks::Wanted;
