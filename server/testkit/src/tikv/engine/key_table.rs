//! The key table: keys with at most one lock and any number of versions, and how they change.
//!
//! A command first looks at every key and collects [`Change`]s; only if none is in the way are they
//! applied, all at once. So a command that fails has done nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::model::{KeyError, Lock, LockKind, Released, Ts, Write, WriteKind};

/// How many finished transactions are remembered, so that a late prewrite is taken for a repeated
/// one.
const FINISHED_MAX: usize = 10_000;

/// The commands on all keys of the cluster. Which store may serve which key is decided elsewhere.
#[derive(Debug, Default)]
pub struct Engine {
    /// The keys with their locks and versions.
    pub table: KeyTable,
    /// A prewrite that needs its own lock and meets another's says "locked".
    pub says_locked_for_lost: bool,
}

/// All keys, with their locks and versions.
#[derive(Debug, Default)]
pub struct KeyTable {
    pub(super) keys: BTreeMap<Vec<u8>, Versions>,
    released: Vec<Released>,
    finished: BTreeSet<Ts>,
}

/// One key.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub(super) lock: Option<Lock>,
    /// By commit timestamp; a rollback stands at its start timestamp.
    pub(super) writes: BTreeMap<Ts, Write>,
}

/// What a command does to one key.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Lock(Vec<u8>, Lock),
    Unlock(Vec<u8>, Ts),
    Write(Vec<u8>, Ts, Write),
    RemoveWrite(Vec<u8>, Ts),
}

/// What a key records of a transaction that has no lock on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Committed(Ts),
    RolledBack,
    /// Nothing; a version of another transaction may stand where the rollback would go.
    None {
        in_the_way: Option<Write>,
    },
}

impl KeyTable {
    /// The locks that went since the last call.
    pub fn take_released(&mut self) -> Vec<Released> {
        std::mem::take(&mut self.released)
    }

    /// Who holds the key.
    pub fn holder(&self, key: &[u8]) -> Option<&Lock> {
        self.lock(key)
    }

    /// How many keys have a lock.
    pub fn lock_count(&self) -> usize {
        self.keys.values().filter(|versions| versions.lock.is_some()).count()
    }

    /// Removes the pessimistic locks of `[start, end)`, as a crash of their leader does: they were
    /// in its memory only. An empty end is the end of all keys.
    pub fn lose_pessimistic_locks(&mut self, start: &[u8], end: &[u8]) {
        let keys = range(&self.keys, start, end);
        let lost: Vec<_> = keys
            .filter(|(_, versions)| versions.lock.as_ref().is_some_and(Lock::is_pessimistic))
            .map(|(key, _)| Change::Unlock(key.clone(), 0))
            .collect();
        self.apply(lost);
    }

    pub(super) fn lock(&self, key: &[u8]) -> Option<&Lock> {
        self.keys.get(key)?.lock.as_ref()
    }

    pub(super) fn lock_of(&self, key: &[u8], start_ts: Ts) -> Option<&Lock> {
        self.lock(key).filter(|lock| lock.start_ts == start_ts)
    }

    /// The newest version at or below the timestamp.
    pub(super) fn newest(&self, key: &[u8], ts: Ts) -> Option<(Ts, &Write)> {
        let (ts, write) = self.keys.get(key)?.writes.range(..=ts).next_back()?;
        Some((*ts, write))
    }

    /// The value at the timestamp: the version that holds it.
    pub(super) fn value_at(&self, key: &[u8], ts: Ts) -> Option<(Ts, &Write)> {
        data(&self.keys.get(key)?.writes, ts)
    }

