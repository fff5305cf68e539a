//! The second step: the end of a prepared transaction, and its return after a restart.

use super::record::Record;
use crate::{
    CommitOutcome, CommitRequest, Database, Error, KeepLocks, Key, LockRequest, LockStrength,
    Result, ScanRequest, Span, SpanSet, TxnId, TxnOptions, Value, Write,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// A prepared transaction: its record is durable, and its locks are held until it ends. Dropping
/// it changes nothing about that.
pub struct PreparedTransaction {
    pub(super) database: Database,
    pub(super) id: TxnId,
    /// The keys of its record.
    pub(super) record: Vec<Arc<[u8]>>,
    pub(super) deleted_spans: SpanSet,
    pub(super) writes: Vec<Write>,
}

impl PreparedTransaction {
    /// The number that its locks are held by.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Commits: its writes become visible, and its record goes. After an error it is prepared as
    /// before, and the commit can be tried again.
    pub async fn commit(&self) -> Result<()> {
        let mut writes = self.writes.clone();
        writes.extend(self.without_record());
        writes.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.end(self.deleted_spans.clone(), writes).await?;
        self.database.inner.counters.here().committed.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Rolls back: its record goes. After an error it is prepared as before.
    pub async fn rollback(&self) -> Result<()> {
        self.end(SpanSet::new(), self.without_record().collect()).await?;
        self.database.inner.counters.here().aborted.fetch_add(1, Relaxed);
        Ok(())
    }

    fn without_record(&self) -> impl Iterator<Item = Write> + '_ {
        self.record.iter().map(|key| (key.clone(), None))
    }

    async fn end(&self, deleted_spans: SpanSet, writes: Vec<Write>) -> Result<()> {
        let request = CommitRequest {
            txn: self.id,
            reads: Vec::new(),
            checks: Vec::new(),
            conflicts_since: None,
            new_keys: Vec::new(),
            deleted_spans,
            writes,
            lock_timeout: None,
            keep_locks: KeepLocks::UnlessCommitted,
            fence: None,
            observer: None,
        };
        let outcome = self.database.store().commit(request).await?;
        debug_assert!(
            !matches!(outcome, CommitOutcome::Retry(_)),
            "nothing is proved at the end of a prepared transaction"
        );
        outcome.into_result().map(drop)
    }
}

/// A record as it is read, part by part.
#[derive(Default)]
struct StoredParts {
    keys: Vec<Arc<[u8]>>,
    bytes: Vec<u8>,
}

impl Database {
    /// Finds the prepared transactions whose records lie in `span`, and locks again what each of
    /// them has locked. With each comes what was said about it ([`crate::Preparation::prepare`]).
    ///
    /// To be called once, before any other transaction begins.
    pub async fn restore_prepared(&self, span: Span) -> Result<Vec<(Value, PreparedTransaction)>> {
        let reader = self.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let mut scanner = reader.scanner(reader.next_statement(), ScanRequest::new(span));
        let mut records: BTreeMap<Key, StoredParts> = BTreeMap::new();
        while let Some(batch) = scanner.next_batch().await? {
            for (key, value) in batch.iter() {
                let parts = records.entry(Record::prefix(key)?.to_vec()).or_default();
                parts.keys.push(Arc::from(key));
                parts.bytes.extend_from_slice(value);
            }
        }
        drop(scanner);
        reader.rollback().await;
        let mut restored = Vec::with_capacity(records.len());
        for StoredParts { keys, bytes } in records.into_values() {
            restored.push(self.restore(keys, Record::decode(&bytes)?).await?);
        }
        Ok(restored)
    }

    async fn restore(
        &self,
        keys: Vec<Arc<[u8]>>,
        record: Record,
    ) -> Result<(Value, PreparedTransaction)> {
        if !self.store().can_prepare() {
            return Err(Error::Storage("this store cannot prepare transactions".into()));
        }
        self.inner.counters.here().begun.fetch_add(1, Relaxed);
        let id = self.new_number();
        let Record { about, shared, deleted_spans, writes } = record;
        let since = self.store().snapshot().await?;
        let written = writes.iter().map(|(key, _)| key.to_vec()).collect();
        let exclusive = LockStrength::Exclusive;
        for (request, strength) in [
            (LockRequest::keys(written).passing(false), exclusive),
            (LockRequest::spans(deleted_spans.spans().to_vec()), exclusive),
            (LockRequest::spans(shared.spans().to_vec()), LockStrength::Shared),
        ] {
            self.store().lock(id, &request.strength(strength), &since, None).await?;
        }
        let database = self.clone();
        let prepared = PreparedTransaction { database, id, record: keys, deleted_spans, writes };
        Ok((about, prepared))
    }
}
