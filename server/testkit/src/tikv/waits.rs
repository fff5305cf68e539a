//! Who waits for which lock, and circles among them.
//!
//! - When a lock goes, the waiter with the smallest start timestamp is woken, not the one that came
//!   first. A waiter of the old kind is told of a conflict and has to ask again, and the others of
//!   its key are told so a moment later; one that may lock with conflicts tries again at once.
//! - Who would close a circle by waiting is refused: the request that comes last is the victim.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::oneshot;

use crate::tikv::engine::{Engine, KeyError, Reason, Released, Ts};

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
pub(super) enum Wake {
    /// To give up: to ask again with a newer timestamp, or because of a circle.
    Refused(KeyError),
    /// To try again.
    Again,
}

/// Somebody who wants to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
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
pub(super) struct Waits {
    queues: BTreeMap<Vec<u8>, Vec<Waiter>>,
    last_number: u64,
}

impl Waits {
    /// Waits for a key that another transaction holds; the place in the queue. Refused if that
    /// would close a circle.
    pub(super) fn enqueue(
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

    /// Another transaction holds the key now: refuses those whose wait has become part of a circle.
    pub(super) fn holder_changed(&mut self, engine: &Engine, key: &[u8]) {
        let Some(holder) = engine.table.holder(key).map(|lock| lock.start_ts) else { return };
        let Some(queue) = self.queues.get(key) else { return };
        let asks: Vec<_> = queue
            .iter()
            .filter(|waiter| !waiter.is_first_lock)
            .map(|waiter| (waiter.number, waiter.start_ts))
            .collect();
        for (number, start_ts) in asks {
            let Some(mut chain) = self.path(engine, holder, start_ts) else { continue };
            chain.push((start_ts, holder, key.to_vec()));
            let error = KeyError::Deadlock { lock_ts: holder, key: key.to_vec(), chain };
            if let Some(waiter) = self.take(key, number) {
                let _ = waiter.wake.send(Wake::Refused(error));
            }
        }
    }

    /// Leaves the queue.
    pub(super) fn leave(&mut self, key: &[u8], number: u64) {
        self.take(key, number);
    }

    /// A lock has gone: wakes the first. True if [`Waits::wake_all`] is to follow in a moment.
    pub(super) fn wake_first(&mut self, released: &Released) -> bool {
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
    pub(super) fn wake_all(&mut self, released: &Released) {
        while let Some(waiter) = self.pop(&released.key) {
            if waiter.allows_conflict {
                let _ = waiter.wake.send(Wake::Again);
                return;
            }
            tell_conflict(waiter, released);
        }
    }

    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.queues.values().map(Vec::len).sum()
    }

    fn pop(&mut self, key: &[u8]) -> Option<Waiter> {
        let queue = self.queues.get(key)?;
        let number = queue.iter().min_by_key(|waiter| waiter.start_ts)?.number;
        self.take(key, number)
    }

    fn take(&mut self, key: &[u8], number: u64) -> Option<Waiter> {
        let queue = self.queues.get_mut(key)?;
        let at = queue.iter().position(|waiter| waiter.number == number)?;
        let waiter = queue.remove(at);
        if queue.is_empty() {
            self.queues.remove(key);
        }
        Some(waiter)
    }

    /// Who waits for whom, from one transaction to another.
    fn path(&self, engine: &Engine, from: Ts, to: Ts) -> Option<Vec<(Ts, Ts, Vec<u8>)>> {
        let mut edges: BTreeMap<Ts, Vec<(Ts, &Vec<u8>)>> = BTreeMap::new();
        for (key, queue) in &self.queues {
            let Some(holder) = engine.table.holder(key) else { continue };
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
    let _ = waiter.wake.send(Wake::Refused(KeyError::WriteConflict {
        start_ts: waiter.start_ts,
        conflict_start_ts: released.start_ts,
        conflict_commit_ts: released.commit_ts,
        key: released.key.clone(),
        primary: waiter.primary,
        reason: Reason::PessimisticRetry,
    }));
}

#[cfg(test)]
mod tests {
    use super::super::engine::Acquire;
    use super::*;

    fn lock(engine: &mut Engine, key: &str, start_ts: Ts) {
        let keys = vec![(key.into(), false)];
        let request = Acquire { keys, start_ts, for_update_ts: start_ts, ..Acquire::default() };
        engine.acquire(&mut 0, &request).expect("nobody has it");
    }

    fn wait(
        waits: &mut Waits,
        engine: &Engine,
        key: &str,
        start_ts: Ts,
    ) -> Result<oneshot::Receiver<Wake>, KeyError> {
        let asker = Asker { start_ts, primary: b"p", is_first_lock: false, allows_conflict: true };
        let holder = engine.table.holder(key.as_bytes()).expect("somebody has it").start_ts;
        waits.enqueue(engine, asker, key.as_bytes(), holder).map(|(_, woken)| woken)
    }

    #[test]
    fn the_one_that_started_first_is_woken_first() {
        let (mut waits, mut engine) = (Waits::default(), Engine::default());
        lock(&mut engine, "k", 10);
        let [mut young, mut old, mut middle] = [40, 20, 30]
            .map(|start_ts| wait(&mut waits, &engine, "k", start_ts).expect("no circle"));
        let released = Released { key: b"k".to_vec(), start_ts: 10, commit_ts: 0 };
        for woken in [&mut old, &mut middle, &mut young] {
            assert!(woken.try_recv().is_err());
            assert!(!waits.wake_first(&released));
            assert!(matches!(woken.try_recv(), Ok(Wake::Again)));
        }
        assert_eq!(waits.count(), 0);
    }

    #[test]
    fn circles_are_found_when_they_close_and_when_a_holder_changes() {
        let (mut waits, mut engine) = (Waits::default(), Engine::default());
        for (key, start_ts) in [("a", 1), ("b", 2), ("c", 3)] {
            lock(&mut engine, key, start_ts);
        }
        let _one = wait(&mut waits, &engine, "b", 1).expect("no circle");
        let _two = wait(&mut waits, &engine, "c", 2).expect("no circle");
        let error = wait(&mut waits, &engine, "a", 3).expect_err("a circle of three");
        let KeyError::Deadlock { lock_ts, chain, .. } = error else { panic!("{error:?}") };
        let told: Vec<_> = chain.iter().map(|(from, to, _)| (*from, *to)).collect();
        assert_eq!((lock_ts, told), (1, vec![(1, 2), (2, 3), (3, 1)]));
        // 5 waits for 4, which gives its lock to 6; that one waits for 5.
        for (key, start_ts) in [("d", 4), ("e", 5)] {
            lock(&mut engine, key, start_ts);
        }
        let mut five = wait(&mut waits, &engine, "d", 5).expect("no circle");
        let _six = wait(&mut waits, &engine, "e", 6).expect("no circle");
        engine.release(4, 4, &[b"d".to_vec()]);
        lock(&mut engine, "d", 6);
        waits.holder_changed(&engine, b"d");
        assert!(matches!(five.try_recv(), Ok(Wake::Refused(KeyError::Deadlock { .. }))));
    }
}
