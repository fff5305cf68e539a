//! What the client of the cluster counts: requests by kind and how long they took, why they were
//! repeated, how many regions they went to, commits by kind, waits for timestamps, what became of
//! old versions.

use crate::timestamp::millis;
use braid_kv::{COUNT_BOUNDS, Histogram, StoreMetric, StoreValue, TIME_BOUNDS};
use braid_tikv_proto::errorpb;
use parking_lot::RwLock;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// Why a request to a store was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryCause {
    /// The region is led by another store.
    NotLeader,
    /// The region was split, merged or moved, or is not there.
    Epoch,
    Busy,
    /// A new leader does not know yet how far others have read.
    NotSynced,
    DiskFull,
    /// Another store answers at this address.
    OtherStore,
    /// The leader stepped down: it may have been carried out.
    Undetermined,
    /// A lock of another transaction was met.
    Locked,
    /// The connection failed.
    Transport,
    /// No answer in time.
    Timeout,
    Other,
}

impl RetryCause {
    const ALL: [RetryCause; 11] = [
        RetryCause::NotLeader,
        RetryCause::Epoch,
        RetryCause::Busy,
        RetryCause::NotSynced,
        RetryCause::DiskFull,
        RetryCause::OtherStore,
        RetryCause::Undetermined,
        RetryCause::Locked,
        RetryCause::Transport,
        RetryCause::Timeout,
        RetryCause::Other,
    ];

    fn as_str(self) -> &'static str {
        match self {
            RetryCause::NotLeader => "not_leader",
            RetryCause::Epoch => "epoch",
            RetryCause::Busy => "busy",
            RetryCause::NotSynced => "not_synced",
            RetryCause::DiskFull => "disk_full",
            RetryCause::OtherStore => "other_store",
            RetryCause::Undetermined => "undetermined",
            RetryCause::Locked => "locked",
            RetryCause::Transport => "transport",
            RetryCause::Timeout => "timeout",
            RetryCause::Other => "other",
        }
    }

    /// That of a region error.
    pub(crate) fn of(error: &errorpb::Error) -> RetryCause {
        if error.not_leader.is_some() {
            return RetryCause::NotLeader;
        }
        let moved = error.epoch_not_match.is_some()
            || error.region_not_found.is_some()
            || error.key_not_in_region.is_some()
            || error.stale_command.is_some();
        match error {
            _ if moved => RetryCause::Epoch,
            error if error.server_is_busy.is_some() => RetryCause::Busy,
            error if error.max_timestamp_not_synced.is_some() => RetryCause::NotSynced,
            error if error.disk_full.is_some() => RetryCause::DiskFull,
            error if error.store_not_match.is_some() => RetryCause::OtherStore,
            error if error.undetermined_result.is_some() => RetryCause::Undetermined,
            _ => RetryCause::Other,
        }
    }
}

/// How a transaction was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitKind {
    OnePhase,
    Async,
    TwoPhase,
    /// In two phases, although it was to be done in one round trip.
    Fallback,
}

impl CommitKind {
    const ALL: [(CommitKind, &'static str); 4] = [
        (CommitKind::OnePhase, "one_phase"),
        (CommitKind::Async, "async"),
        (CommitKind::TwoPhase, "two_phase"),
        (CommitKind::Fallback, "fallback"),
    ];
}

/// One kind of request.
#[derive(Default)]
pub(crate) struct RpcMetrics {
    sent: AtomicU64,
    nanos: Histogram,
}

impl RpcMetrics {
    pub(crate) fn count(&self) {
        self.sent.fetch_add(1, Relaxed);
    }

    /// The time until there was an answer, or none.
    pub(crate) fn took(&self, time: Duration) {
        self.nanos.observe(nanos(time));
    }
}

/// The live numbers.
pub(crate) struct Metrics {
    /// By the name of the request; entered when it is first sent.
    rpcs: RwLock<BTreeMap<&'static str, Arc<RpcMetrics>>>,
    retries: [AtomicU64; RetryCause::ALL.len()],
    commits: [AtomicU64; CommitKind::ALL.len()],
    regions: Histogram,
    safe_point: AtomicU64,
    ranges_destroyed: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            rpcs: RwLock::default(),
            retries: Default::default(),
            commits: Default::default(),
            regions: Histogram::new(&COUNT_BOUNDS),
            safe_point: AtomicU64::new(0),
            ranges_destroyed: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// The numbers of one kind of request.
    pub(crate) fn rpc(&self, name: &'static str) -> Arc<RpcMetrics> {
        if let Some(known) = self.rpcs.read().get(name) {
            return known.clone();
        }
        self.rpcs.write().entry(name).or_default().clone()
    }

