//! Snapshots, get, multi-get, scan.

use super::handle::StatementCheck;
use crate::{
    Check, Conflict, Isolation, Key, Matching, Record, Result, RetryReason, ScanBatch, ScanRequest,
    Scanner, Seq, Snapshot, Span, Timestamp, Transaction, Value,
    transaction::state::{Buffered, FirstRead, Overlay},
};
use std::sync::Arc;

/// How many statement snapshots a READ COMMITTED transaction keeps for its open cursors. Beyond
/// that the oldest one is dropped, and a further lookup of its statement sees a newer state.
const STATEMENT_SNAPSHOTS_MAX: usize = 256;

impl Transaction {
    /// The point of the transaction's snapshot, which is taken now if it has none.
    pub async fn snapshot(&self) -> Result<Timestamp> {
        let newest = Seq(u32::MAX - 1);
        let seq = match self.isolation() {
            Isolation::ReadCommitted => self
                .lock_state()
                .statements
                .last_key_value()
                .map_or(newest, |(number, _)| Seq(number << 1)),
            Isolation::RepeatableRead | Isolation::Serializable => newest,
        };
        Ok(self.snapshot_for(seq).await?.timestamp())
    }

    /// The point of the snapshot that a statement reads at, which is taken now if it has none.
    pub async fn snapshot_of(&self, seq: Seq) -> Result<Timestamp> {
        Ok(self.snapshot_for(seq).await?.timestamp())
    }

