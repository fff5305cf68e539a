//! Stores that do not serve, as requests find it: what `/health` tells, and the lines of the log.
//!
//! A store that misses a request now and then is a cluster's daily life. It is in trouble once an
//! operation has been repeated for [`LASTING`], and no longer when it answers, or when nobody has
//! missed it for [`LAPSE`]: its regions are led by others by then.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// An operation is repeated so long before its store is said to be in trouble.
pub(crate) const LASTING: Duration = Duration::from_secs(3);
/// A trouble that nobody has met for so long is over.
const LAPSE: Duration = Duration::from_secs(10);
/// What goes on is said again after this.
pub(crate) const SAID_AGAIN: Duration = Duration::from_secs(10);

struct Trouble {
    why: String,
    met: Instant,
    said: Instant,
}

/// The stores in trouble, by their number.
#[derive(Default)]
pub(crate) struct Troubles {
    any: AtomicBool,
    by_store: Mutex<BTreeMap<u64, Trouble>>,
}

impl Troubles {
    /// A store has not served for a while.
    pub fn note(&self, store: u64, why: &str) {
        let now = Instant::now();
        let mut by_store = self.by_store.lock();
        let known = by_store.remove(&store).filter(|known| known.met + LAPSE > now);
        let said = known.map(|known| known.said).filter(|said| *said + SAID_AGAIN > now);
        if said.is_none() {
            tracing::warn!(store, why, "a store of the cluster does not serve; trying again");
        }
        let trouble = Trouble { why: why.to_owned(), met: now, said: said.unwrap_or(now) };
        by_store.insert(store, trouble);
        self.any.store(true, Relaxed);
    }

    /// A store has answered.
    pub fn clear(&self, store: u64) {
        if !self.any.load(Relaxed) {
            return;
        }
        let mut by_store = self.by_store.lock();
        if by_store.remove(&store).is_some() {
            tracing::info!(store, "a store of the cluster serves again");
        }
        self.any.store(!by_store.is_empty(), Relaxed);
    }

    /// What is wrong now.
    pub fn newest(&self) -> Option<String> {
        if !self.any.load(Relaxed) {
            return None;
        }
        let now = Instant::now();
        let mut by_store = self.by_store.lock();
        by_store.retain(|_, trouble| trouble.met + LAPSE > now);
        self.any.store(!by_store.is_empty(), Relaxed);
        let newest = by_store.iter().max_by_key(|(_, trouble)| trouble.met);
        newest.map(|(_, trouble)| trouble.why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_the_trouble_of_its_store() {
        let troubles = Troubles::default();
        assert_eq!(troubles.newest(), None);
        troubles.note(1, "store 1: gone");
        troubles.note(2, "store 2: gone");
        troubles.clear(2);
        assert_eq!(troubles.newest().as_deref(), Some("store 1: gone"));
        troubles.clear(1);
        assert_eq!(troubles.newest(), None);
    }
}
