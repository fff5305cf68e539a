//! The first phase of a commit: locks with values in them, checked against newer versions.
//!
//! - An optimistic mutation, and a pessimistic one with [`Action::Constraint`], conflicts with any
//!   version above the start timestamp, rollbacks and lock records too. Only these look at
//!   must-not-exist; with the other actions it is passed over in silence.
//! - [`Action::Pessimistic`] needs the transaction's own lock. If it was lost and nothing was
//!   written since the start, the prewrite goes on as if it had been there.
//! - Async commit and one-phase commit get the smallest commit timestamp above every read; above
//!   the client's limit they fall back to two phases (`min_commit_ts` zero).
//! - A repeated prewrite of a committed transaction is answered with its commit timestamp.
//! - If a foreign lock is in the way of any key, nothing at all is written.
//!
//! Assertions, generations (pipelined DML) and shared locks are left out.

use bytes::Bytes;

use super::key_table::{Change, Engine, Record, write_kind};
use super::model::{Abort, KeyError, Lock, LockInfo, LockKind, Reason, Ts, Write, WriteKind};
use super::read::raise;

/// What to do to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A value.
    Put,
    /// A removal.
    Delete,
    /// A record that it was locked.
    Lock,
    /// A value where none may be.
    Insert,
    /// Nothing; no value may be there.
    CheckNotExists,
}

/// What a pessimistic transaction expects of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// No lock; newer versions do not matter.
    Skip,
    /// Its own lock.
    Pessimistic,
    /// No lock; newer versions are conflicts.
    Constraint,
}

/// One key of a prewrite.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// What to do.
    pub op: Op,
    /// Where.
    pub key: Vec<u8>,
    /// The value.
    pub value: Bytes,
    /// What is expected, in a pessimistic transaction.
    pub action: Action,
    /// The lock's `for_update_ts` must be this.
    pub expected_for_update_ts: Option<Ts>,
}

/// A prewrite.
#[derive(Clone, Debug, Default)]
pub struct Prewrite {
    /// The keys.
    pub mutations: Vec<Mutation>,
    /// The key that decides.
    pub primary: Vec<u8>,
    /// Whose.
    pub start_ts: Ts,
    /// Of the locks, in milliseconds.
    pub ttl: u64,
    /// Keys of the transaction.
    pub txn_size: u64,
    /// Zero: optimistic.
    pub for_update_ts: Ts,
    /// The client's lower limit.
    pub min_commit_ts: Ts,
    /// The client's upper limit for computed commit timestamps; zero: none.
    pub max_commit_ts: Ts,
    /// All other keys of the transaction, for an async commit.
    pub secondaries: Option<Vec<Vec<u8>>>,
    /// Commit at once.
    pub one_pc: bool,
    /// Sent again after an answer was lost.
    pub is_retry: bool,
    /// Optimistic, and the client knows that no version is there.
    pub skips_checks: bool,
}

/// A prewrite's result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prewritten {
    /// What was in the way; then nothing was done.
    pub locks: Vec<LockInfo>,
    /// Of an async commit; zero: it fell back to two phases.
    pub min_commit_ts: Ts,
    /// When it was committed in one phase; zero: it was not.
    pub one_pc_commit_ts: Ts,
}

/// A prewrite on its way over the keys.
struct Pass<'a> {
    engine: &'a Engine,
    max_ts: &'a mut Ts,
    request: &'a Prewrite,
    is_retry: bool,
    /// These two are switched off by a fallback.
    is_async: bool,
    one_pc: bool,
    /// Locks to be written.
    locks: Vec<(Vec<u8>, Lock)>,
}

impl Engine {
    /// Locks all keys, or none.
    pub fn prewrite(
        &mut self,
        max_ts: &mut Ts,
        request: &Prewrite,
    ) -> Result<Prewritten, KeyError> {
        let is_finished = request.for_update_ts > 0 && self.table.is_finished(request.start_ts);
        let mut pass = Pass {
            engine: self,
            max_ts,
            request,
            is_retry: request.is_retry || is_finished,
            is_async: request.secondaries.is_some(),
            one_pc: request.one_pc,
            locks: Vec::new(),
        };
        let mut in_the_way = Vec::new();
        let mut min_commit_ts = 0;
        for mutation in &request.mutations {
            let error = match pass.key(mutation) {
                Ok(0) if pass.is_async || pass.one_pc => {
                    pass.fall_back();
                    min_commit_ts = 0;
                    continue;
                }
                Ok(ts) => {
                    min_commit_ts = if pass.is_two_phase() { 0 } else { ts.max(min_commit_ts) };
                    continue;
                }
                Err(error) => error,
            };
            if may_be_committed(&error)
                && let Record::Committed(commit_ts) =
                    pass.engine.table.record(&mutation.key, request.start_ts)
            {
                return Ok(pass.result(commit_ts));
            }
            match error {
                KeyError::CommitTsTooLarge(_) => {
                    pass.fall_back();
                    min_commit_ts = 0;
                }
                KeyError::Locked(info) => in_the_way.push(*info),
                error => return Err(error),
            }
        }
        if !in_the_way.is_empty() {
            return Ok(Prewritten { locks: in_the_way, ..Prewritten::default() });
        }
        let result = pass.result(min_commit_ts);
        let changes = changes(std::mem::take(&mut pass.locks), result.one_pc_commit_ts);
        self.table.apply(changes);
        Ok(result)
    }
}

