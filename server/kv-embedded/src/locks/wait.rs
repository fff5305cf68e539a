//! Lock requests: taking what is free, waiting for the rest, giving up.

use super::{
    held_locks::{Target, conflicts},
    table::Table,
};
use braid_kv::{Error, Histogram, LockInfo, LockStrength, LockWait, Result, TxnId};
use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Locks that are taken or released under one hold of the mutex: others need it between two
/// portions of a large transaction.
const PORTION: usize = 512;

/// All locks of the store.
pub(crate) struct LockManager {
    table: Mutex<Table>,
    locks_max: usize,
    /// How long each request waited that had to, in nanoseconds.
    pub(crate) wait_nanos: Histogram,
}

/// One transaction's request.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) txn: TxnId,
    pub(crate) strength: LockStrength,
    pub(crate) wait: LockWait,
    pub(crate) timeout: Option<Duration>,
}

/// How far one pass over the targets has come.
enum Pass {
    Done,
    /// The target at this place has to be waited for.
    Blocked(usize, u64, oneshot::Receiver<Result<()>>),
}

impl LockManager {
    pub(crate) fn new(locks_max: usize) -> LockManager {
        LockManager {
            table: Mutex::new(Table::default()),
            locks_max,
            wait_nanos: Histogram::default(),
        }
    }

    /// Locks `targets` in the given order, which is the caller's to sort. Returns which of them
    /// are locked: all, unless the request skips locked ones.
    pub(crate) async fn take(&self, request: Request, targets: &[Target]) -> Result<Vec<bool>> {
        let mut granted = vec![true; targets.len()];
        let mut next = 0;
        loop {
            match self.pass(request, targets, &mut next, &mut granted)? {
                Pass::Done => return Ok(granted),
                Pass::Blocked(at, ticket, receiver) => {
                    self.wait(request, &targets[at], ticket, receiver).await?;
                    next = at + 1;
                }
            }
        }
    }

    /// Takes what is free. False if something has to be waited for, in which case nothing of the
    /// rest was asked for yet.
    pub(crate) fn take_now(
        &self,
        txn: TxnId,
        targets: impl Iterator<Item = Target>,
    ) -> Result<bool> {
        let mut targets = targets.peekable();
        while targets.peek().is_some() {
            let mut table = self.table.lock();
            for target in targets.by_ref().take(PORTION) {
                self.check_limit(&table)?;
                if !table.try_take(txn, &target, LockStrength::Exclusive) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn pass(
        &self,
        request: Request,
        targets: &[Target],
        next: &mut usize,
        granted: &mut [bool],
    ) -> Result<Pass> {
        let Request { txn, strength, wait, .. } = request;
        let mut table = self.table.lock();
        while let Some(target) = targets.get(*next) {
            if *next > 0 && next.is_multiple_of(PORTION) {
                MutexGuard::bump(&mut table);
            }
            self.check_limit(&table)?;
            if !table.try_take(txn, target, strength) {
                match wait {
                    LockWait::SkipLocked => granted[*next] = false,
                    LockWait::NoWait => {
                        return Err(Error::LockNotAvailable { key: target.start().to_vec() });
                    }
                    LockWait::Block => {
                        let (ticket, receiver) = table.join(txn, target, strength);
                        return Ok(Pass::Blocked(*next, ticket, receiver));
                    }
                }
            }
            *next += 1;
        }
        Ok(Pass::Done)
    }

    fn check_limit(&self, table: &Table) -> Result<()> {
        if table.held.count() < self.locks_max {
            return Ok(());
        }
        Err(Error::LimitExceeded { name: "locks_max", limit: self.locks_max as u64 })
    }

    async fn wait(
        &self,
        request: Request,
        target: &Target,
        ticket: u64,
        receiver: oneshot::Receiver<Result<()>>,
    ) -> Result<()> {
        let place = Place { manager: self, ticket, since: Instant::now() };
        let answer = match request.timeout {
            None => receiver.await,
            Some(limit) => match tokio::time::timeout(limit, receiver).await {
                Ok(answer) => answer,
                Err(_) => return Err(Error::LockTimeout { key: target.start().to_vec() }),
            },
        };
        drop(place);
        answer.unwrap_or(Err(Error::Cancelled))
    }

    /// Whether another session waits for a lock on this key that conflicts with `strength`.
    pub(super) fn is_wanted(&self, session: TxnId, key: &[u8], strength: LockStrength) -> bool {
        let table = self.table.lock();
        let tickets = table.tickets_over(&Target::Key(key.into()));
        let mut waiters = tickets.iter().filter_map(|ticket| table.waiters.get(ticket));
        waiters.any(|other| other.txn != session && conflicts(other.strength, strength))
    }

    /// Looks at the table, or changes it.
    pub(super) fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        work(&mut self.table.lock())
    }

    /// Ends a transaction: releases what it holds, cancels what it waits for.
    pub(crate) fn release(&self, txn: TxnId) {
        while !self.table.lock().release(txn, PORTION) {}
    }

    /// Parts a transaction that keeps its locks from its session, in which others begin.
    pub(crate) fn part(&self, txn: TxnId) {
        self.with_table(|table| table.pairs.part(txn));
    }

    /// Everything held and awaited, in key order.
    pub(crate) fn list(&self) -> Vec<LockInfo> {
        self.table.lock().list()
    }

    /// Everything awaited, in key order.
    pub(crate) fn awaited(&self) -> Vec<LockInfo> {
        self.table.lock().awaited()
    }

    /// How many locks are held, how many requests wait, and how many deadlocks there were.
    pub(crate) fn counts(&self) -> (usize, usize, u64) {
        let table = self.table.lock();
        (table.held.count(), table.waiters.len(), table.deadlocks)
    }
}

/// A place in a queue; leaving it gives it up. A lock that was granted meanwhile stays with the
/// transaction until its end.
struct Place<'a> {
    manager: &'a LockManager,
    ticket: u64,
    since: Instant,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.manager.wait_nanos.observe(nanos);
        self.manager.table.lock().refuse(self.ticket, Error::Cancelled);
    }
}
