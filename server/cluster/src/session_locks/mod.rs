//! Advisory locks over a store that several gateways share.
//!
//! ```text
//!   take  ── turn of the key here ── read the record ── nobody in the way: commit in the lease
//!                                         └─────────── else wait, and look again
//!   keep  ── turn of the key here ── commit without the session ── wake the waiters here
//! ```
//!
//! TiKV's own locks belong to transactions and live for seconds. So each lock is a record in a
//! system table (`record`), which names the sessions that hold it and, after a second, those that
//! wait for it. Each change of a record is one transaction, which proves what it has read.
//!
//! Rules that must always hold:
//! - a lock is granted by a commit below the end of the lease that its gateway has then, and ends
//!   with that lease at the latest: entries of a gateway whose lease has ended do not count;
//! - commits of transactions in a session that holds locks are below the end of the same lease, so
//!   nothing is written under a lock that another session may hold by now;
//! - a session whose gateway has begun another lease has lost its locks ([`SharedLocks::lost`]);
//! - changes of one lock by one gateway follow each other: what was given up after it was asked
//!   for is given back after it was granted.
//!
//! Limits: who waits looks again after at most [`LOOK_EVERY`], unless the lock is given back here.
//! Circles of waits for these locks are found, those that go through locks of rows are not.

mod record;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_kv::{
    Answer, CommitFence, DeadlockEdge, Error, Key, LockInfo, LockStrength, LockWait, Record,
    Result as KvResult, SessionLock, SessionLocks, Span, TxnId, TxnOptions,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::time::Instant;

use crate::gateways::{Gateways, Lease};
use crate::records::{parse, scan_all, to_json};
use crate::system_keys::{lock_of_record_key, lock_record_key, lock_records_span};
use record::{Entry, LockRecord, Owner, circle};

/// The longest pause between two looks at a lock that others hold.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The first pause.
const LOOK_FIRST: Duration = Duration::from_millis(5);
/// After this wait a session is noted in the record. From then on it looks for circles at this
/// interval.
const DEADLOCK_AFTER: Duration = Duration::from_secs(1);
/// Between two attempts to change a record that others change, or after a failure.
const AGAIN_AFTER: Duration = Duration::from_millis(3);
/// The longest pause between attempts to give a lock back while the store fails.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(1);

/// Keeps the advisory locks of a gateway's sessions in the store.
pub struct SharedLocks {
    gateways: Weak<Gateways>,
    runtime: Handle,
    local: Arc<Mutex<Local>>,
}

/// What this gateway knows of its own sessions.
#[derive(Default)]
struct Local {
    keys: HashMap<Key, Arc<LocalKey>>,
    sessions: HashMap<TxnId, Holder>,
    waiting: HashMap<TxnId, (Key, LockStrength, Instant)>,
}

/// A lock that sessions of this gateway have to do with.
#[derive(Default)]
struct LocalKey {
    /// Who changes the record now.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// It was given back here.
    freed: Notify,
}

/// A use of such a lock. The last one takes it out of the map.
struct Used {
    local: Arc<Mutex<Local>>,
    key: Key,
    of_key: Arc<LocalKey>,
}

impl Used {
    fn new(local: &Arc<Mutex<Local>>, key: &[u8]) -> Used {
        let of_key = local.lock().keys.entry(key.to_vec()).or_default().clone();
        Used { local: local.clone(), key: key.to_vec(), of_key }
    }

