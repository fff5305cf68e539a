//! A snapshot that several transactions read at.
//!
//! ```text
//!   exporter   BEGIN ── read ── export ─────────────────────── COMMIT
//!                                  │ SharedSnapshot
//!   importer              BEGIN ── import ── read ── COMMIT
//! ```
//!
//! Rule: the snapshot of a transaction that has exported or imported one never moves. Where it
//! would have to, the error is a retry. The store keeps what the snapshot shows while a handle
//! lives.

use crate::{Error, Isolation, Result, Seq, Snapshot, Timestamp, Transaction};
use std::sync::Arc;

/// A snapshot that several transactions read at.
#[derive(Clone)]
pub struct SharedSnapshot(Arc<dyn Snapshot>);

impl SharedSnapshot {
    /// Its place in the order of commits.
    pub fn timestamp(&self) -> Timestamp {
        self.0.timestamp()
    }
}

impl Transaction {
    /// The snapshot that a statement reads at, for other transactions. Writes of this transaction
    /// are not in it.
    pub async fn export_snapshot(&self, seq: Seq) -> Result<SharedSnapshot> {
        let snapshot = self.snapshot_for(seq).await?;
        snapshot.share();
        if self.isolation() != Isolation::ReadCommitted {
            self.active()?.snapshot_is_fixed = true;
        }
        Ok(SharedSnapshot(snapshot))
    }

    /// Makes all statements read at this snapshot. The transaction has read nothing before; at
    /// READ COMMITTED, where each statement has a snapshot of its own, it is an error.
    pub fn import_snapshot(&self, shared: &SharedSnapshot) -> Result<()> {
        let mut state = self.active()?;
        if self.isolation() == Isolation::ReadCommitted || state.snapshot.is_some() {
            return Err(Error::Storage("a transaction that reads takes no other snapshot".into()));
        }
        for key in std::mem::take(&mut state.unchanged) {
            state.add_unchanged(key, &shared.0);
        }
        state.snapshot = Some(shared.0.clone());
        state.snapshot_is_fixed = true;
        Ok(())
    }
}
