//! Snapshots that one session exports and others import: `pg_export_snapshot()` and
//! `SET TRANSACTION SNAPSHOT`.
//!
//! Rules: a snapshot can be imported while the transaction that exported it is open, by sessions
//! of the same process; an importing transaction reads at it from its first statement on.

use std::collections::HashMap;
use std::sync::Arc;

use braid_kv::SharedSnapshot;
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;

/// Snapshots that one transaction may export.
const EXPORTS_MAX: usize = 1_000;

/// A snapshot with what its transaction was.
#[derive(Clone)]
pub(crate) struct Exported {
    pub snapshot: SharedSnapshot,
    pub database: String,
    pub is_serializable: bool,
    pub is_read_only: bool,
}

/// The snapshots of all sessions, by their identifiers.
#[derive(Default)]
pub(crate) struct ExportedSnapshots(Mutex<HashMap<String, Exported>>);

impl ExportedSnapshots {
    /// The snapshot with this identifier, if its transaction is open.
    pub(crate) fn find(&self, name: &str) -> Option<Exported> {
        self.0.lock().get(name).cloned()
    }
}

/// The snapshots that one transaction has exported. They go when it ends.
#[derive(Default)]
pub(crate) struct Exports {
    registry: Option<Arc<ExportedSnapshots>>,
    names: Vec<String>,
}

impl Exports {
    /// Adds one; its identifier, in which the session's and the transaction's numbers stand.
    pub(crate) fn add(
        &mut self,
        registry: &Arc<ExportedSnapshots>,
        (session, transaction): (i32, u64),
        exported: Exported,
    ) -> Result<String> {
        if self.names.len() >= EXPORTS_MAX {
            let message = format!("a transaction cannot export more than {EXPORTS_MAX} snapshots");
            return Err(Error::new(SqlState::ProgramLimitExceeded, message));
        }
        let name = format!("{session:08X}-{transaction:08X}-{}", self.names.len() + 1);
        registry.0.lock().insert(name.clone(), exported);
        self.registry = Some(registry.clone());
        self.names.push(name.clone());
        Ok(name)
    }

    /// Whether there is one.
    pub(crate) fn has_any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Takes all of them back.
    pub(crate) fn clear(&mut self) {
        let Some(registry) = self.registry.take() else { return };
        let mut known = registry.0.lock();
        self.names.drain(..).for_each(|name| drop(known.remove(&name)));
    }
}

impl Drop for Exports {
    fn drop(&mut self) {
        self.clear();
    }
}