    async fn turn(&self) -> OwnedMutexGuard<()> {
        self.of_key.turn.clone().lock_owned().await
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let mut local = self.local.lock();
        // The map's and this one's.
        if Arc::strong_count(&self.of_key) == 2 {
            local.keys.remove(&self.key);
        }
    }
}

/// A session that holds locks, or asks for one.
struct Holder {
    /// The lease in which all of them were granted.
    lease: Arc<Lease>,
    keys: BTreeMap<Key, LockStrength>,
}

/// What an attempt to take a lock has come to.
enum Attempt {
    Granted,
    InTheWay,
    Deadlock(Arc<[DeadlockEdge]>),
}

fn stopped() -> Error {
    Error::Storage("this gateway is closed".into())
}

fn lost() -> Error {
    Error::Storage("the lease of this gateway has ended, and with it advisory locks".into())
}

impl SharedLocks {
    /// Keeps the locks of the sessions over this gateway's store; `None` where the store keeps
    /// them itself.
    pub fn open(gateways: &Arc<Gateways>) -> Option<Arc<SharedLocks>> {
        let shared = gateways.shared.as_ref()?;
        let locks = Arc::new(SharedLocks {
            gateways: Arc::downgrade(gateways),
            runtime: Handle::current(),
            local: Arc::default(),
        });
        shared.kv.set_session_locks(locks.clone());
        Some(locks)
    }

    /// The sessions whose locks have ended with a lease, while they held them.
    pub fn lost(&self) -> Vec<TxnId> {
        let Some(gateways) = self.gateways.upgrade() else { return Vec::new() };
        let local = self.local.lock();
        let is_lost = |holder: &Holder| !holder.keys.is_empty() && !gateways.keeps(&holder.lease);
        local.sessions.iter().filter(|(_, holder)| is_lost(holder)).map(|(id, _)| *id).collect()
    }

    fn change(&self, session: TxnId, key: &[u8]) -> KvResult<Change> {
        let gateways = self.gateways.upgrade().ok_or_else(stopped)?;
        let owner = Owner { gateway: gateways.id(), session: session.0 };
        Ok(Change { gateways, used: Used::new(&self.local, key), session, owner })
    }

    /// The lease in which the session's locks are granted.
    fn lease_of(&self, session: TxnId) -> KvResult<Arc<Lease>> {
        let gateways = self.gateways.upgrade().ok_or_else(stopped)?;
        let mut local = self.local.lock();
        if let Some(holder) = local.sessions.get(&session).filter(|one| !one.keys.is_empty()) {
            let is_kept = gateways.keeps(&holder.lease);
            return if is_kept { Ok(holder.lease.clone()) } else { Err(lost()) };
        }
        let lease = gateways.lease().ok_or_else(lost)?;
        let holder = Holder { lease: lease.clone(), keys: BTreeMap::new() };
        local.sessions.insert(session, holder);
        Ok(lease)
    }

    async fn take_or_wait(
        &self,
        lock: SessionLock<'_>,
        timeout: Option<Duration>,
    ) -> KvResult<bool> {
        let SessionLock { session, key, strength, wait } = lock;
        let lease = self.lease_of(session)?;
        let began = Instant::now();
        let used = Used::new(&self.local, key);
        let mut waiting = None;
        let mut pause = LOOK_FIRST;
        loop {
            let change = self.change(session, key)?;
            let mut freed = std::pin::pin!(used.of_key.freed.notified());
            freed.as_mut().enable();
            let is_long = began.elapsed() >= DEADLOCK_AFTER;
            match change.take(strength, lease.clone(), is_long, &self.runtime).await? {
                Attempt::Granted => return Ok(true),
                Attempt::Deadlock(cycle) => return Err(Error::Deadlock { cycle }),
                Attempt::InTheWay if wait != LockWait::Block => return Ok(false),
                Attempt::InTheWay => {}
            }
            waiting.get_or_insert_with(|| Waiting::note(&self.local, lock, began));
            let left = timeout.map(|limit| limit.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Error::LockTimeout { key: key.to_vec() });
            }
            let _ = tokio::time::timeout(left.map_or(pause, |left| left.min(pause)), freed).await;
            pause = (pause * 2).min(if is_long { DEADLOCK_AFTER } else { LOOK_EVERY });
        }
    }
}

