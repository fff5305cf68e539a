//! The oldest point that this gateway still reads at, and PD's promise to keep what stands there.
//!
//! ```text
//!   promised         oldest snapshot                            now
//!   ───┴───────────────────┴──────────────┴─────────┴────────────▶
//!      every read from here on is safe while the promise lasts
//! ```
//!
//! What is promised trails by a round: a timestamp that was taken and is not entered yet is above
//! the last round's. A read below the promise, or after its end, is looked into one by one.

use crate::{cluster::Cluster, locks::TransactionRegistry};
use braid_kv::{Error, Result};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant, SystemTime},
};

/// The last part (one in `MARGIN`) of a promise does not count: clocks run at different speeds.
const MARGIN: u32 = 10;
/// How long taking the promise back may take at the end.
const GOODBYE: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct SnapshotRegistry {
    /// The name by which PD knows this gateway.
    name: String,
    open: Mutex<BTreeMap<u64, usize>>,
    origin: (Instant, SystemTime),
    promised: AtomicU64,
    /// The promise's end, in milliseconds from the origin.
    promised_until: AtomicU64,
    /// The time of the last round.
    last_round: AtomicU64,
    closed: AtomicBool,
}

/// A point that is read at while this lives.
pub(crate) struct OpenSnapshot {
    snapshots: Arc<SnapshotRegistry>,
    ts: u64,
}

impl Drop for OpenSnapshot {
    fn drop(&mut self) {
        let mut open = self.snapshots.open.lock();
        if let Some(count) = open.get_mut(&self.ts) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.ts);
            }
        }
    }
}

impl SnapshotRegistry {
    pub fn new() -> SnapshotRegistry {
        let unique = RandomState::new().hash_one(std::process::id());
        SnapshotRegistry {
            name: format!("braid-gateway-{unique:016x}"),
            open: Mutex::default(),
            origin: (Instant::now(), SystemTime::now()),
            promised: AtomicU64::new(u64::MAX),
            promised_until: AtomicU64::new(0),
            last_round: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Enters a point that is read at.
    pub fn open(self: &Arc<Self>, ts: u64) -> OpenSnapshot {
        *self.open.lock().entry(ts).or_default() += 1;
        OpenSnapshot { snapshots: self.clone(), ts }
    }

    fn oldest(&self) -> Option<u64> {
        self.open.lock().first_key_value().map(|(ts, _)| *ts)
    }

    /// Milliseconds since the origin, by the clock that has gone further: one stands still while
    /// the machine sleeps, the other may be set.
    fn elapsed_ms(&self) -> u64 {
        let steady = self.origin.0.elapsed();
        let wall = self.origin.1.elapsed().unwrap_or_default();
        steady.max(wall).as_millis() as u64
    }

    /// Whether PD has promised to keep what stands at `ts`.
    fn covers(&self, ts: u64) -> bool {
        let until = self.promised_until.load(SeqCst);
        ts >= self.promised.load(SeqCst) && self.elapsed_ms() < until
    }

    /// One round: registers with PD what is needed here; the lowest point that anybody needs.
    pub async fn register(&self, cluster: &Cluster, registry: &TransactionRegistry) -> Result<u64> {
        let asked_ms = self.elapsed_ms();
        let now = cluster.tso.now().await?;
        let before = match self.last_round.swap(now, SeqCst) {
            0 => now,
            before => before,
        };
        let oldest = [self.oldest(), registry.oldest_start()].into_iter().flatten().min();
        let wanted = oldest.map_or(before, |oldest| oldest.min(before));
        if self.promised.load(SeqCst) != u64::MAX {
            // Between the old point and the new one nothing is promised from now on.
            self.promised.fetch_max(wanted, SeqCst);
        }
        let promise = cluster.options.snapshot_promise.max(Duration::from_secs(1));
        let ttl = promise.as_secs() as i64;
        let lowest = cluster.pd.register(&self.name, ttl, wanted).await?;
        let promised = wanted.max(lowest);
        if lowest > wanted {
            tracing::warn!("the safe point has passed snapshots of this server: it was cut off");
            cluster.pd.register(&self.name, ttl, promised).await?;
        }
        self.promised.store(promised, SeqCst);
        let lasts = (Duration::from_secs(ttl as u64) * (MARGIN - 1) / MARGIN).as_millis() as u64;
        self.promised_until.store(asked_ms + lasts, SeqCst);
        Ok(lowest)
    }

    /// Nothing is needed here any more.
    pub async fn close(&self, cluster: &Cluster) {
        self.closed.store(true, SeqCst);
        let goodbye = cluster.pd.register(&self.name, 0, 0);
        if !matches!(tokio::time::timeout(GOODBYE, goodbye).await, Ok(Ok(_))) {
            tracing::debug!("PD keeps old versions for this server for a minute to come");
        }
    }
}

/// [`Error::SnapshotTooOld`] if what was read at `ts` may have been removed before.
pub(crate) async fn check_age(cluster: &Cluster, ts: u64) -> Result<()> {
    if cluster.snapshots.covers(ts) || ts >= cluster.pd.safe_point().await? {
        return Ok(());
    }
    Err(Error::SnapshotTooOld)
}

/// Keeps the promise up until the store is gone.
pub(crate) async fn keep_registered(
    cluster: Weak<Cluster>,
    registry: Weak<TransactionRegistry>,
    pause: Duration,
) {
    loop {
        tokio::time::sleep(pause).await;
        let (Some(cluster), Some(registry)) = (cluster.upgrade(), registry.upgrade()) else {
            return;
        };
        if cluster.snapshots.closed.load(SeqCst) {
            return;
        }
        if let Err(error) = cluster.snapshots.register(&cluster, &registry).await {
            tracing::warn!(%error, "PD was not told which versions are still needed");
        }
    }
}
