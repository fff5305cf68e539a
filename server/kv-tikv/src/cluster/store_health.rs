//! Stores that do not serve, as requests find them, for `/health` and for the log.
//!
//! A single failed request is normal. A store is in trouble once an operation has been repeated for
//! [`REPORT_AFTER`]. The trouble ends when the store answers, or when no request has failed for
//! [`FORGET_AFTER`]: other stores lead its regions by then.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How long an operation is repeated before its store counts as in trouble.
pub(crate) const REPORT_AFTER: Duration = Duration::from_secs(3);
/// How long a trouble lasts after the last failed request.
const FORGET_AFTER: Duration = Duration::from_secs(10);
/// Pause between log lines about the same trouble.
pub(crate) const LOG_INTERVAL: Duration = Duration::from_secs(10);

struct Trouble {
    why: String,
    met: Instant,
    logged: Instant,
}

/// The stores in trouble, by their number.
#[derive(Default)]
pub(crate) struct StoreHealth {
    any: AtomicBool,
    by_store: Mutex<BTreeMap<u64, Trouble>>,
}

impl StoreHealth {
    /// A store has not served for a while.
    pub(crate) fn note(&self, store: u64, why: &str) {
        let now = Instant::now();
        let mut by_store = self.by_store.lock();
        let known = by_store.remove(&store).filter(|known| known.met + FORGET_AFTER > now);
        let logged = known.map(|known| known.logged).filter(|logged| *logged + LOG_INTERVAL > now);
        if logged.is_none() {
            tracing::warn!(store, why, "a store of the cluster does not serve; trying again");
        }
        let trouble = Trouble { why: why.to_owned(), met: now, logged: logged.unwrap_or(now) };
        by_store.insert(store, trouble);
        self.any.store(true, Relaxed);
    }

    /// A store has answered.
    pub(crate) fn clear(&self, store: u64) {
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
    pub(crate) fn newest(&self) -> Option<String> {
        if !self.any.load(Relaxed) {
            return None;
        }
        let now = Instant::now();
        let mut by_store = self.by_store.lock();
        by_store.retain(|_, trouble| trouble.met + FORGET_AFTER > now);
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
        let store_health = StoreHealth::default();
        assert_eq!(store_health.newest(), None);
        store_health.note(1, "store 1: gone");
        store_health.note(2, "store 2: gone");
        store_health.clear(2);
        assert_eq!(store_health.newest().as_deref(), Some("store 1: gone"));
        store_health.clear(1);
        assert_eq!(store_health.newest(), None);
    }
}