impl SessionLocks for SharedLocks {
    fn join(&self, session: TxnId, _txn: TxnId) -> Option<Arc<dyn CommitFence>> {
        // A session that has lost its locks stays bound to the lease that has ended.
        let held = self.local.lock().sessions.get(&session).map(|holder| holder.lease.clone());
        let lease = held.or_else(|| self.gateways.upgrade()?.lease())?;
        Some(lease)
    }

    fn take<'a>(
        &'a self,
        lock: SessionLock<'a>,
        timeout: Option<Duration>,
    ) -> Answer<'a, KvResult<bool>> {
        Answer::wait(self.take_or_wait(lock, timeout))
    }

    fn keep(
        &self,
        session: TxnId,
        key: &[u8],
        strength: Option<LockStrength>,
    ) -> Answer<'static, ()> {
        let Ok(change) = self.change(session, key) else { return Answer::ready(()) };
        let task = self.runtime.spawn(change.keep(strength));
        Answer::wait(async move { task.await.unwrap_or_default() })
    }

    fn shown(&self) -> Vec<LockInfo> {
        let local = self.local.lock();
        let held = local.sessions.iter().flat_map(|(session, holder)| {
            let info = |(key, strength): (&Key, &LockStrength)| LockInfo {
                span: Span::key(key.clone()),
                txn: *session,
                strength: *strength,
                granted: true,
                waited: Duration::ZERO,
            };
            holder.keys.iter().map(info)
        });
        let waiting = local.waiting.iter().map(|(session, (key, strength, since))| LockInfo {
            span: Span::key(key.clone()),
            txn: *session,
            strength: *strength,
            granted: false,
            waited: since.elapsed(),
        });
        let mut shown: Vec<LockInfo> = held.chain(waiting).collect();
        shown.sort_by(|a, b| (&a.span.start, a.txn).cmp(&(&b.span.start, b.txn)));
        shown
    }
}

/// A request that waits, for as long as this lives.
struct Waiting {
    local: Arc<Mutex<Local>>,
    session: TxnId,
}

impl Waiting {
    fn note(local: &Arc<Mutex<Local>>, lock: SessionLock<'_>, since: Instant) -> Waiting {
        let waiting = (lock.key.to_vec(), lock.strength, since);
        local.lock().waiting.insert(lock.session, waiting);
        Waiting { local: local.clone(), session: lock.session }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.local.lock().waiting.remove(&self.session);
    }
}

/// A change of one lock for one session.
struct Change {
    gateways: Arc<Gateways>,
    used: Used,
    session: TxnId,
    owner: Owner,
}

impl Change {
    /// Waits for the turn, then tries to take the lock. From then on the attempt goes its way,
    /// whether or not it is waited for.
    async fn take(
        self,
        strength: LockStrength,
        lease: Arc<Lease>,
        is_long: bool,
        runtime: &Handle,
    ) -> KvResult<Attempt> {
        let turn = self.used.turn().await;
        let attempt = self.attempt(strength, lease, is_long, turn);
        runtime.spawn(attempt).await.unwrap_or_else(|_| Err(stopped()))
    }

    async fn attempt(
        self,
        strength: LockStrength,
        lease: Arc<Lease>,
        is_long: bool,
        turn: OwnedMutexGuard<()>,
    ) -> KvResult<Attempt> {
        let request = Entry::new(self.owner, strength);
        let grant = |record: &mut LockRecord| {
            let is_granted = record.grant(request);
            if !is_granted && is_long {
                record.wait(request);
            }
            is_granted
        };
        if self.transact(Some(&lease), grant).await? {
            let mut local = self.used.local.lock();
            let holder = Holder { lease, keys: BTreeMap::new() };
            let holder = local.sessions.entry(self.session).or_insert(holder);
            let held = holder.keys.entry(self.used.key.clone()).or_insert(strength);
            *held = strength.max(*held);
            return Ok(Attempt::Granted);
        }
        drop(turn);
        Ok(match is_long {
            true => self.circle().await?.map_or(Attempt::InTheWay, Attempt::Deadlock),
            false => Attempt::InTheWay,
        })
    }

