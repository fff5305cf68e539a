//! Threads for statements that compute for long, apart from those that serve sockets.
//!
//! ```text
//! the runtime's threads (few, shared)           compute threads (one a statement, lower priority)
//! poll ── done or waits ──► stays here
//!      └─ slice used up ───────────────────────► poll, poll, … ── done ──┐
//!      ◄─ poll again ──────────────────────────────────────── waits ─────┘
//! ```
//!
//! A connection's work (or that of a queued statement) is one future that either side can poll. It
//! begins on the runtime, so a short statement never leaves it. When it has used up a slice
//! ([`braid_types::work::check_interrupts`]) it moves to a thread of its own, and comes back as
//! soon as it waits for something: sockets, timers and locks are always waited for on the runtime.
//!
//! Rules:
//! - threads compete under the operating system's scheduler, so that no statement has to be
//!   well-behaved for others to go on; more than [`pool::THREADS_MAX`] take turns;
//! - plain code that goes on beyond its slice on the runtime makes its worker hand over the other
//!   tasks (`block_in_place`);
//! - if nobody waits for the work any more, it is dropped at the end of its slice.

mod pool;
mod roaming;
mod terminator;

pub(crate) use pool::Pool;
pub(crate) use roaming::{roam, run};
pub use terminator::SessionTerminator;