    /// The snapshot that a statement reads at. Waiting for a timestamp is no round trip.
    pub(crate) async fn snapshot_for(&self, seq: Seq) -> Result<Arc<dyn Snapshot>> {
        let per_statement = self.isolation() == Isolation::ReadCommitted;
        {
            let mut state = self.active()?;
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
        let store = &self.database.inner.store;
        let snapshot = store.snapshot().await?;
        let mut first_read = self.active()?.first_read.done();
        let mut state = loop {
            let to_prove =
                first_read.as_ref().and_then(|read| read.to_prove(seq, self.isolation()));
            if let Some(to_prove) = to_prove
                && let Some(conflict) =
                    self.round_trip(store.validate(&[to_prove], &snapshot)).await?
            {
                return Err(self.retry(conflict));
            }
            let state = self.active()?;
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
            self.record_first_read(read, &snapshot)?;
        }
        Ok(snapshot)
    }

    /// At READ COMMITTED, what the statement reads from here on is what is committed now: its
    /// checks must not see less than the locks that it has waited for. At the other levels a lock
    /// moves the snapshot itself.
    pub async fn renew_snapshot(&self, seq: Seq) -> Result<()> {
        if self.isolation() == Isolation::ReadCommitted {
            let newest = self.database.inner.store.snapshot().await?;
            self.active()?.statements.insert(seq.number(), newest);
        }
        Ok(())
    }

    /// The value of a key as the statement sees it.
    pub async fn get(&self, seq: Seq, key: &[u8]) -> Result<Option<Value>> {
        self.get_recorded(seq, key, Record::Default).await
    }

    /// Like [`Transaction::get`], remembered in another way.
    pub async fn get_recorded(
        &self,
        seq: Seq,
        key: &[u8],
        record: Record,
    ) -> Result<Option<Value>> {
        if let Some(own) = self.own(seq, key)? {
            return Ok(own);
        }
        if let Some(value) = self.read_without_snapshot(seq, key, record).await? {
            return Ok(value);
        }
        let snapshot = self.snapshot_for(seq).await?;
        let value = self.round_trip(snapshot.get(key)).await?;
        let record = record.of_key(value.is_some());
        self.record(seq, &snapshot, || Span::key(key), record)?;
        Ok(value)
    }

    /// The values of many keys in one wait.
    pub async fn multi_get(&self, seq: Seq, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        self.multi_get_recorded(seq, keys, Record::Default).await
    }

    /// Like [`Transaction::multi_get`], remembered in another way.
    pub async fn multi_get_recorded(
        &self,
        seq: Seq,
        keys: &[Key],
        record: Record,
    ) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            let own = self.own(seq, key)?;
            if own.is_none() {
                missing.push(i);
            }
            values.push(own.flatten());
        }
        if missing.is_empty() {
            return Ok(values);
        }
        if let [key] = keys
            && let Some(value) = self.read_without_snapshot(seq, key, record).await?
        {
            return Ok(vec![value]);
        }
        let snapshot = self.snapshot_for(seq).await?;
        if missing.len() == keys.len() {
            values = self.round_trip(snapshot.multi_get(keys)).await?;
        } else {
            let asked: Vec<Key> = missing.iter().map(|&i| keys[i].clone()).collect();
            let found = self.round_trip(snapshot.multi_get(&asked)).await?;
            for (&i, value) in missing.iter().zip(found) {
                values[i] = value;
            }
        }
        for &i in &missing {
            let record = record.of_key(values[i].is_some());
            self.record(seq, &snapshot, || Span::key(keys[i].as_slice()), record)?;
        }
        Ok(values)
    }

    /// Whether a read of this key needs no store: the transaction has written or locked it.
    pub fn knows(&self, seq: Seq, key: &[u8]) -> bool {
        self.own(seq, key).is_ok_and(|known| known.is_some())
    }

    /// What needs no store: own writes, locked keys whose value is known, and all local keys.
    pub(super) fn own(&self, seq: Seq, key: &[u8]) -> Result<Option<Option<Value>>> {
        let state = self.active()?;
        if let Some(local) = self.local_of(key) {
            return Ok(Some(match state.local.get(seq, key) {
                Buffered::Put(value) => Some(value),
                Buffered::Deleted => None,
                Buffered::Untouched => local.get(key),
            }));
        }
        Ok(match state.buffer.get(seq, key) {
            Buffered::Put(value) => Some(Some(value)),
            Buffered::Deleted => Some(None),
            Buffered::Untouched => state.known.get(key).map(|(_, value)| value.clone()),
        })
    }

    /// One batch of a scan; go on with its `resume`. For more than one batch [`Self::scanner`]
    /// is cheaper.
    pub async fn scan(self: &Arc<Self>, seq: Seq, request: ScanRequest) -> Result<ScanBatch> {
        Ok(self.scanner(seq, request).next_batch().await?.unwrap_or_default())
    }

    /// Opens a scan. Nothing is read before the first batch.
    pub fn scanner(self: &Arc<Self>, seq: Seq, request: ScanRequest) -> Scanner {
        Scanner::new(self.clone(), seq, request)
    }

    /// What a statement has read of the store (as far as it is remembered) and written so far.
    /// Meant for checks of predictions: it looks through everything the transaction has done.
    pub fn statement_footprint(&self, seq: Seq) -> (Vec<Span>, Vec<Span>) {
        let state = self.lock_state();
        let mut reads = state.reads.of_statement(seq);
        let checks = state.checks.iter().filter(|c| c.statement == seq.number());
        reads.extend(checks.map(|c| c.check.span.clone()));
        let mut writes = state.buffer.of_statement(seq);
        writes.extend(state.local.of_statement(seq));
        (reads, writes)
    }

    /// Whether the transaction's own writes touch `span` as seen from `seq`.
    pub fn has_own_writes(&self, seq: Seq, span: &Span) -> bool {
        let state = self.lock_state();
        state.buffer.touches(seq, span) || state.local.touches(seq, span)
    }

    pub(crate) fn overlay(&self, seq: Seq, span: &Span) -> Overlay {
        let state = self.lock_state();
        match self.local_over(span) {
            Some(_) => state.local.overlay(seq, span),
            None => state.buffer.overlay(seq, span),
        }
    }

    /// Remembers a read, if it is to be remembered.
    pub(crate) fn record(
        &self,
        seq: Seq,
        snapshot: &Arc<dyn Snapshot>,
        span: impl FnOnce() -> Span,
        record: Record,
    ) -> Result<()> {
        let (tag, exists) = match record {
            Record::Never => return Ok(()),
            Record::Default => (0, false),
            Record::Always { tag } => (tag, false),
            Record::Exists { tag } => (tag, true),
        };
        if self.keeps_reads() && !exists {
            self.active()?.reads.record(seq, snapshot, span());
        } else if (tag != 0 || exists) && !self.is_read_only() {
            let span = span();
            let reason =
                if span.is_key() { RetryReason::ReadChanged } else { RetryReason::SpanChanged };
            let conflict = Conflict { reason, key: Some(span.start.clone()), tag };
            let check =
                Check { snapshot: snapshot.clone(), span, exists, matching: None, conflict };
            self.active()?.checks.push(StatementCheck { statement: seq.number(), check });
        }
        Ok(())
    }

    /// Remembers that a batch of a scan has shown these entries of `matching` and no others. Those
    /// that it has shown are remembered as read; that no others come is checked at every level.
    pub(crate) fn record_matching(
        &self,
        seq: Seq,
        snapshot: &Arc<dyn Snapshot>,
        examined: Span,
        tag: u32,
        (matching, batch): (&Matching, &ScanBatch),
    ) -> Result<()> {
        if self.is_read_only() || examined.is_empty() {
            return Ok(());
        }
        let keeps_reads = self.keeps_reads();
        let mut state = self.active()?;
        if keeps_reads {
            let shown = batch.iter().filter(|(key, value)| matching.0.matters(key, value));
            shown.for_each(|(key, _)| state.reads.record(seq, snapshot, Span::key(key)));
        }
        // The batches of one scan follow each other.
        let statement = seq.number();
        let last = state.checks.last_mut().filter(|last| {
            last.statement == statement
                && last.check.span.end == examined.start
                && last.check.snapshot.timestamp() == snapshot.timestamp()
                && last.check.matching.as_ref().is_some_and(|known| known.is(matching))
        });
        if let Some(last) = last {
            last.check.span.end = examined.end;
            return Ok(());
        }
        let key = Some(examined.start.clone());
        let conflict = Conflict { reason: RetryReason::SpanChanged, key, tag };
        let check = Check {
            snapshot: snapshot.clone(),
            span: examined,
            exists: false,
            matching: Some(matching.clone()),
            conflict,
        };
        state.checks.push(StatementCheck { statement, check });
        Ok(())
    }
}
