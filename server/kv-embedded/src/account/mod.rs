//! Our own account of what the data folder must hold, so that damage is a refusal and never a
//! database that looks empty or has lost its last commits.
//!
//! ```text
//!   each batch   meta "commit"  →  its last commit, and the last one of the commit batch before it
//!   ACCOUNT      the last durable commit, the newest journal, whether the last stop was clean
//!   start        files ─ journals, read by themselves ─ ACCOUNT ─ only then fjall opens the folder
//! ```
//!
//! fjall ends a journal at the first record that it cannot read and cuts off the rest. After a
//! crash that is right: a commit that was on its way may be torn. It is wrong if a commit after
//! the tear was written after a sync. Commits form a chain, and each is written after the sync of
//! the one before it. So a second commit after the tear, or a gap in the chain, proves a loss.
//!
//! What must always hold:
//! - Nothing in the folder is changed before all this has been looked at.
//! - `ACCOUNT` never names a commit that has not been synced. It is written at the start, at a
//!   clean stop, and by the cleaner now and then: no commit waits for it. What was committed since
//!   is proved by the journals alone.
//! - A folder of a version that wrote no account is taken as it is; from then on it has one.

mod file;
mod inspect;
mod journals;
mod record;
mod required;

pub(crate) use file::{Account, write};
pub(crate) use inspect::{Inspected, inspect};
pub(crate) use journals::newest_journal;
pub(crate) use record::{COMMIT, Commit, decode_commit, encode_commit};
