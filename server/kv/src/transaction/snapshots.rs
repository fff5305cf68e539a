//! The snapshots that a transaction reads at: taking, refreshing and sharing them.
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

use super::core::Core;
use crate::{
    Error, Isolation, Result, RetryReason, Seq, Snapshot, Timestamp, transaction::state::FirstRead,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// How many statement snapshots a READ COMMITTED transaction keeps for its open cursors. Beyond
/// that the oldest one is dropped, and a further lookup of its statement sees a newer state.
const STATEMENT_SNAPSHOTS_MAX: usize = 256;

/// A snapshot that several transactions read at.
#[derive(Clone)]
pub struct SharedSnapshot(Arc<dyn Snapshot>);

impl SharedSnapshot {
    /// Its place in the order of commits.
    pub fn timestamp(&self) -> Timestamp {
        self.0.timestamp()
    }
}

/// The snapshots of a transaction.
#[derive(Clone, Copy)]
pub struct Snapshots<'a>(pub(super) &'a Core);

impl Snapshots<'_> {
    /// The point of the transaction's snapshot, which is taken now if it has none.
    pub async fn current(self) -> Result<Timestamp> {
        let newest = Seq(u32::MAX - 1);
        let seq = match self.0.isolation() {
            Isolation::ReadCommitted => self
                .0
                .lock_state()
                .statements
                .last_key_value()
                .map_or(newest, |(number, _)| Seq(number << 1)),
            Isolation::RepeatableRead | Isolation::Serializable => newest,
        };
        Ok(self.snapshot_for(seq).await?.timestamp())
    }

    /// The point of the snapshot that a statement reads at, which is taken now if it has none.
    pub async fn of_statement(self, seq: Seq) -> Result<Timestamp> {
        Ok(self.snapshot_for(seq).await?.timestamp())
    }

    /// The snapshot that a statement reads at. Waiting for a timestamp is no round trip.
    pub(super) async fn snapshot_for(self, seq: Seq) -> Result<Arc<dyn Snapshot>> {
        let per_statement = self.0.isolation() == Isolation::ReadCommitted;
        {
            let mut state = self.0.active()?;
            let first = state.first_reader.unwrap_or(u32::MAX).min(seq.number());
            state.first_reader = Some(first);
            let taken = if per_statement {
                state.statements.get(&seq.number())
            } else {
                state.snapshot.as_ref()
            };
            if let Some(snapshot) = taken {
                return Ok(snapshot.clone());
            }
        }
        let store = self.0.store();
        let snapshot = store.snapshot().await?;
        let mut first_read = self.0.active()?.first_read.done();
        let mut state = loop {
            let to_prove =
                first_read.as_ref().and_then(|read| read.to_prove(seq, self.0.isolation()));
            if let Some(to_prove) = to_prove
                && let Some(conflict) =
                    self.0.round_trip(store.validate(&[to_prove], &snapshot)).await?
            {
                return Err(self.0.retry(conflict));
            }
            let state = self.0.active()?;
            let now = state.first_read.done();
            if first_read.is_some() || now.is_none() {
                break state;
            }
            // It was under way until now.
            first_read = now;
        };
        state.first_read = FirstRead::None;
        // Another task may have been faster; all of them must see the same.
        let snapshot = if per_statement {
            state.statements.entry(seq.number()).or_insert(snapshot).clone()
        } else {
            state.snapshot.get_or_insert(snapshot).clone()
        };
        if state.statements.len() > STATEMENT_SNAPSHOTS_MAX {
            state.statements.pop_first();
        }
        for key in std::mem::take(&mut state.unchanged) {
            state.add_unchanged(key, &snapshot);
        }
        drop(state);
        if let Some(read) = &first_read {
            self.0.record_first_read(read, &snapshot)?;
        }
        Ok(snapshot)
    }

    /// At READ COMMITTED, what the statement reads from here on is what is committed now: its
    /// checks must not see less than the locks that it has waited for. At the other levels a lock
    /// moves the snapshot itself.
    pub async fn renew(self, seq: Seq) -> Result<()> {
        if self.0.isolation() == Isolation::ReadCommitted {
            let newest = self.0.store().snapshot().await?;
            self.0.active()?.statements.insert(seq.number(), newest);
        }
        Ok(())
    }

    /// Says that nothing more will be read for this statement. Only READ COMMITTED profits: its
    /// snapshot is dropped.
    pub fn release(self, seq: Seq) {
        if self.0.options.isolation == Isolation::ReadCommitted {
            self.0.lock_state().statements.remove(&seq.number());
        }
    }

    /// Moves the snapshot to the newest view, if nothing that was read has changed since.
    /// At READ COMMITTED and REPEATABLE READ it does nothing.
    pub async fn refresh(self) -> Result<()> {
        if self.0.isolation() != Isolation::Serializable || self.0.active()?.snapshot.is_none() {
            return Ok(());
        }
        let newest = self.0.store().snapshot().await?;
        self.refresh_to(&newest).await
    }

    /// Proves that everything read so far holds at one snapshot, so that what was concluded from it
    /// is no accident. That may be in doubt only where statements were still reading during a
    /// refresh; otherwise it costs nothing.
    pub async fn prove_reads(self) -> Result<()> {
        let segments = {
            let state = self.0.active()?;
            if state.reads.is_consistent() || !self.0.keeps_reads() {
                return Ok(());
            }
            state.reads.segments()
        };
        let store = self.0.store();
        let newest = store.snapshot().await?;
        match self.0.round_trip(store.validate(&segments, &newest)).await? {
            None => Ok(()),
            Some(conflict) => Err(self.0.retry(conflict)),
        }
    }

    /// Reads that are still under way keep their own snapshot in the read set: the commit
    /// compares each of them from where it was done.
    pub(super) async fn refresh_to(self, newest: &Arc<dyn Snapshot>) -> Result<()> {
        let (marks, segments) = {
            let mut state = self.0.active()?;
            if state.snapshot.as_ref().is_some_and(|s| s.timestamp() >= newest.timestamp()) {
                return Ok(());
            }
            if state.snapshot_is_fixed {
                return Err(Error::retry(RetryReason::WriteConflict, None));
            }
            (state.reads.marks(), state.reads.segments())
        };
        let counters = self.0.database.inner.counters.here();
        if !segments.is_empty() {
            let answer = self.0.store().validate(&segments, newest);
            if let Some(conflict) = self.0.round_trip(answer).await? {
                counters.refresh_fail.fetch_add(1, Relaxed);
                return Err(self.0.retry(conflict));
            }
        }
        counters.refresh_success.fetch_add(1, Relaxed);
        let mut state = self.0.active()?;
        state.reads.advance(&marks, newest);
        if state.snapshot.as_ref().is_none_or(|s| s.timestamp() < newest.timestamp()) {
            state.snapshot = Some(newest.clone());
        }
        Ok(())
    }

    /// Proves and records what a read without a snapshot has shown, before a commit that writes.
    pub(super) async fn prove_first_read(self) -> Result<()> {
        let seq = match &self.0.active()?.first_read {
            FirstRead::Done(read) => read.seq,
            FirstRead::None | FirstRead::Expected(_) | FirstRead::InFlight => return Ok(()),
        };
        self.snapshot_for(seq).await.map(drop)
    }

    /// The snapshot that a statement reads at, for other transactions. Writes of this transaction
    /// are not in it.
    pub async fn export(self, seq: Seq) -> Result<SharedSnapshot> {
        let snapshot = self.snapshot_for(seq).await?;
        snapshot.share();
        if self.0.isolation() != Isolation::ReadCommitted {
            self.0.active()?.snapshot_is_fixed = true;
        }
        Ok(SharedSnapshot(snapshot))
    }

    /// Makes all statements read at this snapshot. The transaction has read nothing before; at
    /// READ COMMITTED, where each statement has a snapshot of its own, it is an error.
    pub fn import(self, shared: &SharedSnapshot) -> Result<()> {
        let mut state = self.0.active()?;
        if self.0.isolation() == Isolation::ReadCommitted || state.snapshot.is_some() {
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
