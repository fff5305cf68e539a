//! What belongs to an open transaction, to its block and to its savepoints.

use std::sync::Arc;

use braid_catalog::{Catalog, Draft};
use braid_exec::{ConstraintModes, TransactionDraft};
use braid_kv::{SavepointId, SharedSnapshot, Snapshot, Transaction};

use crate::settings::SettingsMark;

/// The savepoint of the retry protocol, as CockroachDB calls it.
pub(crate) const RESTART: &str = "cockroach_restart";

/// An open kv transaction.
pub(crate) struct Open {
    pub txn: Arc<Transaction>,
    /// The position before its first statement.
    pub start: SavepointId,
    /// What it has defined; its running statements reach it as well.
    pub draft: Arc<TransactionDraft>,
    /// A snapshot that is not newer than the catalog of the newest statement.
    pub catalog_since: Option<Arc<dyn Snapshot>>,
    /// Its timestamp: microseconds since 2000-01-01.
    pub micros: i64,
    /// Statements run in it.
    pub statements: u32,
    /// The client was told of a retry error, so nothing that it has seen here counts.
    pub doomed: bool,
    /// Keys are still to be checked; the catalog knows their constraints.
    pub unchecked: Option<Arc<Catalog>>,
    /// It was the victim of a deadlock: its locks stand in the way of others.
    pub deadlocked: bool,
}

/// What belongs to a block even before its kv transaction begins.
#[derive(Default)]
pub(crate) struct BlockState {
    pub savepoints: Vec<Savepoint>,
    /// How often it was rolled back to the restart savepoint.
    pub restarts: u32,
    /// SET CONSTRAINTS.
    pub constraints: Arc<ConstraintModes>,
    /// SET TRANSACTION SNAPSHOT.
    pub snapshot: Option<SharedSnapshot>,
    /// When BEGIN was.
    pub micros: Option<i64>,
}

/// A savepoint of the session.
pub(crate) struct Savepoint {
    pub name: String,
    /// `None`: the kv transaction had not begun.
    pub kv: Option<SavepointId>,
    pub draft: Option<Draft>,
    pub settings: SettingsMark,
    pub constraints: Arc<ConstraintModes>,
    /// Whether the transaction was READ ONLY.
    pub read_only: bool,
}

impl Savepoint {
    /// The changes of the catalog before it.
    pub(crate) fn draft(&self) -> Option<&Draft> {
        self.draft.as_ref()
    }
}
