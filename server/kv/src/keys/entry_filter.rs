//! Which entries of a span a check is about.
//!
//! A check of a whole span fails with every write in it. Most questions are finer: a foreign key
//! without an index asks whether a child with this key has come, not whether any child has.
//!
//! ```text
//!   scan of the child table      1→a   2→b   3→a        nobody points at c
//!   committed since              4→a                     the answer is still right
//!                                5→c                     the check fails
//! ```

use std::{fmt, sync::Arc};

/// Decides which entries matter to a check.
pub trait EntryFilter: Send + Sync + 'static {
    /// Whether a check fails when this entry has been put since its snapshot.
    fn matters(&self, key: &[u8], value: &[u8]) -> bool;
}

/// A shared filter.
#[derive(Clone)]
pub struct Matching(pub Arc<dyn EntryFilter>);

impl Matching {
    /// Whether this is the same filter.
    pub(crate) fn is(&self, other: &Matching) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Matching")
    }
}
