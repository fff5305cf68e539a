//! Reads at one timestamp, and the memory of what they brought.
//!
//! A snapshot remembers a hash of each value that it returned, so that proving a read unchanged
//! takes one read at the new timestamp. Where it does not remember (scans, or too many keys) both
//! timestamps are read side by side: what a timestamp shows never changes.

use crate::{
    cluster::Cluster, cursor::TikvCursor, gc::Open, keys::Prefix, meeting::Meeting,
    resolve::unexpected,
};
use braid_kv::{Answer, Cursor, Error, Key, Result, Snapshot, Span, Timestamp, Value};
use braid_tikv_proto::kvrpcpb::{BatchGetRequest, GetRequest, KeyError, LockInfo};
use parking_lot::Mutex;
use std::{
    any::Any,
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// A snapshot remembers so many keys.
const SEEN_MAX: usize = 65_536;

/// What every snapshot of a store shares.
pub(crate) struct Ground {
    pub cluster: Arc<Cluster>,
    pub prefix: Prefix,
    hashers: [RandomState; 2],
}

impl Ground {
    pub fn new(cluster: Arc<Cluster>, prefix: Prefix) -> Ground {
        Ground { cluster, prefix, hashers: [RandomState::new(), RandomState::new()] }
    }

    /// A hash that differs for different values. Its secret differs in every process.
    pub fn hash(&self, value: Option<&Value>) -> u128 {
        let [high, low] = self.hashers.each_ref().map(|hasher| hasher.hash_one(value));
        (u128::from(high) << 64) | u128::from(low)
    }
}

/// The cluster at one timestamp.
pub(crate) struct TikvSnapshot {
    pub ground: Arc<Ground>,
    pub ts: u64,
    /// When it was taken, for the age of a transaction that begins with it.
    pub taken: Instant,
    /// Whether a transaction has taken the timestamp for its own.
    claimed: AtomicBool,
    /// Keeps what it shows.
    _open: Open,
    /// Hashes of what was returned, by the keys of the contract.
    seen: Mutex<HashMap<Key, u128>>,
}

impl TikvSnapshot {
    pub fn new(ground: Arc<Ground>, ts: u64) -> TikvSnapshot {
        let (claimed, seen) = (AtomicBool::new(false), Mutex::default());
        let open = ground.cluster.floor.open(ts);
        TikvSnapshot { ground, ts, taken: Instant::now(), claimed, _open: open, seen }
    }

    /// What is newest when it is read. The largest timestamp is none that was given out, so that a
    /// read at it does not make a store give later commits later timestamps.
    pub fn newest(ground: Arc<Ground>) -> TikvSnapshot {
        TikvSnapshot::new(ground, u64::MAX)
    }

    /// The snapshot behind the contract's handle.
    pub fn of(snapshot: &Arc<dyn Snapshot>) -> Result<&TikvSnapshot> {
        let own = snapshot.as_any().downcast_ref::<TikvSnapshot>();
        own.ok_or_else(|| Error::Storage("a snapshot of another store".into()))
    }

    /// True once: a timestamp names one transaction only.
    pub fn claim(&self) -> bool {
        !self.claimed.swap(true, Relaxed)
    }

    /// The hash of what was returned for a key, if it is remembered.
    pub fn seen(&self, key: &[u8]) -> Option<u128> {
        self.seen.lock().get(key).copied()
    }

    fn remember(&self, key: &[u8], value: Option<&Value>) {
        let hash = self.ground.hash(value);
        let mut seen = self.seen.lock();
        if seen.len() < SEEN_MAX {
            seen.insert(key.to_vec(), hash);
        }
    }

    async fn read(&self, key: &[u8]) -> Result<Option<Value>> {
        let cluster = &self.ground.cluster;
        let full = self.ground.prefix.key(key);
        let meeting = Meeting::new(cluster, self.ts, 0);
        let value = get(cluster, &full, self.ts, meeting).await?;
        self.remember(key, value.as_ref());
        Ok(value)
    }

    async fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        if let [key] = keys {
            return Ok(vec![self.read(key).await?]);
        }
        let cluster = &self.ground.cluster;
        let full = keys.iter().map(|key| self.ground.prefix.key(key)).collect();
        let meeting = Meeting::new(cluster, self.ts, 0);
        let found = multi_get(cluster, full, self.ts, meeting).await?;
        let read = |key: &Key| {
            let value = found.get(&self.ground.prefix.key(key)).cloned();
            self.remember(key, value.as_ref());
            value
        };
        Ok(keys.iter().map(read).collect())
    }
}

/// The lock of an error, or the error itself.
pub(crate) fn lock_of(error: &KeyError) -> Result<LockInfo> {
    error.locked.clone().ok_or_else(|| unexpected("a read", error))
}

/// The value of one key at `ts`.
pub(crate) async fn get(
    cluster: &Arc<Cluster>,
    key: &[u8],
    ts: u64,
    mut meeting: Meeting,
) -> Result<Option<Value>> {
    loop {
        let make = |_: &_| GetRequest {
            key: Value::copy_from_slice(key),
            version: ts,
            ..GetRequest::default()
        };
        let answer = cluster.at_key(key, meeting.manner(), make).await?;
        match &answer.error {
            Some(error) => meeting.deal(cluster, &[lock_of(error)?]).await?,
            None => {
                cluster.check_age(ts).await?;
                return Ok((!answer.not_found).then_some(answer.value));
            }
        }
    }
}

/// The values of those keys that exist at `ts`, one request for each region.
pub(crate) async fn multi_get(
    cluster: &Arc<Cluster>,
    mut keys: Vec<Key>,
    ts: u64,
    mut meeting: Meeting,
) -> Result<HashMap<Key, Value>> {
    keys.sort_unstable();
    keys.dedup();
    let mut found = HashMap::with_capacity(keys.len());
    while !keys.is_empty() {
        let make = |keys: &[Key]| BatchGetRequest {
            keys: keys.iter().map(|key| key.clone().into()).collect(),
            version: ts,
            ..BatchGetRequest::default()
        };
        let asked = std::mem::take(&mut keys);
        let answers = cluster.at_all(asked, meeting.manner(), make).await;
        let mut locks = Vec::new();
        for (asked, answer) in answers? {
            let errors = answer.pairs.iter().filter_map(|pair| pair.error.as_ref());
            let met: Vec<LockInfo> =
                answer.error.iter().chain(errors).map(lock_of).collect::<Result<_>>()?;
            if met.is_empty() {
                found.extend(answer.pairs.into_iter().map(|p| (p.key.to_vec(), p.value)));
            } else {
                keys.extend(asked);
                locks.extend(met);
            }
        }
        if !locks.is_empty() {
            keys.sort_unstable();
            meeting.deal(cluster, &locks).await?;
        }
    }
    cluster.check_age(ts).await?;
    Ok(found)
}

impl Snapshot for TikvSnapshot {
    fn timestamp(&self) -> Timestamp {
        Timestamp(self.ts)
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Value>>> {
        Answer::wait(self.read(key))
    }

    fn multi_get<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Result<Vec<Option<Value>>>> {
        Answer::wait(self.read_many(keys))
    }

    fn scan(&self, span: Span, reverse: bool, keys_only: bool) -> Box<dyn Cursor> {
        let meeting = Meeting::new(&self.ground.cluster, self.ts, 0);
        let span = self.ground.prefix.span(&span);
        let ground = self.ground.clone();
        Box::new(TikvCursor::new(ground, span, self.ts, reverse, keys_only, meeting))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