    /// What the key records of a transaction that has no lock on it.
    pub(super) fn record(&self, key: &[u8], start_ts: Ts) -> Record {
        let Some(versions) = self.keys.get(key) else { return Record::None { in_the_way: None } };
        for (commit_ts, write) in versions.writes.range(start_ts..).rev() {
            if write.start_ts == start_ts {
                return match write.kind {
                    WriteKind::Rollback => Record::RolledBack,
                    _ => Record::Committed(*commit_ts),
                };
            }
            if *commit_ts == start_ts {
                return match write.hides_rollback {
                    true => Record::RolledBack,
                    false => Record::None { in_the_way: Some(write.clone()) },
                };
            }
        }
        Record::None { in_the_way: None }
    }

    /// A refusal if the value is there: `write` is the newest version and stands at `commit_ts`.
    pub(super) fn must_not_exist(
        &self,
        key: &[u8],
        commit_ts: Ts,
        write: &Write,
    ) -> Result<(), KeyError> {
        let exists = match write.kind {
            WriteKind::Put => true,
            WriteKind::Delete => false,
            WriteKind::Lock | WriteKind::Rollback => {
                self.value_at(key, commit_ts.saturating_sub(1)).is_some()
            }
        };
        if exists { Err(KeyError::AlreadyExist { key: key.to_vec() }) } else { Ok(()) }
    }

    pub(super) fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Lock(key, lock) => {
                    self.keys.entry(key).or_default().lock = Some(lock);
                }
                Change::Unlock(key, commit_ts) => {
                    let Some(versions) = self.keys.get_mut(&key) else { continue };
                    let Some(lock) = versions.lock.take() else { continue };
                    if versions.writes.is_empty() {
                        self.keys.remove(&key);
                    }
                    self.released.push(Released { key, start_ts: lock.start_ts, commit_ts });
                }
                Change::Write(key, ts, write) => {
                    if write.kind != WriteKind::Rollback {
                        self.remember(write.start_ts);
                    }
                    let writes = &mut self.keys.entry(key).or_default().writes;
                    if let Some(there) = writes.get(&ts)
                        && there.kind != WriteKind::Rollback
                    {
                        // A real store would lose the record.
                        assert_eq!(there.start_ts, write.start_ts, "two commits at {ts}");
                    }
                    writes.insert(ts, write);
                }
                Change::RemoveWrite(key, ts) => {
                    if let Some(versions) = self.keys.get_mut(&key) {
                        versions.writes.remove(&ts);
                    }
                }
            }
        }
    }

    /// Whether the transaction is known to be committed, as far as memory reaches.
    pub(super) fn is_finished(&self, start_ts: Ts) -> bool {
        self.finished.contains(&start_ts)
    }

    fn remember(&mut self, start_ts: Ts) {
        self.finished.insert(start_ts);
        if self.finished.len() > FINISHED_MAX {
            self.finished.pop_first();
        }
    }
}

/// The version that holds the value at the timestamp.
pub(super) fn data(writes: &BTreeMap<Ts, Write>, ts: Ts) -> Option<(Ts, &Write)> {
    let mut older = writes.range(..=ts).rev();
    let (ts, write) =
        older.find(|(_, write)| matches!(write.kind, WriteKind::Put | WriteKind::Delete))?;
    (write.kind == WriteKind::Put).then_some((*ts, write))
}

/// The keys of `[start, end)`; an empty end is the end of all keys.
pub(super) fn range<'a>(
    keys: &'a BTreeMap<Vec<u8>, Versions>,
    start: &[u8],
    end: &[u8],
) -> std::collections::btree_map::Range<'a, Vec<u8>, Versions> {
    let end = match end {
        [] => Bound::Unbounded,
        // An empty or turned range is no panic.
        _ if end <= start => Bound::Excluded(start),
        _ => Bound::Excluded(end),
    };
    keys.range::<[u8], _>((Bound::Included(start), end))
}

/// The kind of version that a lock becomes; `None` for a pessimistic one.
pub(super) fn write_kind(kind: LockKind) -> Option<WriteKind> {
    match kind {
        LockKind::Put => Some(WriteKind::Put),
        LockKind::Delete => Some(WriteKind::Delete),
        LockKind::Lock => Some(WriteKind::Lock),
        LockKind::Pessimistic => None,
    }
}
