//! Snapshots that one session exports and others import: `pg_export_snapshot()` and
//! `SET TRANSACTION SNAPSHOT`.
//!
//! Rules: a snapshot can be imported while the transaction that exported it is open, by sessions
//! of the same process; an importing transaction reads at it from its first statement on.

use std::collections::HashMap;
use std::sync::Arc;

use braid_kv::SharedSnapshot;
use braid_sql::ast::IsolationLevel;
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;

use crate::session::Session;
use crate::transaction::Block;

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
pub(crate) struct Snapshots(Mutex<HashMap<String, Exported>>);

/// The snapshots that one transaction has exported. They go when it ends.
#[derive(Default)]
pub(crate) struct Exports {
    registry: Option<Arc<Snapshots>>,
    names: Vec<String>,
}

impl Exports {
    /// Adds one; its identifier, in which the session's and the transaction's numbers stand.
    pub(crate) fn add(
        &mut self,
        registry: &Arc<Snapshots>,
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

impl Session {
    /// `SET TRANSACTION SNAPSHOT`
    pub(crate) fn import_snapshot(&mut self, name: &str) -> Result<()> {
        self.require_block_softly("SET TRANSACTION");
        let begun = self.open.as_ref().is_some_and(|open| open.statements > 0);
        if begun || !self.block_state.savepoints.is_empty() {
            return Err(Error::new(
                SqlState::ActiveSqlTransaction,
                "SET TRANSACTION SNAPSHOT must be called before any query",
            ));
        }
        let modes = self.modes();
        let is_serializable = modes.isolation == IsolationLevel::Serializable;
        if !is_serializable && modes.isolation != IsolationLevel::RepeatableRead {
            return Err(unsupported(
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or \
                 REPEATABLE READ",
            ));
        }
        let known = self.server.snapshots.0.lock().get(name).cloned();
        let exported = known.ok_or_else(|| {
            let message = format!("invalid snapshot identifier: \"{name}\"");
            Error::new(SqlState::InvalidParameterValue, message)
        })?;
        if is_serializable && !exported.is_serializable {
            return Err(unsupported(
                "a serializable transaction cannot import a snapshot from a non-serializable \
                 transaction",
            ));
        }
        if is_serializable && exported.is_read_only && !modes.read_only {
            return Err(unsupported(
                "a non-read-only serializable transaction cannot import a snapshot from a \
                 read-only transaction",
            ));
        }
        if exported.database != self.shared.entry.database {
            return Err(unsupported("cannot import a snapshot from a different database"));
        }
        if self.block != Block::None || self.in_simple_list {
            self.open = None;
            self.block_state.snapshot = Some(exported.snapshot);
            self.ensure_open();
        }
        Ok(())
    }
}

fn unsupported(message: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, message)
}
