//! Reads at a timestamp.
//!
//! - Locks of transactions that started later, locks without a value in them and locks that can
//!   only commit above the timestamp are passed over.
//! - Any other lock is in the way, unless the reader names its transaction: as decided to be above
//!   its timestamp (passed over), or as committed below it (its value is read from the lock).
//! - A reader's timestamp goes into `max_ts`, above which every later async commit must be.

use bytes::Bytes;

use super::key_table::{Engine, Versions, data, range};
use super::model::{KeyError, LockInfo, LockKind, Reason, Ts};

/// From where somebody reads.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The timestamp; the largest number is "the newest".
    pub ts: Ts,
    /// Transactions whose locks are passed over.
    pub passed: Vec<Ts>,
    /// Transactions whose locks count as committed.
    pub committed: Vec<Ts>,
    /// Isolation level read committed: no lock is in the way.
    pub ignores_locks: bool,
    /// Isolation level read committed with a check of timestamps: every lock with a value is a
    /// conflict, and so is every version above the timestamp.
    pub refuses_locks: bool,
}

/// What to scan.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// First key.
    pub start: &'a [u8],
    /// Behind the last key; empty: the end of all keys.
    pub end: &'a [u8],
    /// The maximum of pairs.
    pub limit: usize,
    /// Without values.
    pub keys_only: bool,
    /// From the end.
    pub is_reverse: bool,
}

/// A value and when it was committed.
pub type Versioned = (Bytes, Ts);

/// A pair, or the lock in its way.
pub type Pair = Result<(Vec<u8>, Bytes), KeyError>;

impl Engine {
    /// The value of a key.
    pub fn get(
        &self,
        max_ts: &mut Ts,
        view: &View,
        key: &[u8],
    ) -> Result<Option<Versioned>, KeyError> {
        raise(max_ts, view.ts);
        match self.table.keys.get(key) {
            Some(versions) => see(versions, view, key),
            None => Ok(None),
        }
    }

    /// The keys of a range with their values. A lock in the way takes a pair's place, and the scan
    /// goes on.
    pub fn scan(&self, max_ts: &mut Ts, view: &View, scan: &Scan<'_>) -> Vec<Pair> {
        raise(max_ts, view.ts);
        let keys = range(&self.table.keys, scan.start, scan.end);
        let pair = |(key, versions): (&Vec<u8>, &Versions)| match see(versions, view, key) {
            Ok(Some(_)) if scan.keys_only => Some(Ok((key.clone(), Bytes::new()))),
            Ok(Some((value, _))) => Some(Ok((key.clone(), value))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        match scan.is_reverse {
            true => keys.rev().filter_map(pair).take(scan.limit).collect(),
            false => keys.filter_map(pair).take(scan.limit).collect(),
        }
    }

    /// The locks of a range up to a start timestamp; a limit of zero is none.
    pub fn scan_locks(
        &self,
        max_ts: &mut Ts,
        until: Ts,
        start: &[u8],
        end: &[u8],
        limit: usize,
    ) -> Vec<LockInfo> {
        raise(max_ts, until);
        let limit = if limit == 0 { usize::MAX } else { limit };
        range(&self.table.keys, start, end)
            .filter_map(|(key, versions)| Some(versions.lock.as_ref()?.info(key)))
            .filter(|info| info.lock.start_ts <= until)
            .take(limit)
            .collect()
    }
}

/// Notes that somebody has read at that timestamp. "The newest" is none.
pub(super) fn raise(max_ts: &mut Ts, ts: Ts) {
    if ts != Ts::MAX {
        *max_ts = (*max_ts).max(ts);
    }
}

fn see(versions: &Versions, view: &View, key: &[u8]) -> Result<Option<Versioned>, KeyError> {
    if view.refuses_locks
        && let Some(conflict) = conflict(versions, view, key)
    {
        return Err(conflict);
    }
    if let Some(lock) = &versions.lock
        && !view.ignores_locks
        && !view.refuses_locks
        && is_in_the_way(versions, view, key)
    {
        if !view.committed.contains(&lock.start_ts) {
            return Err(KeyError::Locked(Box::new(lock.info(key))));
        }
        // When it was committed the lock does not say.
        return Ok(lock.value.clone().map(|value| (value, 0)));
    }
    let found = data(&versions.writes, view.ts);
    Ok(found.map(|(ts, write)| (write.value.clone().unwrap_or_default(), ts)))
}

/// What a read meets that checks timestamps instead of waiting.
fn conflict(versions: &Versions, view: &View, key: &[u8]) -> Option<KeyError> {
    let of = |conflict_start_ts, conflict_commit_ts, primary: &[u8]| KeyError::WriteConflict {
        start_ts: view.ts,
        conflict_start_ts,
        conflict_commit_ts,
        key: key.to_vec(),
        primary: primary.to_vec(),
        reason: Reason::RcCheckTs,
    };
    let prewritten = versions.lock.as_ref().filter(|lock| {
        matches!(lock.kind, LockKind::Put | LockKind::Delete)
            && !view.passed.contains(&lock.start_ts)
    });
    if let Some(lock) = prewritten {
        return Some(of(lock.start_ts, 0, &lock.primary));
    }
    let (newest, _) = versions.writes.last_key_value()?;
    (*newest > view.ts).then(|| of(0, *newest, &[]))
}

fn is_in_the_way(versions: &Versions, view: &View, key: &[u8]) -> bool {
    let Some(lock) = &versions.lock else { return false };
    let has_value = matches!(lock.kind, LockKind::Put | LockKind::Delete);
    let is_newest_of_primary = view.ts == Ts::MAX && lock.primary == key && !lock.async_commit;
    has_value
        && lock.start_ts <= view.ts
        && lock.min_commit_ts <= view.ts
        && !view.passed.contains(&lock.start_ts)
        && !is_newest_of_primary
}
