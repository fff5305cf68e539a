//! Taking locks and giving them back, for the sessions of one gateway.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_kv::{
    Answer, CommitFence, Error, Key, LockInfo, LockStrength, LockWait, Result as KvResult,
    SessionLock, SessionLocks, Span, TxnId, TxnOptions,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::time::Instant;

use crate::gateways::{Gateways, Lease};
use crate::records::{parse, to_json};
use crate::session_locks::deadlocks::{LONG_WAIT, Publisher, Search};
use crate::session_locks::record::{Entry, LockRecord, Owner};
use crate::system_keys::lock_record_key;

/// The longest pause between two looks at a lock that others hold.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The first pause.
const LOOK_FIRST: Duration = Duration::from_millis(5);
/// The longest pause once a session has waited long, is noted in the record and looks for circles.
const LOOK_LATE: Duration = Duration::from_secs(1);
/// How often the gateway's own waits for rows are looked at.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);
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
    /// How many requests of a session are under way, be they granted at once or not.
    asking: HashMap<TxnId, usize>,
}

impl Local {
    /// Forgets a session that neither holds a lock nor asks for one.
    fn forget_idle(&mut self, session: TxnId) {
        let is_idle = |holder: &Holder| holder.keys.is_empty() && !holder.is_about_to_ask;
        if !self.asking.contains_key(&session) && self.sessions.get(&session).is_some_and(is_idle) {
            self.sessions.remove(&session);
        }
    }

    /// The request for which the session has joined a transaction has begun, or is over.
    fn end_join(&mut self, session: TxnId) {
        if let Some(holder) = self.sessions.get_mut(&session) {
            holder.is_about_to_ask = false;
        }
    }
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
    /// The last transaction that runs in it.
    txn: TxnId,
    /// It has joined this transaction, and neither asked for a lock nor given one back since.
    is_about_to_ask: bool,
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
        tokio::spawn(publish_waits(Arc::downgrade(&locks)));
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
        let local = self.local.lock();
        if let Some(holder) = local.sessions.get(&session).filter(|one| !one.keys.is_empty()) {
            let is_kept = gateways.keeps(&holder.lease);
            return if is_kept { Ok(holder.lease.clone()) } else { Err(lost()) };
        }
        gateways.lease().ok_or_else(lost)
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
        let (mut waiting, mut search) = (None, Search::default());
        let mut pause = LOOK_FIRST;
        loop {
            let change = self.change(session, key)?;
            let mut freed = std::pin::pin!(used.of_key.freed.notified());
            freed.as_mut().enable();
            let is_long = began.elapsed() >= LONG_WAIT;
            let (gateways, owner) = (change.gateways.clone(), change.owner);
            if change.take(strength, lease.clone(), is_long, &self.runtime).await? {
                return Ok(true);
            }
            if wait != LockWait::Block {
                return Ok(false);
            }
            if is_long && let Some(circle) = search.look(&gateways, owner).await? {
                let cycle = circle.edges(|of| self.shown_number(of, owner.gateway));
                return Err(Error::Deadlock { cycle });
            }
            waiting.get_or_insert_with(|| Waiting::note(&self.local, lock, began));
            let left = timeout.map(|limit| limit.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Error::LockTimeout { key: key.to_vec() });
            }
            let _ = tokio::time::timeout(left.map_or(pause, |left| left.min(pause)), freed).await;
            pause = (pause * 2).min(if is_long { LOOK_LATE } else { LOOK_EVERY });
        }
    }

    /// The number of a session's transaction, by which a message names the session. A session of
    /// another gateway has its own number only.
    fn shown_number(&self, of: Owner, gateway: u64) -> TxnId {
        let session = TxnId(of.session);
        let local = self.local.lock();
        let holder = local.sessions.get(&session).filter(|_| of.gateway == gateway);
        holder.map_or(session, |holder| holder.txn)
    }

    /// Writes down for the other gateways which transactions here wait for rows.
    async fn publish(&self, publisher: &mut Publisher) -> KvResult<()> {
        let Some(gateways) = self.gateways.upgrade() else { return Ok(()) };
        let (sessions, waits_here) = {
            let local = self.local.lock();
            let owner = |session: &TxnId| Owner { gateway: gateways.id(), session: session.0 };
            let sessions = local.sessions.iter().map(|(id, holder)| (owner(id), holder.txn));
            let mut sessions: Vec<(Owner, TxnId)> = sessions.collect();
            sessions.sort_unstable();
            let is_long =
                |(_, _, since): &(Key, LockStrength, Instant)| since.elapsed() >= LONG_WAIT;
            (sessions, local.waiting.values().any(is_long))
        };
        publisher.publish(&gateways, &sessions, waits_here).await
    }
}

