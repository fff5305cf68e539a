//! What has become of a transaction: asked by those who met its locks.
//!
//! - Asking about a live primary pushes its `min_commit_ts` above the asker, so that the asker may
//!   pass over its locks; an expired one is rolled back. Async-commit primaries are neither pushed
//!   nor rolled back, unless the asker forces them to be taken for normal ones.
//! - Asking about the secondaries of an async commit rolls back what is not there, for good.

use super::commit::roll_back;
use super::key_table::{Change, Engine, Record};
use super::model::{KeyError, Lock, LockInfo, Ts};
use super::read::raise;

/// A question about a transaction, to its primary key.
#[derive(Clone, Debug, Default)]
pub struct StatusQuery {
    /// The primary key.
    pub primary: Vec<u8>,
    /// Whose status.
    pub lock_ts: Ts,
    /// Who asks; zero: nobody who reads, the largest number: a reader of the newest.
    pub caller_ts: Ts,
    /// Now, for the time to live.
    pub current_ts: Ts,
    /// Without lock and record: roll back, instead of saying so.
    pub rolls_back_missing: bool,
    /// Takes an async commit for a normal one.
    pub forces_sync: bool,
    /// The lock that was met is a pessimistic one.
    pub for_pessimistic: bool,
    /// The key must be the primary.
    pub verifies_primary: bool,
}

/// What has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Committed then.
    Committed(Ts),
    /// Rolled back before.
    RolledBack,
    /// Its time was over: rolled back now.
    Expired,
    /// Its time was over, it had not begun to commit: the lock is gone, without a record.
    ExpiredPessimistic,
    /// Neither lock nor record: rolled back now.
    Missing,
    /// Neither lock nor record, and nothing done.
    MissingUntouched,
    /// It goes on.
    Alive {
        /// Its primary lock.
        lock: Box<Lock>,
        /// The asker may pass over its locks.
        is_pushed: bool,
    },
}

/// What has become of the secondaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecondaryStatus {
    /// All are locked.
    Locked(Vec<LockInfo>),
    /// One was committed then.
    Committed(Ts),
    /// One was not there, and never will be.
    RolledBack,
}

impl Engine {
    /// What has become of a transaction; may push it or roll it back.
    pub fn check_status(
        &mut self,
        max_ts: &mut Ts,
        query: &StatusQuery,
    ) -> Result<Status, KeyError> {
        for ts in [query.lock_ts, query.current_ts, query.caller_ts] {
            raise(max_ts, ts);
        }
        let mut changes = Vec::new();
        let status = match self.table.lock(&query.primary) {
            Some(lock) if lock.start_ts == query.lock_ts => {
                self.status_of_lock(&mut changes, query, lock)?
            }
            _ => self.status_without_lock(&mut changes, query)?,
        };
        self.table.apply(changes);
        Ok(status)
    }

    /// What has become of the secondaries of an async commit.
    pub fn check_secondaries(
        &mut self,
        max_ts: &mut Ts,
        start_ts: Ts,
        keys: &[Vec<u8>],
    ) -> SecondaryStatus {
        raise(max_ts, start_ts);
        let mut changes = Vec::new();
        let mut locks = Vec::new();
        let mut end = None;
        for key in keys {
            let own = self.table.lock_of(key, start_ts);
            if let Some(lock) = own.filter(|lock| !lock.is_pessimistic()) {
                locks.push(lock.info(key));
                continue;
            }
            if own.is_some() {
                changes.push(Change::Unlock(key.clone(), 0));
            }
            end = Some(match self.table.record(key, start_ts) {
                Record::Committed(commit_ts) => SecondaryStatus::Committed(commit_ts),
                Record::RolledBack => SecondaryStatus::RolledBack,
                Record::None { in_the_way } => {
                    self.mark_foreign_lock(&mut changes, start_ts, key);
                    self.collapse(&mut changes, start_ts, key);
                    roll_back(&mut changes, start_ts, key, true, in_the_way);
                    SecondaryStatus::RolledBack
                }
            });
            break;
        }
        self.table.apply(changes);
        end.unwrap_or(SecondaryStatus::Locked(locks))
    }

    fn status_of_lock(
        &self,
        changes: &mut Vec<Change>,
        query: &StatusQuery,
        lock: &Lock,
    ) -> Result<Status, KeyError> {
        let key = &query.primary;
        if query.verifies_primary && lock.primary != *key {
            if query.for_pessimistic || !lock.is_pessimistic() {
                return Err(KeyError::PrimaryMismatch(Box::new(lock.info(key))));
            }
            let status = self.status_without_lock(changes, query)?;
            changes.push(Change::Unlock(key.clone(), 0));
            return Ok(status);
        }
        if lock.async_commit && !query.forces_sync {
            return Ok(Status::Alive { lock: Box::new(lock.clone()), is_pushed: false });
        }
        if lock.is_pessimistic() && lock.with_conflict {
            // A late lock request may have left it.
            let decided = match self.table.record(key, query.lock_ts) {
                Record::Committed(commit_ts) => Some(Status::Committed(commit_ts)),
                Record::RolledBack => Some(Status::RolledBack),
                Record::None { .. } => None,
            };
            if let Some(status) = decided {
                changes.push(Change::Unlock(key.clone(), 0));
                return Ok(status);
            }
        }
        if lock.is_expired(query.current_ts) {
            if lock.is_pessimistic() && query.for_pessimistic {
                changes.push(Change::Unlock(key.clone(), 0));
                return Ok(Status::ExpiredPessimistic);
            }
            self.roll_back_lock(changes, key, lock);
            return Ok(Status::Expired);
        }
        let is_newest = query.caller_ts == Ts::MAX;
        let mut lock = lock.clone();
        if lock.min_commit_ts > 0 && !is_newest && query.caller_ts >= lock.min_commit_ts {
            lock.min_commit_ts = (query.caller_ts + 1).max(query.current_ts);
            changes.push(Change::Lock(key.clone(), lock.clone()));
        }
        let is_above = query.caller_ts > 0 && lock.min_commit_ts > query.caller_ts;
        Ok(Status::Alive { lock: Box::new(lock), is_pushed: is_above || is_newest })
    }

    fn status_without_lock(
        &self,
        changes: &mut Vec<Change>,
        query: &StatusQuery,
    ) -> Result<Status, KeyError> {
        let (key, start_ts) = (&query.primary, query.lock_ts);
        match self.table.record(key, start_ts) {
            Record::Committed(commit_ts) => Ok(Status::Committed(commit_ts)),
            Record::RolledBack => Ok(Status::RolledBack),
            Record::None { .. } if !query.rolls_back_missing => {
                Err(KeyError::TxnNotFound { start_ts, key: key.clone() })
            }
            Record::None { .. } if query.for_pessimistic => Ok(Status::MissingUntouched),
            Record::None { in_the_way } => {
                if in_the_way.is_none() {
                    self.mark_foreign_lock(changes, start_ts, key);
                }
                roll_back(changes, start_ts, key, true, in_the_way);
                Ok(Status::Missing)
            }
        }
    }

    /// A protected rollback must outlive the commit of another's async-commit lock at its
    /// timestamp.
    fn mark_foreign_lock(&self, changes: &mut Vec<Change>, start_ts: Ts, key: &[u8]) {
        if let Some(lock) = self.table.lock(key)
            && lock.start_ts != start_ts
            && lock.async_commit
            && start_ts >= lock.min_commit_ts
        {
            let mut lock = lock.clone();
            lock.rollbacks.push(start_ts);
            changes.push(Change::Lock(key.to_vec(), lock));
        }
    }
}
