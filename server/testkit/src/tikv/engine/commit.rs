//! The second phase: commit, rollback, heartbeat, and the same for locks that others left.
//!
//! - A commit below the lock's `min_commit_ts` is refused. A pessimistic lock is not committed but
//!   removed. A commit that comes twice is fine; one without lock and record is not.
//! - A rollback leaves a record, so that a prewrite that comes late fails. That of a primary key is
//!   protected; of the others only the newest is kept.

use std::collections::BTreeMap;

use super::key_table::{Change, Engine, Record, range, write_kind};
use super::model::{Abort, KeyError, Lock, Ts, Write, WriteKind};

impl Engine {
    /// Commits the transaction's locks on all keys, or none.
    pub fn commit(
        &mut self,
        start_ts: Ts,
        commit_ts: Ts,
        keys: &[Vec<u8>],
    ) -> Result<(), KeyError> {
        if commit_ts <= start_ts {
            return Err(KeyError::Abort(Abort::InvalidTxnTso { start_ts, commit_ts }));
        }
        let mut changes = Vec::new();
        for key in keys {
            self.commit_key(&mut changes, start_ts, commit_ts, key)?;
        }
        self.table.apply(changes);
        Ok(())
    }

    /// Rolls the transaction back on all keys, whether it has locks there or not.
    pub fn rollback(&mut self, start_ts: Ts, keys: &[Vec<u8>]) -> Result<(), KeyError> {
        let mut changes = Vec::new();
        for key in keys {
            self.clean_up(&mut changes, start_ts, key)?;
        }
        self.table.apply(changes);
        Ok(())
    }

    /// Lets the primary lock live longer; its time to live.
    pub fn heart_beat(
        &mut self,
        start_ts: Ts,
        key: &[u8],
        advised_ttl: u64,
    ) -> Result<u64, KeyError> {
        let lock = self.table.keys.get_mut(key).and_then(|versions| versions.lock.as_mut());
        let Some(lock) = lock.filter(|lock| lock.start_ts == start_ts) else {
            return Err(KeyError::TxnNotFound { start_ts, key: key.to_vec() });
        };
        lock.ttl = lock.ttl.max(advised_ttl);
        Ok(lock.ttl)
    }

    /// Ends every lock of these transactions in the range: a commit timestamp, or zero for
    /// rollback.
    pub fn resolve_range(
        &mut self,
        outcomes: &BTreeMap<Ts, Ts>,
        start: &[u8],
        end: &[u8],
    ) -> Result<(), KeyError> {
        let mut changes = Vec::new();
        for (key, versions) in range(&self.table.keys, start, end) {
            let Some(lock) = &versions.lock else { continue };
            let start_ts = lock.start_ts;
            match outcomes.get(&start_ts) {
                None => {}
                Some(0) => self.clean_up(&mut changes, start_ts, key)?,
                Some(commit_ts) if *commit_ts <= start_ts => {
                    let commit_ts = *commit_ts;
                    return Err(KeyError::Abort(Abort::InvalidTxnTso { start_ts, commit_ts }));
                }
                Some(commit_ts) => self.commit_key(&mut changes, start_ts, *commit_ts, key)?,
            }
        }
        self.table.apply(changes);
        Ok(())
    }

    /// Ends the transaction's locks on these keys: a commit timestamp, or zero for rollback.
    pub fn resolve_keys(
        &mut self,
        start_ts: Ts,
        commit_ts: Ts,
        keys: &[Vec<u8>],
    ) -> Result<(), KeyError> {
        match commit_ts {
            0 => self.rollback(start_ts, keys),
            _ => self.commit(start_ts, commit_ts, keys),
        }
    }

    fn commit_key(
        &self,
        changes: &mut Vec<Change>,
        start_ts: Ts,
        commit_ts: Ts,
        key: &[u8],
    ) -> Result<(), KeyError> {
        let Some(lock) = self.table.lock_of(key, start_ts) else {
            return match self.table.record(key, start_ts) {
                Record::Committed(_) => Ok(()),
                _ => Err(KeyError::LockNotFound { start_ts, key: key.to_vec() }),
            };
        };
        if commit_ts < lock.min_commit_ts {
            return Err(KeyError::CommitTsExpired {
                start_ts,
                attempted: commit_ts,
                key: key.to_vec(),
                min_commit_ts: lock.min_commit_ts,
            });
        }
        if let Some(kind) = write_kind(lock.kind) {
            let write = Write {
                kind,
                start_ts,
                value: lock.value.clone(),
                is_protected: false,
                hides_rollback: lock.rollbacks.contains(&commit_ts),
            };
            changes.push(Change::Write(key.to_vec(), commit_ts, write));
            changes.push(Change::Unlock(key.to_vec(), commit_ts));
        } else {
            // Left by a lock request whose answer nobody waited for.
            changes.push(Change::Unlock(key.to_vec(), 0));
        }
        Ok(())
    }

    pub(super) fn clean_up(
        &self,
        changes: &mut Vec<Change>,
        start_ts: Ts,
        key: &[u8],
    ) -> Result<(), KeyError> {
        if let Some(lock) = self.table.lock_of(key, start_ts) {
            self.roll_back_lock(changes, key, lock);
            return Ok(());
        }
        match self.table.record(key, start_ts) {
            Record::Committed(commit_ts) => {
                let key = key.to_vec();
                Err(KeyError::Abort(Abort::Committed { start_ts, commit_ts, key }))
            }
            Record::RolledBack => Ok(()),
            Record::None { in_the_way } => {
                self.collapse(changes, start_ts, key);
                roll_back(changes, start_ts, key, false, in_the_way);
                Ok(())
            }
        }
    }

    /// Removes the lock, and leaves a record that is protected if this is the primary key.
    pub(super) fn roll_back_lock(&self, changes: &mut Vec<Change>, key: &[u8], lock: &Lock) {
        let start_ts = lock.start_ts;
        if let Record::None { in_the_way } = self.table.record(key, start_ts) {
            self.collapse(changes, start_ts, key);
            roll_back(changes, start_ts, key, key == lock.primary, in_the_way);
        }
        changes.push(Change::Unlock(key.to_vec(), 0));
    }

    /// Drops the rollback record before this one, unless it is protected.
    pub(super) fn collapse(&self, changes: &mut Vec<Change>, start_ts: Ts, key: &[u8]) {
        if let Some((ts, write)) = self.table.newest(key, start_ts)
            && write.kind == WriteKind::Rollback
            && !write.is_protected
        {
            changes.push(Change::RemoveWrite(key.to_vec(), ts));
        }
    }
}

/// Leaves a record of a rollback; on the version that stands at the same timestamp, if there is
/// one.
pub(super) fn roll_back(
    changes: &mut Vec<Change>,
    start_ts: Ts,
    key: &[u8],
    is_protected: bool,
    in_the_way: Option<Write>,
) {
    let write = match in_the_way {
        None => Write::rollback(start_ts, is_protected),
        Some(write) if is_protected => Write { hides_rollback: true, ..write },
        Some(_) => return,
    };
    changes.push(Change::Write(key.to_vec(), start_ts, write));
}