/// Works for as long as somebody has the locks.
async fn publish_waits(locks: Weak<SharedLocks>) {
    let mut publisher = Publisher::default();
    loop {
        tokio::time::sleep(PUBLISH_EVERY).await;
        let Some(locks) = locks.upgrade() else { return };
        if let Err(error) = locks.publish(&mut publisher).await {
            tracing::debug!(%error, "waits for rows could not be published");
        }
    }
}

impl SessionLocks for SharedLocks {
    fn join(&self, session: TxnId, txn: TxnId) -> Option<Arc<dyn CommitFence>> {
        let gateways = self.gateways.upgrade()?;
        let mut local = self.local.lock();
        // A session that has lost its locks stays bound to the lease that has ended.
        if let Some(holder) = local.sessions.get_mut(&session).filter(|one| !one.keys.is_empty()) {
            holder.txn = txn;
            holder.is_about_to_ask = true;
            return Some(holder.lease.clone());
        }
        let lease = gateways.lease()?;
        let holder =
            Holder { lease: lease.clone(), keys: BTreeMap::new(), txn, is_about_to_ask: true };
        local.sessions.insert(session, holder);
        Some(lease)
    }

    fn take<'a>(
        &'a self,
        lock: SessionLock<'a>,
        timeout: Option<Duration>,
    ) -> Answer<'a, KvResult<bool>> {
        // Before the first attempt: a lock that is being given back may be the session's last.
        let asking = Asking::note(&self.local, lock.session);
        Answer::wait(async move {
            let taken = self.take_or_wait(lock, timeout).await;
            drop(asking);
            taken
        })
    }

    fn keep(
        &self,
        session: TxnId,
        key: &[u8],
        strength: Option<LockStrength>,
    ) -> Answer<'static, ()> {
        let Ok(change) = self.change(session, key) else { return Answer::ready(()) };
        self.local.lock().end_join(session);
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

/// A request that is under way, for as long as this lives. Until then the session is not forgotten,
/// nor the transaction that runs in it.
struct Asking {
    local: Arc<Mutex<Local>>,
    session: TxnId,
}

impl Asking {
    fn note(local: &Arc<Mutex<Local>>, session: TxnId) -> Asking {
        let mut state = local.lock();
        *state.asking.entry(session).or_default() += 1;
        state.end_join(session);
        drop(state);
        Asking { local: local.clone(), session }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut local = self.local.lock();
        if let Some(requests) = local.asking.get_mut(&self.session) {
            *requests -= 1;
            if *requests == 0 {
                local.asking.remove(&self.session);
            }
        }
        // A session without locks is not kept in mind.
        local.forget_idle(self.session);
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
    ) -> KvResult<bool> {
        let turn = self.used.turn().await;
        let attempt = self.attempt(strength, lease, is_long, turn);
        runtime.spawn(attempt).await.unwrap_or_else(|_| Err(stopped()))
    }

    async fn attempt(
        self,
        strength: LockStrength,
        lease: Arc<Lease>,
        is_long: bool,
        _turn: OwnedMutexGuard<()>,
    ) -> KvResult<bool> {
        let request = Entry::new(self.owner, strength);
        let grant = |record: &mut LockRecord| {
            let is_granted = record.grant(request);
            if !is_granted && is_long {
                record.wait(request);
            }
            is_granted
        };
        let is_granted = self.transact(Some(&lease), grant).await?;
        if is_granted {
            let mut local = self.used.local.lock();
            let new = || Holder {
                lease: lease.clone(),
                keys: BTreeMap::new(),
                txn: self.session,
                is_about_to_ask: false,
            };
            let holder = local.sessions.entry(self.session).or_insert_with(new);
            if holder.keys.is_empty() {
                holder.lease = lease;
            }
            let held = holder.keys.entry(self.used.key.clone()).or_insert(strength);
            *held = strength.max(*held);
        }
        Ok(is_granted)
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
        }
        local.forget_idle(self.session);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last lock of a session may come back to others while the session asks for another one.
    #[test]
    fn a_session_that_asks_keeps_its_transaction() {
        let session = TxnId(1);
        let local: Arc<Mutex<Local>> = Arc::default();
        let lease = Lease::new(1);
        let holder = Holder { lease, keys: BTreeMap::new(), txn: TxnId(7), is_about_to_ask: true };
        local.lock().sessions.insert(session, holder);
        let forget = || {
            let mut local = local.lock();
            local.forget_idle(session);
            local.sessions.get(&session).map(|holder| holder.txn)
        };
        assert_eq!(forget(), Some(TxnId(7)), "it has joined for a request");
        let first = Asking::note(&local, session);
        let second = Asking::note(&local, session);
        assert_eq!(forget(), Some(TxnId(7)));
        drop(first);
        assert_eq!(forget(), Some(TxnId(7)), "another request is under way");
        drop(second);
        let local = local.lock();
        assert!(local.sessions.is_empty());
        assert!(local.asking.is_empty());
    }
}
