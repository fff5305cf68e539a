//! Taking advisory locks and giving them back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_codec::key::AdvisoryKey;
use braid_kv::{
    Answer, Database, Error as Kv, LockStrength, LockWait, Seq, SessionLock, Transaction, TxnId,
};
use braid_types::{Error, Result, SqlState};
use parking_lot::{Mutex, MutexGuard};

use crate::advisory::ledger::Ledger;
use crate::errors::from_kv;

/// The advisory locks of one session.
pub struct AdvisoryLocks {
    kv: Database,
    /// The number under which the store keeps them.
    session: TxnId,
    /// The session has taken a lock, ever: the others pay nothing.
    is_used: AtomicBool,
    held: Mutex<Held>,
    warnings: Mutex<Vec<Error>>,
    /// Locks on their way back to others.
    leaving: Mutex<Vec<Answer<'static, ()>>>,
}

#[derive(Default)]
struct Held {
    ledger: Ledger,
    /// What the store keeps.
    granted: HashMap<AdvisoryKey, LockStrength>,
    /// The store keeps more than is counted, for a statement that runs again.
    has_spare: bool,
    /// The session has ended.
    is_over: bool,
}

impl Held {
    fn note_granted(&mut self, key: AdvisoryKey, strength: LockStrength) -> Result<()> {
        if self.is_over {
            // A statement beside the session, whose task has not ended yet.
            return Err(from_kv(Kv::Cancelled));
        }
        let granted = self.granted.entry(key).or_insert(strength);
        *granted = strength.max(*granted);
        Ok(())
    }
}

/// A lock that is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub key: AdvisoryKey,
    pub strength: LockStrength,
    pub in_transaction: bool,
    pub no_wait: bool,
}

impl AdvisoryLocks {
    /// None yet, of a session of this database.
    pub fn new(kv: Database) -> AdvisoryLocks {
        let session = kv.new_session();
        AdvisoryLocks {
            kv,
            session,
            is_used: AtomicBool::new(false),
            held: Mutex::default(),
            warnings: Mutex::default(),
            leaving: Mutex::default(),
        }
    }

    /// The number under which the store keeps them.
    pub fn session(&self) -> TxnId {
        self.session
    }

    /// Takes a lock; false if another session holds it and the call does not wait. `shown` makes
    /// the client's error of the store's.
    pub(crate) async fn take(
        &self,
        txn: &Transaction,
        seq: Seq,
        wanted: Wanted,
        shown: impl Fn(Kv) -> Error,
    ) -> Result<bool> {
        let Wanted { key, strength, .. } = wanted;
        self.is_used.store(true, Ordering::Release);
        if self.held.lock().ledger.holds(key, strength) {
            self.count(seq, wanted);
            return Ok(true);
        }
        let bytes = key.encode();
        let mut lock = SessionLock {
            session: self.session,
            key: &bytes,
            strength,
            wait: LockWait::SkipLocked,
        };
        let mut given_up = GivenUp { locks: self, key, is_over: false };
        let is_granted = txn.locks().take_for_session(lock).await.map_err(&shown)?;
        if !is_granted {
            if wanted.no_wait {
                given_up.is_over = true;
                return Ok(false);
            }
            lock.wait = LockWait::Block;
            txn.locks().take_for_session(lock).await.map_err(&shown)?;
        }
        self.held.lock().note_granted(key, strength)?;
        given_up.is_over = true;
        drop(given_up);
        self.count(seq, wanted);
        if !is_granted && !txn.is_read_only() {
            // What the lock protects was changed by those before. A transaction that cannot see it
            // goes on with the old snapshot, which the commit proves.
            let _ = txn.snapshots().refresh().await;
        }
        Ok(true)
    }

    fn count(&self, seq: Seq, wanted: Wanted) {
        let Wanted { key, strength, in_transaction, .. } = wanted;
        self.held.lock().ledger.take(seq.number(), key, strength, in_transaction);
    }

    /// Gives back one lock of the session; a warning and false if there is none.
    pub(crate) fn release(&self, seq: Seq, key: AdvisoryKey, strength: LockStrength) -> bool {
        let mut held = self.held.lock();
        let is_held = held.ledger.release(seq.number(), key, strength);
        if is_held {
            self.settle(&mut held, key);
            return true;
        }
        let mode = match strength {
            LockStrength::Shared => "ShareLock",
            LockStrength::Exclusive => "ExclusiveLock",
        };
        let message = format!("you don't own a lock of type {mode}");
        self.warnings.lock().push(Error::new(SqlState::Warning, message));
        false
    }

    /// Gives back all locks of the session.
    pub(crate) fn release_all(&self, seq: Seq) {
        if let Some(mut held) = self.used() {
            held.ledger.release_all(seq.number());
            self.settle_all(&mut held);
        }
    }

    /// `DISCARD ALL`, outside of any statement.
    pub fn discard(&self) {
        if let Some(mut held) = self.used() {
            held.ledger.release_all(0);
            self.settle_all(&mut held);
        }
    }

    /// Warnings for the client, once.
    pub fn take_warnings(&self) -> Vec<Error> {
        std::mem::take(&mut *self.warnings.lock())
    }

