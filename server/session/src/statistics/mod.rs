//! What monitoring asks: what statements, relations and databases were used for since the start.
//!
//! Each gateway counts for itself, in memory; nothing is stored. A statement pays for one or two
//! locks of its own thread's share, which nobody else holds for longer than an addition. A reader
//! adds the shares up.
//!
//! Rules: every map has a bound on its entries; a share's lock is never held across a wait.

mod activity;
pub(crate) mod note;
mod statements;

pub(crate) use activity::Activity;
pub(crate) use statements::{Key, Statements};

/// The counters of a server.
#[derive(Default)]
pub(crate) struct Statistics {
    pub activity: Activity,
    pub statements: Statements,
}
