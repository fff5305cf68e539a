//! Snapshots: reads at one timestamp, with a hash of each value that they returned.
//!
//! With the hash, proving a read unchanged takes one read at the new timestamp. Scans, and keys
//! beyond the limit, have no hash: validation then reads both timestamps and compares.

use super::{
    context::ReadContext,
    cursor::{Scan, TikvCursor},
    lookup::{get, get_newest, multi_get},
};
use crate::{gc::OpenSnapshot, locks::LockResolver};
use braid_kv::{Answer, Cursor, Error, Key, Result, Snapshot, Span, Timestamp, Value};
use parking_lot::Mutex;
use std::{
    any::Any,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// Keys whose hash a snapshot remembers, at most.
const READ_HASHES_MAX: usize = 65_536;

/// The cluster at one timestamp.
pub(crate) struct TikvSnapshot {
    pub context: Arc<ReadContext>,
    pub ts: u64,
    /// When it was taken, for the age of a transaction that begins with it.
    pub taken: Instant,
    /// Whether a transaction has taken the timestamp for its own.
    claimed: AtomicBool,
    /// Keeps what it shows.
    _open: OpenSnapshot,
    /// Hashes of what was returned, by store key.
    seen: Mutex<HashMap<Key, u128>>,
}

impl TikvSnapshot {
    pub(crate) fn new(context: Arc<ReadContext>, ts: u64) -> TikvSnapshot {
        let (claimed, seen) = (AtomicBool::new(false), Mutex::default());
        let open = context.cluster.snapshots.open(ts);
        TikvSnapshot { context, ts, taken: Instant::now(), claimed, _open: open, seen }
    }

    /// A snapshot that shows the newest values. Its timestamp, the largest one, stands for "at the
    /// moment of the read" and is never sent to a store.
    pub(crate) fn newest(context: Arc<ReadContext>) -> TikvSnapshot {
        TikvSnapshot::new(context, u64::MAX)
    }

    /// The snapshot that the contract's handle holds.
    pub(crate) fn of(snapshot: &Arc<dyn Snapshot>) -> Result<&TikvSnapshot> {
        let own = snapshot.as_any().downcast_ref::<TikvSnapshot>();
        own.ok_or_else(|| Error::Storage("a snapshot of another store".into()))
    }

    /// True once: a timestamp names one transaction only.
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.swap(true, Relaxed)
    }

    /// The hash of what was returned for a key, if it is remembered.
    pub(crate) fn seen(&self, key: &[u8]) -> Option<u128> {
        self.seen.lock().get(key).copied()
    }

    fn remember(&self, key: &[u8], value: Option<&Value>) {
        let hash = self.context.hash(value);
        let mut seen = self.seen.lock();
        if seen.len() < READ_HASHES_MAX {
            seen.insert(key.to_vec(), hash);
        }
    }

    async fn read(&self, key: &[u8]) -> Result<Option<Value>> {
        let cluster = &self.context.cluster;
        let value = match self.ts {
            u64::MAX => get_newest(cluster, key).await?,
            ts => get(cluster, key, ts, LockResolver::new(cluster, ts, 0)).await?,
        };
        self.remember(key, value.as_ref());
        Ok(value)
    }

    /// The values of store keys.
    pub(crate) async fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        if let [key] = keys {
            return Ok(vec![self.read(key).await?]);
        }
        let cluster = &self.context.cluster;
        let resolver = LockResolver::new(cluster, self.ts, 0);
        let found = multi_get(cluster, keys.to_vec(), self.ts, resolver).await?;
        let read = |key: &Key| {
            let value = found.get(key).cloned();
            self.remember(key, value.as_ref());
            value
        };
        Ok(keys.iter().map(read).collect())
    }
}

impl Snapshot for TikvSnapshot {
    fn timestamp(&self) -> Timestamp {
        Timestamp(self.ts)
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Value>>> {
        let key = self.context.keyspace.key(key);
        Answer::wait(async move { self.read(&key).await })
    }

    fn multi_get<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Result<Vec<Option<Value>>>> {
        let keys = self.context.keyspace.keys(keys);
        Answer::wait(async move { self.read_many(&keys).await })
    }

    fn scan(&self, span: Span, reverse: bool, keys_only: bool) -> Box<dyn Cursor> {
        let ReadContext { cluster, keyspace, .. } = &*self.context;
        let scan = Scan { span, ts: self.ts, reverse, keys_only };
        let resolver = LockResolver::new(cluster, self.ts, 0);
        Box::new(TikvCursor::new(cluster.clone(), keyspace.clone(), scan, resolver))
    }

    /// A transaction that imports this snapshot begins later, so that its timestamp is a later one.
    fn share(&self) {
        self.claim();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
