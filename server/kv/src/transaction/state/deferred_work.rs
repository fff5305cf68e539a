//! Work that statements have deferred until the commit.

use crate::Seq;
use parking_lot::Mutex;
use std::{any::Any, sync::Arc};

/// One piece of deferred work. Only the caller knows its type.
type Work = Arc<dyn Any + Send + Sync>;

/// Work that statements have deferred until the commit. The caller that commits does it.
///
/// Work goes together with its statement's writes: by a rollback to a savepoint, and when the
/// statement runs again.
#[derive(Default)]
pub struct DeferredWork {
    entries: Mutex<Vec<(Seq, Work)>>,
}

impl DeferredWork {
    /// Defers work of a statement.
    pub fn push(&self, seq: Seq, work: Work) {
        self.entries.lock().push((seq.before(), work));
    }

    /// All work, in the order of the statements.
    pub fn all(&self) -> Vec<(Seq, Work)> {
        let mut entries = self.entries.lock().clone();
        entries.sort_by_key(|(seq, _)| *seq);
        entries
    }

    /// The newest work of this type, with its statement.
    pub fn last<T: Any + Send + Sync>(&self) -> Option<(Seq, Arc<T>)> {
        let entries = self.entries.lock();
        let (seq, work) = entries.iter().rev().find(|(_, work)| work.is::<T>())?;
        Some((*seq, work.clone().downcast().ok()?))
    }

    /// Whether there is work of this type.
    pub fn has<T: Any + Send + Sync>(&self) -> bool {
        self.entries.lock().iter().any(|(_, work)| work.is::<T>())
    }

    /// Drops all work but this, after some of it was done.
    pub fn retain(&self, keep: impl Fn(&Work) -> bool) {
        self.entries.lock().retain(|(_, work)| keep(work));
    }

    /// Drops the work of statements after `seq`.
    pub(in crate::transaction) fn rollback_to(&self, seq: Seq) {
        self.entries.lock().retain(|(of, _)| *of <= seq);
    }

    /// Drops the work of one statement.
    pub(in crate::transaction) fn forget_statement(&self, seq: Seq) {
        self.entries.lock().retain(|(of, _)| of.number() != seq.number());
    }

    /// Drops all work.
    pub(in crate::transaction) fn clear(&self) {
        self.entries.lock().clear();
    }
}