    /// Whether the transaction holds any, besides those of the session.
    pub fn has_transaction_locks(&self) -> bool {
        self.used().is_some_and(|held| held.ledger.has_transaction_locks())
    }

    /// The modes in which a lock is held.
    pub fn modes(&self, key: AdvisoryKey) -> Vec<LockStrength> {
        let held = self.held.lock();
        let modes = [LockStrength::Shared, LockStrength::Exclusive];
        modes.into_iter().filter(|strength| held.ledger.holds(key, *strength)).collect()
    }

    /// A transaction begins, be it another attempt. The search for deadlocks takes it and its
    /// session for one.
    pub fn begin(&self, txn: &Transaction) -> Result<()> {
        let Some(mut held) = self.used() else { return Ok(()) };
        held.ledger.begin_transaction();
        match held.granted.is_empty() {
            true => Ok(()),
            false => txn.locks().join_session(self.session).map_err(from_kv),
        }
    }

    /// The transaction has ended, with its locks.
    pub fn end_transaction(&self) {
        if let Some(mut held) = self.used() {
            let is_touched = held.ledger.is_touched() || held.has_spare;
            held.ledger.end_transaction();
            if is_touched {
                self.settle_all(&mut held);
            }
        }
    }

    /// Sets the number of savepoints, after another one was set.
    pub fn savepoint(&self, depth: usize) {
        self.held.lock().ledger.deepen(depth);
    }

    /// Savepoints were released; `depth` of them are left.
    pub fn release_savepoints(&self, depth: usize) {
        self.held.lock().ledger.merge_down_to(depth);
    }

    /// A failure, or ROLLBACK TO SAVEPOINT: what was taken at this depth or deeper is given back.
    pub fn roll_back_from(&self, depth: usize) {
        if let Some(mut held) = self.used() {
            held.ledger.drop_from(depth);
            self.settle_all(&mut held);
        }
    }

    /// Whether a statement, or everything since the transaction began, may run again. A deadlock
    /// would come again as long as the session keeps older locks.
    pub fn may_run_again(&self, statement: Option<Seq>, error: &Error) -> bool {
        let Some(held) = self.used() else { return true };
        let is_deadlock = matches!(error.cause(), Some(Kv::Deadlock { .. }));
        held.ledger.can_undo(statement.map(Seq::number))
            && !(is_deadlock && held.ledger.has_older())
    }

    /// The statement is going to run again: its counts go, the locks stay for the next attempt.
    pub fn undo_statement(&self, statement: Seq) {
        if let Some(mut held) = self.used() {
            held.ledger.undo(Some(statement.number()));
            held.has_spare = true;
        }
    }

    /// The statement has run again: what its last attempt has not taken is given back.
    pub fn settle_statement(&self) {
        if let Some(mut held) = self.used().filter(|held| held.has_spare) {
            self.settle_all(&mut held);
        }
    }

    /// The transaction is going to run again: what it took is given back.
    pub fn undo_transaction(&self) {
        if let Some(mut held) = self.used() {
            held.ledger.undo(None);
            held.ledger.end_transaction();
            self.settle_all(&mut held);
        }
    }

    /// The session ends.
    pub fn end_session(&self) {
        if let Some(mut held) = self.used() {
            let before = std::mem::replace(&mut *held, Held { is_over: true, ..Held::default() });
            before.granted.keys().for_each(|key| self.keep(*key, None));
            drop(self.kv.store().release(self.session));
        }
    }

    fn used(&self) -> Option<MutexGuard<'_, Held>> {
        self.is_used.load(Ordering::Acquire).then(|| self.held.lock())
    }

    /// Leaves the store with what the ledger needs.
    fn settle(&self, held: &mut Held, key: AdvisoryKey) {
        let needed = held.ledger.needed(key);
        if held.granted.get(&key).copied() == needed {
            return;
        }
        match needed {
            Some(strength) => held.granted.insert(key, strength),
            None => held.granted.remove(&key),
        };
        self.keep(key, needed);
    }

    fn settle_all(&self, held: &mut Held) {
        held.has_spare = false;
        let keys: Vec<AdvisoryKey> = held.granted.keys().copied().collect();
        for key in keys {
            self.settle(held, key);
        }
    }

    fn keep(&self, key: AdvisoryKey, strength: Option<LockStrength>) {
        if let Some(locks) = self.kv.session_locks() {
            let answer = locks.keep(self.session, &key.encode(), strength);
            if matches!(answer, Answer::Wait(_)) {
                self.leaving.lock().push(answer);
            }
        }
    }

    /// Waits until others can have what was given back.
    pub async fn given_back(&self) {
        if self.is_used.load(Ordering::Acquire) {
            let leaving = std::mem::take(&mut *self.leaving.lock());
            for answer in leaving {
                answer.await;
            }
        }
    }
}

/// A request that was given up, by an error or because nobody waits for it any more: what the
/// store may have granted at the last moment goes back.
struct GivenUp<'a> {
    locks: &'a AdvisoryLocks,
    key: AdvisoryKey,
    /// It was granted, or refused at once.
    is_over: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let held = self.locks.held.lock();
        self.locks.keep(self.key, held.granted.get(&self.key).copied());
    }
}
