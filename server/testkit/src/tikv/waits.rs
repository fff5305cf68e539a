//! Who waits for which lock, and circles among them.
//!
//! - When a lock goes, the waiter with the smallest start timestamp is woken, not the one that came
//!   first. A waiter of the old kind is told of a conflict and has to ask again, and the others of
//!   its key are told so a moment later; one that may lock with conflicts tries again at once.
//! - Who would close a circle by waiting is refused: the request that comes last is the victim.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::oneshot;

use super::engine::{Engine, KeyError, Reason, Released, Ts};

/// Somebody who waits.
#[derive(Debug)]
struct Waiter {
    number: u64,
    start_ts: Ts,
    primary: Vec<u8>,
    /// It says that it holds no lock; then nobody looks for circles through it.
    is_first_lock: bool,
    allows_conflict: bool,
    wake: oneshot::Sender<Wake>,
}

/// What a waiter is told.
#[derive(Debug)]
pub enum Wake {
    /// To ask again, with a newer timestamp.
    Conflict(KeyError),
    /// To try again.
    Again,
}

/// Somebody who wants to wait.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Who.
    pub start_ts: Ts,
    /// Its primary.
    pub primary: &'a [u8],
    /// It says that it holds no lock.
    pub is_first_lock: bool,
    /// It may lock with conflicts.
    pub allows_conflict: bool,
}

/// All waiters by key.
#[derive(Debug, Default)]
pub struct Waits {
    queues: BTreeMap<Vec<u8>, Vec<Waiter>>,
    last_number: u64,
}

impl Waits {
    /// Waits for a key that another transaction holds; the place in the queue. Refused if that
    /// would close a circle.
    pub fn enqueue(
        &mut self,
        engine: &Engine,
        asker: Asker<'_>,
        key: &[u8],
        holder: Ts,
    ) -> Result<(u64, oneshot::Receiver<Wake>), KeyError> {
        if !asker.is_first_lock
            && let Some(mut chain) = self.path(engine, holder, asker.start_ts)
        {
            chain.push((asker.start_ts, holder, key.to_vec()));
            return Err(KeyError::Deadlock { lock_ts: holder, key: key.to_vec(), chain });
        }
        self.last_number += 1;
        let (wake, woken) = oneshot::channel();
        self.queues.entry(key.to_vec()).or_default().push(Waiter {
            number: self.last_number,
            start_ts: asker.start_ts,
            primary: asker.primary.to_vec(),
            is_first_lock: asker.is_first_lock,
            allows_conflict: asker.allows_conflict,
            wake,
        });
        Ok((self.last_number, woken))
    }

    /// Leaves the queue.
    pub fn leave(&mut self, key: &[u8], number: u64) {
        if let Some(queue) = self.queues.get_mut(key) {
            queue.retain(|waiter| waiter.number != number);
            if queue.is_empty() {
                self.queues.remove(key);
            }
        }
    }

    /// A lock has gone: wakes the first. True if [`Waits::wake_all`] is to follow in a moment.
    pub fn wake_first(&mut self, released: &Released) -> bool {
        match self.pop(&released.key) {
            Some(waiter) if waiter.allows_conflict => {
                let _ = waiter.wake.send(Wake::Again);
                false
            }
            Some(waiter) => {
                tell_conflict(waiter, released);
                self.queues.contains_key(&released.key)
            }
            None => false,
        }
    }

    /// The moment is over: wakes the others, up to the first that may lock with conflicts.
    pub fn wake_all(&mut self, released: &Released) {
        while let Some(waiter) = self.pop(&released.key) {
            if waiter.allows_conflict {
                let _ = waiter.wake.send(Wake::Again);
                return;
            }
            tell_conflict(waiter, released);
        }
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.queues.values().map(Vec::len).sum()
    }

    fn pop(&mut self, key: &[u8]) -> Option<Waiter> {
        let queue = self.queues.get_mut(key)?;
        let first = (0..queue.len()).min_by_key(|at| queue[*at].start_ts)?;
        let waiter = queue.remove(first);
        if queue.is_empty() {
            self.queues.remove(key);
        }
        Some(waiter)
    }

    /// Who waits for whom, from one transaction to another.
    fn path(&self, engine: &Engine, from: Ts, to: Ts) -> Option<Vec<(Ts, Ts, Vec<u8>)>> {
        let mut edges: BTreeMap<Ts, Vec<(Ts, &Vec<u8>)>> = BTreeMap::new();
        for (key, queue) in &self.queues {
            let Some(holder) = engine.holder(key) else { continue };
            for waiter in queue.iter().filter(|waiter| !waiter.is_first_lock) {
                edges.entry(waiter.start_ts).or_default().push((holder.start_ts, key));
            }
        }
        let mut seen = BTreeSet::from([from]);
        let mut paths = vec![(from, Vec::new())];
        while let Some((at, path)) = paths.pop() {
            for (next, key) in edges.get(&at).into_iter().flatten() {
                let mut path: Vec<(Ts, Ts, Vec<u8>)> = path.clone();
                path.push((at, *next, (*key).clone()));
                if *next == to {
                    return Some(path);
                }
                if seen.insert(*next) {
                    paths.push((*next, path));
                }
            }
        }
        None
    }
}

fn tell_conflict(waiter: Waiter, released: &Released) {
    let _ = waiter.wake.send(Wake::Conflict(KeyError::WriteConflict {
        start_ts: waiter.start_ts,
        conflict_start_ts: released.start_ts,
        conflict_commit_ts: released.commit_ts,
        key: released.key.clone(),
        primary: waiter.primary,
        reason: Reason::PessimisticRetry,
    }));
}
