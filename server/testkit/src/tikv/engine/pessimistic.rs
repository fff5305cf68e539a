//! Locks taken before the prewrite.
//!
//! - A version above `for_update_ts` is a conflict, whatever its kind; with `allows_conflict` the
//!   key is locked all the same, its newest value comes along, and the lock's `for_update_ts` is
//!   that version's commit timestamp.
//! - Asking for values or existence is a read: it raises `max_ts`.
//! - A lock of another transaction is in the way of the whole request. To wait is not done here.

use bytes::Bytes;

use super::key_table::{Change, Engine};
use super::model::{Abort, KeyError, Lock, LockKind, Reason, Ts, Write, WriteKind};
use super::read::raise;

/// A request for locks.
#[derive(Clone, Debug, Default)]
pub struct Acquire {
    /// The keys; true: no value may be there.
    pub keys: Vec<(Vec<u8>, bool)>,
    /// The key that decides.
    pub primary: Vec<u8>,
    /// Whose.
    pub start_ts: Ts,
    /// In milliseconds.
    pub ttl: u64,
    /// Newer versions are conflicts.
    pub for_update_ts: Ts,
    /// For the lock.
    pub min_commit_ts: Ts,
    /// The answer has values.
    pub returns_values: bool,
    /// The answer says whether there are values.
    pub checks_existence: bool,
    /// Keys without a value are not locked.
    pub only_if_exists: bool,
    /// Locks although a newer version is there; one key at a time.
    pub allows_conflict: bool,
}

/// What is told of a key that was locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// Nothing was asked.
    Empty,
    /// Its value.
    Value(Option<Bytes>),
    /// Whether it has one.
    Existence(bool),
    /// It has a newer version.
    WithConflict {
        /// Its newest value.
        value: Option<Bytes>,
        /// When that was committed.
        ts: Ts,
    },
}

impl Engine {
    /// Locks all keys, or none.
    pub fn acquire(
        &mut self,
        max_ts: &mut Ts,
        request: &Acquire,
    ) -> Result<Vec<Acquired>, KeyError> {
        if request.allows_conflict && request.keys.len() > 1 {
            let text = "multiple keys in a single request with allowed_lock_with_conflict set is \
                        not allowed";
            return Err(KeyError::Abort(Abort::Other(text)));
        }
        let mut changes = Vec::new();
        let mut results = Vec::new();
        for (key, must_not_exist) in &request.keys {
            if request.only_if_exists && !request.returns_values {
                let (start_ts, key) = (request.start_ts, key.clone());
                return Err(KeyError::Abort(Abort::LockIfExistsFailed { start_ts, key }));
            }
            if *must_not_exist || request.returns_values || request.checks_existence {
                raise(max_ts, request.for_update_ts);
            }
            let result = match self.table.lock(key) {
                Some(lock) if lock.start_ts != request.start_ts => {
                    return Err(KeyError::Locked(Box::new(lock.info(key))));
                }
                Some(lock) => self.acquire_again(&mut changes, request, key, *must_not_exist, lock),
                None => self.acquire_new(&mut changes, request, key, *must_not_exist),
            };
            results.push(result?);
        }
        self.table.apply(changes);
        Ok(results)
    }

    /// Removes the transaction's pessimistic locks of these keys, up to a `for_update_ts`.
    pub fn release(&mut self, start_ts: Ts, for_update_ts: Ts, keys: &[Vec<u8>]) {
        let is_meant = |key: &&Vec<u8>| {
            self.table
                .lock_of(key, start_ts)
                .is_some_and(|lock| lock.is_pessimistic() && lock.for_update_ts <= for_update_ts)
        };
        let changes =
            keys.iter().filter(is_meant).map(|key| Change::Unlock(key.clone(), 0)).collect();
        self.table.apply(changes);
    }

