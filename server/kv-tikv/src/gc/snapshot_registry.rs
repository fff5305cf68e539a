//! The points that this gateway reads at, and how far PD has promised to keep what stands there.
//!
//! ```text
//!   promised         oldest snapshot                            now
//!   ───┴───────────────────┴──────────────┴─────────┴────────────▶
//!      every read from here on is safe while the promise lasts
//! ```

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant, SystemTime},
};

/// The last part (one in `MARGIN`) of a promise does not count: clocks run at different speeds.
const MARGIN: u32 = 10;

/// See the module.
pub(crate) struct SnapshotRegistry {
    /// The name by which PD knows this gateway.
    pub name: String,
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
    pub(crate) fn new() -> SnapshotRegistry {
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
    pub(crate) fn open(self: &Arc<Self>, ts: u64) -> OpenSnapshot {
        *self.open.lock().entry(ts).or_default() += 1;
        OpenSnapshot { snapshots: self.clone(), ts }
    }

    /// The lowest point that is read at.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.open.lock().first_key_value().map(|(ts, _)| *ts)
    }

    /// Milliseconds since the origin, by the clock that has gone further: one stands still while
    /// the machine sleeps, the other may be set.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        let steady = self.origin.0.elapsed();
        let wall = self.origin.1.elapsed().unwrap_or_default();
        steady.max(wall).as_millis() as u64
    }

    /// Whether PD has promised to keep what stands at `ts`.
    pub(crate) fn covers(&self, ts: u64) -> bool {
        let until = self.promised_until.load(SeqCst);
        ts >= self.promised.load(SeqCst) && self.elapsed_ms() < until
    }

    /// Begins a round of registration at this timestamp; that of the round before, if there was
    /// one.
    pub(crate) fn begin_round(&self, now: u64) -> Option<u64> {
        Some(self.last_round.swap(now, SeqCst)).filter(|before| *before != 0)
    }

    /// Nothing below this point is promised from now on.
    pub(crate) fn give_up_below(&self, point: u64) {
        if self.promised.load(SeqCst) != u64::MAX {
            self.promised.fetch_max(point, SeqCst);
        }
    }

    /// PD keeps what stands from this point on, for this long from when it was asked.
    pub(crate) fn promise(&self, point: u64, asked_ms: u64, lasts: Duration) {
        self.promised.store(point, SeqCst);
        let lasts = (lasts * (MARGIN - 1) / MARGIN).as_millis() as u64;
        self.promised_until.store(asked_ms + lasts, SeqCst);
    }

    /// No round is to come.
    pub(crate) fn close(&self) {
        self.closed.store(true, SeqCst);
    }

    /// Whether no round is to come.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }
}
