//! Reads of keys: own writes and known values first, then the store.
//!
//! A first read of one key may go without a snapshot, because it is probably the only read. A
//! snapshot that is taken later has to show what was read. Below SERIALIZABLE it has to do so only
//! for the same statement at READ COMMITTED. A read in flight when a snapshot is taken does not
//! count and is repeated at the snapshot.

use super::{
    core::{Core, State},
    snapshots::Snapshots,
};
use crate::{
    Key, Record, Result, Seq, Span, Value,
    transaction::state::{Buffered, FirstRead, Overlay, ReadWithoutSnapshot},
};

/// The reads of a transaction.
#[derive(Clone, Copy)]
pub struct Reads<'a>(pub(super) &'a Core);

impl Reads<'_> {
    /// The value of a key as the statement sees it; `record` says how the read is remembered.
    pub async fn get_recorded(self, seq: Seq, key: &[u8], record: Record) -> Result<Option<Value>> {
        if let Some(own) = self.own(seq, key)? {
            return Ok(own);
        }
        if let Some(value) = self.read_without_snapshot(seq, key, record).await? {
            return Ok(value);
        }
        let snapshot = Snapshots(self.0).snapshot_for(seq).await?;
        let value = self.0.round_trip(snapshot.get(key)).await?;
        let record = record.of_key(value.is_some());
        self.0.record(seq, &snapshot, || Span::key(key), record)?;
        Ok(value)
    }

    /// The values of many keys in one wait.
    pub async fn multi_get(self, seq: Seq, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        self.multi_get_recorded(seq, keys, Record::Default).await
    }

    /// Like [`Reads::multi_get`], remembered in another way.
    pub async fn multi_get_recorded(
        self,
        seq: Seq,
        keys: &[Key],
        record: Record,
    ) -> Result<Vec<Option<Value>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        {
            let mut state = self.0.active()?;
            for (i, key) in keys.iter().enumerate() {
                let own = self.own_in(&mut state, seq, key);
                if own.is_none() {
                    missing.push(i);
                }
                values.push(own.flatten());
            }
        }
        if missing.is_empty() {
            return Ok(values);
        }
        if let [key] = keys
            && let Some(value) = self.read_without_snapshot(seq, key, record).await?
        {
            return Ok(vec![value]);
        }
        let snapshot = Snapshots(self.0).snapshot_for(seq).await?;
        if missing.len() == keys.len() {
            values = self.0.round_trip(snapshot.multi_get(keys)).await?;
        } else {
            let asked: Vec<Key> = missing.iter().map(|&i| keys[i].clone()).collect();
            let found = self.0.round_trip(snapshot.multi_get(&asked)).await?;
            for (&i, value) in missing.iter().zip(found) {
                values[i] = value;
            }
        }
        for &i in &missing {
            let record = record.of_key(values[i].is_some());
            self.0.record(seq, &snapshot, || Span::key(keys[i].as_slice()), record)?;
        }
        Ok(values)
    }

    /// Whether a read of this key needs no store: the transaction has written or locked it.
    pub fn knows(self, seq: Seq, key: &[u8]) -> bool {
        self.own(seq, key).is_ok_and(|known| known.is_some())
    }

    /// What needs no store: own writes, locked keys whose value is known, and all local keys.
    pub(super) fn own(self, seq: Seq, key: &[u8]) -> Result<Option<Option<Value>>> {
        let mut state = self.0.active()?;
        Ok(self.own_in(&mut state, seq, key))
    }

    fn own_in(self, state: &mut State, seq: Seq, key: &[u8]) -> Option<Option<Value>> {
        if let Some(local) = self.0.local_of(key) {
            return Some(match state.local.get(seq, key) {
                Buffered::Put(value) => Some(value),
                Buffered::Deleted => None,
                Buffered::Untouched => local.get(key),
            });
        }
        match state.buffer.get(seq, key) {
            Buffered::Put(value) => Some(Some(value)),
            Buffered::Deleted => Some(None),
            Buffered::Untouched => state.known.get(key).map(|(_, value)| value.clone()),
        }
    }

    /// Lets the first read do without waiting for a snapshot if it is of one key: for a transaction
    /// that probably reads nothing else. If it does after all, that costs a proof of what the first
    /// read has shown. False if there is nothing to be gained.
    pub fn expect_single_read(self) -> bool {
        let Ok(mut state) = self.0.active() else { return false };
        let is_new = state.snapshot.is_none() && state.first_reader.is_none();
        let newest = self.0.store().newest().filter(|_| is_new && !state.has_locks);
        let Some(newest) = newest else { return false };
        state.first_read = FirstRead::Expected(newest);
        true
    }

    /// The value of a key, if this is a read without a snapshot.
    async fn read_without_snapshot(
        self,
        seq: Seq,
        key: &[u8],
        record: Record,
    ) -> Result<Option<Option<Value>>> {
        let newest = {
            let mut state = self.0.active()?;
            let FirstRead::Expected(newest) = &state.first_read else { return Ok(None) };
            let newest = newest.clone();
            state.first_read = FirstRead::InFlight;
            newest
        };
        let value = self.0.round_trip(newest.get(key)).await?;
        let mut state = self.0.active()?;
        if !matches!(state.first_read, FirstRead::InFlight) {
            return Ok(None);
        }
        state.first_read =
            FirstRead::Done(ReadWithoutSnapshot { seq, key: key.to_vec(), newest, record });
        Ok(Some(value))
    }

    /// What a statement has read of the store (as far as it is remembered) and written so far.
    /// Meant for checks of predictions: it looks through everything the transaction has done.
    pub fn footprint(self, seq: Seq) -> (Vec<Span>, Vec<Span>) {
        let mut state = self.0.lock_state();
        let mut reads = state.reads.of_statement(seq);
        let checks = state.checks.iter().filter(|c| c.statement == seq.number());
        reads.extend(checks.map(|c| c.check.span.clone()));
        let mut writes = state.buffer.of_statement(seq);
        writes.extend(state.local.of_statement(seq));
        (reads, writes)
    }

    /// Whether the transaction's own writes touch `span` as seen from `seq`.
    pub fn has_own_writes(self, seq: Seq, span: &Span) -> bool {
        let mut state = self.0.lock_state();
        state.buffer.touches(seq, span) || state.local.touches(seq, span)
    }

    pub(super) fn overlay(self, seq: Seq, span: &Span) -> Overlay {
        let mut state = self.0.lock_state();
        match self.0.local_over(span) {
            Some(_) => state.local.overlay(seq, span),
            None => state.buffer.overlay(seq, span),
        }
    }
}