    /// Leaves the session with a lock of this strength or with none, however long the store fails.
    async fn keep(self, strength: Option<LockStrength>) {
        let _turn = self.used.turn().await;
        let mut pause = AGAIN_AFTER;
        while let Err(error) = self.transact(None, |record| record.keep(self.owner, strength)).await
        {
            if matches!(error, Error::Stopped(_)) {
                return;
            }
            tracing::warn!(%error, "an advisory lock cannot be given back yet");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(GIVE_BACK_EVERY);
        }
        let mut local = self.used.local.lock();
        if let Some(holder) = local.sessions.get_mut(&self.session) {
            match strength {
                Some(strength) => holder.keys.insert(self.used.key.clone(), strength),
                None => holder.keys.remove(&self.used.key),
            };
            if holder.keys.is_empty() {
                local.sessions.remove(&self.session);
            }
        }
        drop(local);
        self.used.of_key.freed.notify_waiters();
    }

    /// Changes the record by a transaction of its own, in the lease if one is given.
    async fn transact<T>(
        &self,
        lease: Option<&Arc<Lease>>,
        change: impl Fn(&mut LockRecord) -> T,
    ) -> KvResult<T> {
        let shared = self.gateways.shared.as_ref().ok_or_else(stopped)?;
        let key = lock_record_key(&self.used.key);
        loop {
            if lease.is_some_and(|lease| !self.gateways.keeps(lease)) {
                return Err(lost());
            }
            let txn = shared.kv.begin(TxnOptions::default());
            let seq = txn.next_statement();
            let stored = txn.get(seq, &key).await?;
            let before: LockRecord = stored.as_ref().map(parse).transpose()?.unwrap_or_default();
            let mut after = self.without_dead(before.clone()).await?;
            let result = change(&mut after);
            if after == before {
                txn.rollback().await;
                return Ok(result);
            }
            match after.is_empty() {
                true => txn.delete(seq, &key)?,
                false => txn.put(seq, &key, to_json(&after)?)?,
            }
            if let Some(lease) = lease {
                txn.commit_terms().set_fence(lease.clone());
            }
            match txn.commit_or_error().await {
                Ok(_) => return Ok(result),
                // Another attempt reads what has become of this one.
                Err(Error::Unknown) => {}
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    async fn without_dead(&self, record: LockRecord) -> KvResult<LockRecord> {
        let mut others: Vec<u64> = record.gateways().into_iter().collect();
        others.retain(|gateway| *gateway != self.owner.gateway);
        match others.is_empty() {
            true => Ok(record),
            false => Ok(record.without(&self.gateways.gone(&others).await?)),
        }
    }

    /// A circle of waits through this session, if it is the one to give way.
    async fn circle(&self) -> KvResult<Option<Arc<[DeadlockEdge]>>> {
        let shared = self.gateways.shared.as_ref().ok_or_else(stopped)?;
        let txn = shared.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let pairs = scan_all(&txn, txn.next_statement(), lock_records_span(), Record::Never).await;
        txn.rollback().await;
        let (mut keys, mut records) = (Vec::new(), Vec::new());
        for (key, value) in pairs? {
            keys.push(lock_of_record_key(&key).unwrap_or_default());
            records.push(self.without_dead(parse(&value)?).await?);
        }
        let Some(steps) = circle(&records, self.owner) else { return Ok(None) };
        let edge = |step: &record::Wait| DeadlockEdge {
            waiter: TxnId(step.waiter.owner.session),
            holder: TxnId(step.holder.session),
            key: keys.get(step.lock).cloned().unwrap_or_default(),
            strength: step.waiter.strength(),
        };
        Ok(Some(steps.iter().map(edge).collect()))
    }
}