impl Pass<'_> {
    /// Checks one key and keeps its lock; the smallest commit timestamp, zero if none was computed.
    fn key(&mut self, mutation: &Mutation) -> Result<Ts, KeyError> {
        let request = self.request;
        let is_pessimistic = request.for_update_ts > 0;
        if is_pessimistic && mutation.op == Op::CheckNotExists {
            let text = "cannot handle checkNotExists in pessimistic prewrite";
            return Err(KeyError::Abort(Abort::Other(text)));
        }
        if matches!(mutation.op, Op::Insert | Op::CheckNotExists) {
            raise(self.max_ts, request.start_ts);
        }
        let mut old = None;
        match self.engine.table.lock(&mutation.key) {
            Some(lock) => {
                self.check_lock(mutation, lock)?;
                if !lock.is_pessimistic() {
                    // Sent twice.
                    return Ok(if lock.async_commit { lock.min_commit_ts } else { 0 });
                }
                old = Some(lock);
            }
            None if is_pessimistic && mutation.action == Action::Pessimistic => {
                self.check_lost_lock(mutation)?;
            }
            None => {}
        }
        if self.checks_versions(mutation) {
            self.check_versions(mutation)?;
        }
        if mutation.op == Op::CheckNotExists {
            let above_start = request.min_commit_ts.max(request.start_ts + 1);
            return Ok(if self.is_two_phase() { 0 } else { above_start });
        }
        self.lock(mutation, old)
    }

    fn check_lock(&self, mutation: &Mutation, lock: &Lock) -> Result<(), KeyError> {
        let start_ts = self.request.start_ts;
        let is_pessimistic = self.request.for_update_ts > 0;
        let key = &mutation.key;
        let lost = || Abort::PessimisticLockNotFound { start_ts, key: key.clone() };
        if lock.start_ts != start_ts {
            let needs_own = is_pessimistic && mutation.action == Action::Pessimistic;
            if needs_own && !self.engine.says_locked_for_lost {
                return Err(KeyError::Abort(lost()));
            }
            let mut info = lock.info(key);
            if is_pessimistic {
                // A real store says so, and does not mean that the lock has expired.
                info.lock.ttl = 0;
            }
            return Err(KeyError::Locked(Box::new(info)));
        }
        if !lock.is_pessimistic() {
            return Ok(());
        }
        if !is_pessimistic {
            let abort = Abort::LockTypeNotMatch { start_ts, key: key.clone() };
            return Err(KeyError::Abort(abort));
        }
        match mutation.expected_for_update_ts {
            Some(expected) if expected != lock.for_update_ts => Err(KeyError::Abort(lost())),
            _ => Ok(()),
        }
    }

    fn check_lost_lock(&self, mutation: &Mutation) -> Result<(), KeyError> {
        let start_ts = self.request.start_ts;
        match self.engine.table.newest(&mutation.key, Ts::MAX) {
            Some((commit_ts, _)) if commit_ts >= start_ts => {
                let key = mutation.key.clone();
                Err(KeyError::Abort(Abort::PessimisticLockNotFound { start_ts, key }))
            }
            _ => Ok(()),
        }
    }

    fn checks_versions(&self, mutation: &Mutation) -> bool {
        if self.request.for_update_ts == 0 {
            return !self.request.skips_checks;
        }
        match mutation.action {
            Action::Pessimistic => false,
            Action::Skip => self.is_retry,
            Action::Constraint => true,
        }
    }

    fn check_versions(&self, mutation: &Mutation) -> Result<(), KeyError> {
        let request = self.request;
        let key = &mutation.key;
        let is_pessimistic = request.for_update_ts > 0;
        let mut until = Ts::MAX;
        while let Some((commit_ts, write)) = self.engine.table.newest(key, until) {
            if commit_ts == request.start_ts && write.reports_rollback() {
                return Err(self.conflict(key, commit_ts, write, Reason::SelfRolledBack));
            }
            let reason = match (is_pessimistic, mutation.action) {
                (false, _) => Some(Reason::Optimistic),
                (true, Action::Constraint) => Some(Reason::LazyUniquenessCheck),
                (true, _) => None,
            };
            match reason {
                Some(reason) if commit_ts > request.start_ts => {
                    return Err(self.conflict(key, commit_ts, write, reason));
                }
                _ => {}
            }
            if is_pessimistic && commit_ts > request.for_update_ts {
                if write.kind == WriteKind::Rollback {
                    until = commit_ts - 1;
                    continue;
                }
                let (start_ts, key) = (request.start_ts, key.clone());
                return Err(KeyError::Abort(Abort::PessimisticLockNotFound { start_ts, key }));
            }
            if matches!(mutation.op, Op::Insert | Op::CheckNotExists) {
                self.engine.table.must_not_exist(key, commit_ts, write)?;
            }
            return Ok(());
        }
        Ok(())
    }

    fn conflict(&self, key: &[u8], commit_ts: Ts, write: &Write, reason: Reason) -> KeyError {
        KeyError::WriteConflict {
            start_ts: self.request.start_ts,
            conflict_start_ts: write.start_ts,
            conflict_commit_ts: commit_ts,
            key: key.to_vec(),
            primary: self.request.primary.clone(),
            reason,
        }
    }

    fn lock(&mut self, mutation: &Mutation, old: Option<&Lock>) -> Result<Ts, KeyError> {
        let request = self.request;
        let kind = match mutation.op {
            Op::Put | Op::Insert => LockKind::Put,
            Op::Delete => LockKind::Delete,
            Op::Lock | Op::CheckNotExists => LockKind::Lock,
        };
        let mut lock = Lock {
            kind,
            primary: request.primary.clone(),
            start_ts: request.start_ts,
            ttl: old.map_or(0, |old| old.ttl).max(request.ttl),
            value: (kind == LockKind::Put).then(|| mutation.value.clone()),
            for_update_ts: old.map_or(0, |old| old.for_update_ts).max(request.for_update_ts),
            txn_size: request.txn_size,
            min_commit_ts: old.map_or(0, |old| old.min_commit_ts).max(request.min_commit_ts),
            async_commit: false,
            secondaries: Vec::new(),
            rollbacks: old.map(|old| old.rollbacks.clone()).unwrap_or_default(),
            with_conflict: false,
        };
        let mut result = Ok(0);
        if !self.is_two_phase() {
            let above = (*self.max_ts).max(request.start_ts).max(request.for_update_ts) + 1;
            let min_commit_ts = lock.min_commit_ts.max(above);
            if request.max_commit_ts > 0 && min_commit_ts > request.max_commit_ts {
                result = Err(KeyError::CommitTsTooLarge(min_commit_ts));
            } else {
                result = Ok(min_commit_ts);
                lock.min_commit_ts = min_commit_ts;
                lock.async_commit = self.is_async;
                if self.is_async && mutation.key == request.primary {
                    lock.secondaries = request.secondaries.clone().unwrap_or_default();
                }
            }
        }
        self.locks.push((mutation.key.clone(), lock));
        result
    }

    fn is_two_phase(&self) -> bool {
        !self.is_async && !self.one_pc
    }

    fn fall_back(&mut self) {
        self.is_async = false;
        self.one_pc = false;
    }

    fn result(&self, ts: Ts) -> Prewritten {
        Prewritten {
            locks: Vec::new(),
            min_commit_ts: if self.is_async { ts } else { 0 },
            one_pc_commit_ts: if self.one_pc { ts } else { 0 },
        }
    }
}

/// Whether the error may come from the transaction's own commit.
fn may_be_committed(error: &KeyError) -> bool {
    match error {
        KeyError::WriteConflict { start_ts, conflict_commit_ts, .. } => {
            conflict_commit_ts > start_ts
        }
        KeyError::Abort(Abort::PessimisticLockNotFound { .. })
        | KeyError::CommitTsTooLarge(_)
        | KeyError::Locked(_) => true,
        _ => false,
    }
}

fn changes(locks: Vec<(Vec<u8>, Lock)>, one_pc_commit_ts: Ts) -> Vec<Change> {
    let mut changes = Vec::new();
    for (key, lock) in locks {
        let Some(kind) = write_kind(lock.kind).filter(|_| one_pc_commit_ts > 0) else {
            changes.push(Change::Lock(key, lock));
            continue;
        };
        let write = Write {
            kind,
            start_ts: lock.start_ts,
            value: lock.value,
            is_protected: false,
            hides_rollback: false,
        };
        changes.push(Change::Write(key.clone(), one_pc_commit_ts, write));
        // The pessimistic lock, if there is one.
        changes.push(Change::Unlock(key, one_pc_commit_ts));
    }
    changes
}