    fn acquire_new(
        &self,
        changes: &mut Vec<Change>,
        request: &Acquire,
        key: &[u8],
        must_not_exist: bool,
    ) -> Result<Acquired, KeyError> {
        let start_ts = request.start_ts;
        let newest = self.table.newest(key, Ts::MAX);
        let conflict = newest.filter(|(commit_ts, _)| *commit_ts > request.for_update_ts);
        if let Some((commit_ts, write)) = conflict
            && !request.allows_conflict
        {
            return Err(write_conflict(request, key, commit_ts, write));
        }
        if let Some((commit_ts, write)) = self.table.newest(key, start_ts)
            && commit_ts == start_ts
            && write.reports_rollback()
        {
            let abort = Abort::PessimisticLockRolledBack { start_ts, key: key.to_vec() };
            return Err(KeyError::Abort(abort));
        }
        if let Some((commit_ts, write)) = newest
            && must_not_exist
        {
            self.table.must_not_exist(key, commit_ts, write).map_err(|error| match conflict {
                Some((commit_ts, write)) => write_conflict(request, key, commit_ts, write),
                None => error,
            })?;
        }
        let value = self.table.value_at(key, Ts::MAX).map(|(_, write)| write);
        let value = value.map(|write| write.value.clone().unwrap_or_default());
        if request.only_if_exists && value.is_none() {
            if let Some((commit_ts, write)) = conflict {
                return Err(write_conflict(request, key, commit_ts, write));
            }
        } else {
            let for_update_ts = conflict.map_or(request.for_update_ts, |(ts, _)| ts);
            let lock = new_lock(request, for_update_ts, conflict.is_some());
            changes.push(Change::Lock(key.to_vec(), lock));
        }
        Ok(acquired(request, conflict.map(|(ts, _)| ts), value))
    }

    /// The transaction has the lock already.
    fn acquire_again(
        &self,
        changes: &mut Vec<Change>,
        request: &Acquire,
        key: &[u8],
        must_not_exist: bool,
        old: &Lock,
    ) -> Result<Acquired, KeyError> {
        if !old.is_pessimistic() {
            let (start_ts, key) = (request.start_ts, key.to_vec());
            return Err(KeyError::Abort(Abort::LockTypeNotMatch { start_ts, key }));
        }
        let is_older = request.allows_conflict && request.for_update_ts < old.for_update_ts;
        let for_update_ts = if is_older { old.for_update_ts } else { request.for_update_ts };
        let found = self.table.value_at(key, for_update_ts);
        if let Some((commit_ts, write)) = found
            && must_not_exist
        {
            if commit_ts > request.for_update_ts {
                return Err(write_conflict(request, key, commit_ts, write));
            }
            return Err(KeyError::AlreadyExist { key: key.to_vec() });
        }
        if for_update_ts > old.for_update_ts {
            let lock = new_lock(request, for_update_ts, old.with_conflict);
            changes.push(Change::Lock(key.to_vec(), lock));
        }
        let value = found.map(|(_, write)| write.value.clone().unwrap_or_default());
        Ok(acquired(request, is_older.then_some(for_update_ts), value))
    }
}

fn new_lock(request: &Acquire, for_update_ts: Ts, with_conflict: bool) -> Lock {
    Lock {
        kind: LockKind::Pessimistic,
        primary: request.primary.clone(),
        start_ts: request.start_ts,
        ttl: request.ttl,
        value: None,
        for_update_ts,
        txn_size: 0,
        min_commit_ts: request.min_commit_ts,
        async_commit: false,
        secondaries: Vec::new(),
        rollbacks: Vec::new(),
        with_conflict,
    }
}

fn acquired(request: &Acquire, conflict: Option<Ts>, value: Option<Bytes>) -> Acquired {
    match conflict {
        Some(ts) => Acquired::WithConflict { value, ts },
        None if request.returns_values => Acquired::Value(value),
        None if request.checks_existence => Acquired::Existence(value.is_some()),
        None => Acquired::Empty,
    }
}

fn write_conflict(request: &Acquire, key: &[u8], commit_ts: Ts, write: &Write) -> KeyError {
    debug_assert!(commit_ts > request.for_update_ts || write.kind == WriteKind::Put);
    KeyError::WriteConflict {
        start_ts: request.start_ts,
        conflict_start_ts: write.start_ts,
        conflict_commit_ts: commit_ts,
        key: key.to_vec(),
        primary: request.primary.clone(),
        reason: Reason::PessimisticRetry,
    }
}
