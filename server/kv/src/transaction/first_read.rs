//! A first read that goes without a snapshot, because it is probably the only read.
//!
//! Rules: a snapshot that is taken later has to show what was read. Below SERIALIZABLE it has to do
//! so only for the same statement at READ COMMITTED. A read in flight when a snapshot is taken does
//! not count and is repeated at the snapshot.

use super::state::{FirstRead, ReadWithoutSnapshot};
use crate::{Record, Result, Seq, Snapshot, Span, Transaction, Value};
use std::sync::Arc;

impl Transaction {
    /// Lets the first read do without waiting for a snapshot if it is of one key: for a transaction
    /// that probably reads nothing else. If it does after all, that costs a proof of what the first
    /// read has shown. False if there is nothing to be gained.
    pub fn read_first_without_snapshot(&self) -> bool {
        let Ok(mut state) = self.active() else { return false };
        let is_new = state.snapshot.is_none() && state.first_reader.is_none();
        let newest = self.database.inner.store.newest().filter(|_| is_new && !state.has_locks);
        let Some(newest) = newest else { return false };
        state.first_read = FirstRead::Expected(newest);
        true
    }

    /// The value of a key, if this is a read without a snapshot.
    pub(super) async fn read_without_snapshot(
        &self,
        seq: Seq,
        key: &[u8],
        record: Record,
    ) -> Result<Option<Option<Value>>> {
        let newest = {
            let mut state = self.active()?;
            let FirstRead::Expected(newest) = &state.first_read else { return Ok(None) };
            let newest = newest.clone();
            state.first_read = FirstRead::InFlight;
            newest
        };
        let value = self.round_trip(newest.get(key)).await?;
        let mut state = self.active()?;
        if !matches!(state.first_read, FirstRead::InFlight) {
            return Ok(None);
        }
        state.first_read =
            FirstRead::Done(ReadWithoutSnapshot { seq, key: key.to_vec(), newest, record });
        Ok(Some(value))
    }

    /// Proves and records what a read without a snapshot has shown, before a commit that writes.
    pub(super) async fn prove_first_read(&self) -> Result<()> {
        let seq = match &self.active()?.first_read {
            FirstRead::Done(read) => read.seq,
            FirstRead::None | FirstRead::Expected(_) | FirstRead::InFlight => return Ok(()),
        };
        self.snapshot_for(seq).await.map(drop)
    }

    /// The read without a snapshot is no longer one: `snapshot` has shown the same.
    pub(super) fn record_first_read(
        &self,
        read: &ReadWithoutSnapshot,
        snapshot: &Arc<dyn Snapshot>,
    ) -> Result<()> {
        let record = read.record;
        self.record(read.seq, snapshot, || Span::key(read.key.as_slice()), record)
    }
}
