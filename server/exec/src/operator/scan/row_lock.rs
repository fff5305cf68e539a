//! Locking rows by their primary keys and reading them as they are under the lock, in one wait.
//!
//! A lock on a row is a lock on the keys of its families: all of them, or for an UPDATE those that
//! it reads and writes, so that writers of different families do not wait for each other. A row
//! exists if family 0 has a pair. A lock on any family keeps others from deleting the row. So a
//! value in another family proves that the row exists. Only if that family is empty, family 0 is
//! read under a shared lock.

use std::sync::Arc;

use braid_catalog::Table;
use braid_kv::{Isolation, Key, LockRequest, LockResult, LockStrength, LockWait as KvWait, Value};
use braid_plan::{LockWait, RowLock};
use braid_types::{Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::scan::reader::Reader;

/// From how many rows on those that a scan has shown are not read a second time under their locks.
/// Of fewer rows the locked values are worth remembering: the next statement of the transaction
/// often asks for the same rows.
const SCANNED_ROWS_MIN: usize = 64;

/// Locks rows of one table.
pub(crate) struct RowLocker {
    reader: Reader,
    table: Arc<Table>,
    lock: RowLock,
    /// False: rows are only read (`implicit_select_for_update` is off).
    locks: bool,
}

/// A row under its lock.
pub(crate) struct LockedRow {
    /// The columns wanted.
    pub row: Row,
    /// It may differ from what the statement has read before.
    pub stale: bool,
}

impl RowLocker {
    /// A locker that gives these columns. Without `families` it locks the whole row.
    pub(crate) fn new(
        table: &Arc<Table>,
        places: &[usize],
        families: Option<&[usize]>,
        lock: RowLock,
        locks: bool,
    ) -> Result<Self> {
        let reader = match families {
            Some(families) => Reader::of_families(table, places, families)?,
            None => Reader::new(table, places, true)?,
        };
        Ok(Self { reader, table: table.clone(), lock, locks })
    }

    /// The rows of these primary keys; `None` for one that is gone or, with SKIP LOCKED, locked
    /// by another.
    pub(crate) async fn rows(
        &self,
        evaluator: &Evaluator,
        primary_keys: &[Key],
    ) -> Result<Vec<Option<LockedRow>>> {
        let keys = self.keys(primary_keys);
        let cx = &evaluator.run.cx;
        if !self.locks {
            let values = evaluator.run.wait(cx.txn.reads().multi_get(cx.seq, &keys)).await?;
            let rows = self.reader.rows(evaluator, primary_keys, &keys, &values).await?;
            let read = |row: Option<Row>| row.map(|row| LockedRow { row, stale: false });
            return Ok(rows.into_iter().map(read).collect());
        }
        let width = self.reader.families.len();
        let locked = self.lock(evaluator, keys.clone(), self.strength()).await?;
        let empty = self.reader.unproved(&locked.values);
        let probed: Vec<Option<Value>> = if empty.is_empty() {
            Vec::new()
        } else {
            let first = empty.iter().map(|at| self.reader.first_key(&primary_keys[*at])).collect();
            self.lock(evaluator, first, LockStrength::Shared).await?.values
        };
        let found = empty.into_iter().zip(&probed).filter(|(_, value)| value.is_some());
        let proved: Vec<usize> = found.map(|(at, _)| at).collect();
        let rows = self.reader.decode_proved(&keys, &locked.values, &proved)?;
        // SKIP LOCKED does not record its reads, so a change is not detected at the commit.
        let always = self.lock.wait == LockWait::SkipLocked
            || cx.txn.isolation() == Isolation::ReadCommitted;
        let granted = locked.granted.chunks(width).map(|all| all.iter().all(|one| *one));
        let changed = locked.changed.chunks(width).map(|all| all.iter().any(|one| *one));
        let locked = rows.into_iter().zip(granted.zip(changed));
        Ok(locked
            .map(|(row, (granted, changed))| {
                let row = row.filter(|_| granted)?;
                Some(LockedRow { row, stale: always || changed })
            })
            .collect())
    }

    /// The same for rows that a scan of the statement has shown and recorded. A row that has not
    /// changed since then is still the one that was shown; only the others are read again.
    pub(crate) async fn scanned(
        &self,
        evaluator: &Evaluator,
        primary_keys: &[Key],
        rows: Vec<Row>,
    ) -> Result<Vec<Option<LockedRow>>> {
        let skips = self.lock.wait == LockWait::SkipLocked;
        if !self.locks || skips || primary_keys.len() < SCANNED_ROWS_MIN {
            return self.rows(evaluator, primary_keys).await;
        }
        let request = self.request(self.keys(primary_keys), self.strength()).passing(false);
        let locked = self.take(evaluator, request).await?;
        let width = self.reader.families.len().max(1);
        let changed = locked.changed.chunks(width).enumerate();
        let changed: Vec<usize> =
            changed.filter(|(_, keys)| keys.contains(&true)).map(|(at, _)| at).collect();
        let shown = |row| Some(LockedRow { row, stale: false });
        let mut result: Vec<Option<LockedRow>> = rows.into_iter().map(shown).collect();
        if !changed.is_empty() {
            let again: Vec<Key> = changed.iter().map(|at| primary_keys[*at].clone()).collect();
            let again = self.rows(evaluator, &again).await?;
            for (at, row) in changed.into_iter().zip(again) {
                result[at] = row.map(|locked| LockedRow { stale: true, ..locked });
            }
        }
        Ok(result)
    }

    /// The keys to be locked for these rows.
    fn keys(&self, primary_keys: &[Key]) -> Vec<Key> {
        let mut keys = Vec::with_capacity(primary_keys.len() * self.reader.families.len());
        primary_keys.iter().for_each(|key| self.reader.keys_of(key, &mut keys));
        keys
    }

    fn strength(&self) -> LockStrength {
        if self.lock.is_exclusive() { LockStrength::Exclusive } else { LockStrength::Shared }
    }

    async fn lock(
        &self,
        evaluator: &Evaluator,
        keys: Vec<Key>,
        strength: LockStrength,
    ) -> Result<LockResult> {
        self.take(evaluator, self.request(keys, strength)).await
    }

    fn request(&self, keys: Vec<Key>, strength: LockStrength) -> LockRequest {
        let wait = match self.lock.wait {
            LockWait::Block => KvWait::Block,
            LockWait::NoWait => KvWait::NoWait,
            LockWait::SkipLocked => KvWait::SkipLocked,
        };
        LockRequest::keys(keys).strength(strength).wait(wait)
    }

    async fn take(&self, evaluator: &Evaluator, request: LockRequest) -> Result<LockResult> {
        let cx = &evaluator.run.cx;
        let locked = evaluator.run.wait(cx.txn.lock(cx.seq, request)).await;
        locked.map_err(|error| crate::errors::name_relation(error, &self.table.name))
    }
}