    pub(crate) fn retry(&self, reason: RetryCause) {
        self.retries[reason as usize].fetch_add(1, Relaxed);
    }

    /// A transaction was committed.
    pub(crate) fn committed(&self, kind: CommitKind) {
        self.commits[kind as usize].fetch_add(1, Relaxed);
    }

    /// Requests for `count` regions were sent side by side.
    pub(crate) fn regions(&self, count: usize) {
        self.regions.observe(count as u64);
    }

    /// The safe point stands there.
    pub(crate) fn safe_point(&self, point: u64) {
        self.safe_point.store(point, Relaxed);
    }

    /// Every store has destroyed a dropped range.
    pub(crate) fn range_destroyed(&self) {
        self.ranges_destroyed.fetch_add(1, Relaxed);
    }

    /// All of them, those of one name together.
    pub(crate) fn read(&self) -> Vec<StoreMetric> {
        let metric = |name, help, label, value| StoreMetric { name, help, label, value };
        let rpcs: Vec<_> = self.rpcs.read().iter().map(|(name, of)| (*name, of.clone())).collect();
        let mut all = Vec::new();
        all.extend(rpcs.iter().map(|(name, of)| {
            let value = StoreValue::Counter(of.sent.load(Relaxed));
            let help = "Requests sent to stores and to PD, by kind.";
            metric("braid_tikv_requests_total", help, Some(("rpc", *name)), value)
        }));
        all.extend(rpcs.iter().map(|(name, of)| {
            let value = StoreValue::Times(of.nanos.read());
            let help = "Time from each request to its answer, or to giving up, by kind.";
            metric("braid_tikv_request_seconds", help, Some(("rpc", *name)), value)
        }));
        all.extend(RetryCause::ALL.iter().map(|reason| {
            let value = StoreValue::Counter(self.retries[*reason as usize].load(Relaxed));
            let help = "Requests to stores that had to be repeated, by reason.";
            metric("braid_tikv_retries_total", help, Some(("reason", reason.as_str())), value)
        }));
        all.extend(CommitKind::ALL.iter().map(|(kind, name)| {
            let value = StoreValue::Counter(self.commits[*kind as usize].load(Relaxed));
            let help = "Transactions committed with writes, by kind.";
            metric("braid_tikv_commits_total", help, Some(("kind", *name)), value)
        }));
        let help = "Regions that the requests of one step went to, side by side.";
        all.push(metric(
            "braid_tikv_regions_touched",
            help,
            None,
            StoreValue::Sizes(self.regions.read()),
        ));
        let help = "Where the safe point stood when this gateway last moved it, as Unix time.";
        let seconds = millis(self.safe_point.load(Relaxed)) / 1000;
        all.push(metric("braid_tikv_safe_point_seconds", help, None, StoreValue::Gauge(seconds)));
        let help = "Dropped ranges that this gateway has had destroyed.";
        let destroyed = StoreValue::Counter(self.ranges_destroyed.load(Relaxed));
        all.push(metric("braid_tikv_ranges_destroyed_total", help, None, destroyed));
        all
    }
}

/// Times of waits, for a histogram.
pub(crate) fn times() -> Histogram {
    Histogram::new(&TIME_BOUNDS)
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_and_kind_has_its_place() {
        for (place, reason) in RetryCause::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place);
        }
        for (place, (kind, _)) in CommitKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }

    #[test]
    fn requests_are_counted_by_their_names() {
        let metrics = Metrics::default();
        metrics.rpc("kv_get").count();
        metrics.rpc("kv_get").count();
        metrics.retry(RetryCause::Busy);
        let read = metrics.read();
        let find = |name: &str, value: &str| {
            let found =
                read.iter().find(|m| m.name == name && m.label.is_some_and(|l| l.1 == value));
            match found.map(|metric| &metric.value) {
                Some(StoreValue::Counter(count)) => *count,
                other => panic!("{name} {value}: {other:?}"),
            }
        };
        assert_eq!(find("braid_tikv_requests_total", "kv_get"), 2);
        assert_eq!(find("braid_tikv_retries_total", "busy"), 1);
        assert_eq!(find("braid_tikv_retries_total", "epoch"), 0);
    }
}
