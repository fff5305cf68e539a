//! How often a transaction has waited for the store.

use crate::{Database, StatementWaits};
use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

/// Counts a transaction's waits for the store. Requests that are under way at the same time are
/// one wait.
pub struct RoundTrips {
    database: Database,
    count: AtomicU64,
    in_flight: AtomicU32,
}

impl RoundTrips {
    pub(in crate::transaction) fn new(database: Database) -> RoundTrips {
        RoundTrips { database, count: AtomicU64::new(0), in_flight: AtomicU32::new(0) }
    }

    /// How often the transaction has waited so far.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// While the guard lives, all requests count as one wait. For a caller that sends many
    /// requests side by side and waits for them together.
    pub fn side_by_side(&self) -> impl Drop + '_ {
        Flight::start(self)
    }

    /// Counts one wait for the store, and makes it as long as a remote one would be.
    pub(in crate::transaction) async fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        let _flight = Flight::start(self);
        if let Some(rtt) = self.database.options().simulate_rtt {
            tokio::time::sleep(rtt).await;
        }
        answer.await
    }
}

/// One request under way.
struct Flight<'a> {
    trips: &'a RoundTrips,
    waits: Option<Arc<StatementWaits>>,
}

impl<'a> Flight<'a> {
    fn start(trips: &'a RoundTrips) -> Flight<'a> {
        if trips.in_flight.fetch_add(1, Relaxed) == 0 {
            trips.count.fetch_add(1, Relaxed);
            trips.database.inner.counters.here().round_trips.fetch_add(1, Relaxed);
        }
        let waits = StatementWaits::current();
        if let Some(waits) = &waits {
            waits.begin();
        }
        Flight { trips, waits }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.trips.in_flight.fetch_sub(1, Relaxed);
        if let Some(waits) = &self.waits {
            waits.end();
        }
    }
}
