//! What goes wrong, and when.
//!
//! | fault | why a client must live with it |
//! |---|---|
//! | lost request | nothing was done, and the client cannot know |
//! | lost answer | all was done, and the client cannot know |
//! | late | a slow disk or network; others overtake |
//! | duplicate | a network may deliver a request again, long after its answer |
//! | undetermined | a leader that steps down does not know either |
//! | PD late | regions change before PD hears of it |
//! | busy, not leader, split, merge, leader moves, leader crashes | a cluster's daily life |
//! | clock jumps | PD's leader moved to a machine with another time of day |
//!
//! A [`Plan`] gives each kind a chance per 10,000 requests, drawn from a seed; a [`Rule`] hits the
//! requests that a test names. Which request draws which number depends on their order of arrival,
//! so a seed repeats a run as far as the client repeats its requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::random::Random;

/// A request to a store, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Rpc {
    Get,
    BatchGet,
    Scan,
    PessimisticLock,
    PessimisticRollback,
    Prewrite,
    Commit,
    BatchRollback,
    CheckTxnStatus,
    CheckSecondaryLocks,
    TxnHeartBeat,
    ResolveLock,
    ScanLock,
    DestroyRange,
    RawGet,
    RawPut,
    SplitRegion,
    /// To PD: timestamps, by the batch.
    Tso,
    /// To PD: anything else.
    Placement,
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It is not done; the answer is a broken connection.
    LoseRequest,
    /// It is done; the answer is a broken connection.
    LoseAnswer,
    /// It is done that much later.
    Delay(Duration),
    /// It is done now, and once more that much later.
    Duplicate(Duration),
    /// It is done; the answer is that nobody knows.
    Undetermined,
    /// It is not done: server is busy.
    Busy,
    /// It is not done: not leader, nobody known to be.
    NotLeader,
    /// Its region is split at its key, and the request fails on the epoch.
    Split,
    /// Its region takes in the one to its left, and the request fails on the epoch.
    Merge,
    /// Its region's leader moves away just before.
    MoveLeader,
    /// Its region's leader crashes just before: pessimistic locks of the region are lost.
    CrashLeader,
    /// It waits before it is done, until the gate opens.
    HoldRequest(Gate),
    /// It is done; its answer waits until the gate opens.
    HoldAnswer(Gate),
}

/// Chances per 10,000 requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Of [`Fault::LoseRequest`].
    pub lose_request: u32,
    /// Of [`Fault::LoseAnswer`].
    pub lose_answer: u32,
    /// Of [`Fault::Delay`].
    pub delay: u32,
    /// The longest delay, also of the second arrival of a duplicate.
    pub delay_max: Duration,
    /// Of [`Fault::Duplicate`].
    pub duplicate: u32,
    /// Of [`Fault::Busy`].
    pub busy: u32,
    /// Of [`Fault::NotLeader`].
    pub not_leader: u32,
    /// Of [`Fault::Split`]; none beyond [`Plan::REGIONS_MAX`] regions.
    pub split: u32,
    /// Of [`Fault::Merge`].
    pub merge: u32,
    /// Of [`Fault::MoveLeader`].
    pub move_leader: u32,
    /// Of [`Fault::CrashLeader`].
    pub crash_leader: u32,
    /// Of a jump of the clock, by up to `clock_jump_max` to either side.
    pub clock_jump: u32,
    /// The widest jump.
    pub clock_jump_max: Duration,
    /// How long PD shows regions as they were before a change.
    pub pd_lag: Duration,
}

impl Plan {
    /// Regions at which random splits stop.
    pub const REGIONS_MAX: usize = 64;

    /// A cluster's daily life: leaders move, regions split, some are busy. Nothing is lost.
    pub fn daily() -> Self {
        Plan {
            delay: 100,
            delay_max: Duration::from_millis(10),
            busy: 20,
            not_leader: 20,
            split: 20,
            merge: 10,
            move_leader: 30,
            pd_lag: Duration::from_millis(20),
            ..Plan::default()
        }
    }

    /// Everything: daily life, and requests and answers that are lost or come twice.
    pub fn rough() -> Self {
        Plan {
            lose_request: 20,
            lose_answer: 20,
            duplicate: 20,
            crash_leader: 5,
            clock_jump: 2,
            clock_jump_max: Duration::from_millis(500),
            ..Plan::daily()
        }
    }

    /// A cluster that loses the pessimistic locks of a region again and again.
    pub fn forgetful() -> Self {
        Plan { lose_answer: 20, crash_leader: 60, ..Plan::daily() }
    }
}

impl Plan {
    /// The plan of that name: `none`, `daily`, `rough` or `forgetful`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "" | "none" => Some(Plan::default()),
            "daily" => Some(Plan::daily()),
            "rough" => Some(Plan::rough()),
            "forgetful" => Some(Plan::forgetful()),
            _ => None,
        }
    }
}

/// Hits requests that a test names.
#[derive(Clone, Debug)]
pub struct Rule {
    rpc: Option<Rpc>,
    key: Option<Vec<u8>>,
    fault: Fault,
    skip: u32,
    times: u32,
    /// One in this many; the others pass.
    every: u32,
    passed: u32,
}

impl Rule {
    /// Hits the next request of that kind.
    pub fn next(rpc: Rpc, fault: Fault) -> Self {
        Rule { rpc: Some(rpc), key: None, fault, skip: 0, times: 1, every: 1, passed: 0 }
    }

    /// Only requests that name this key.
    #[must_use]
    pub fn key(mut self, key: &[u8]) -> Self {
        self.key = Some(key.to_vec());
        self
    }

    /// Lets `count` requests pass first.
    #[must_use]
    pub fn skip(mut self, count: u32) -> Self {
        self.skip = count;
        self
    }

    /// Hits `count` requests.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.times = count;
        self
    }

    /// Hits each n-th, for as long as the rule is there.
    #[must_use]
    pub fn every(mut self, n: u32) -> Self {
        (self.every, self.times) = (n, u32::MAX);
        self
    }

    fn hits(&mut self, rpc: Rpc, keys: &[&[u8]]) -> bool {
        let is_meant = self.times > 0
            && self.rpc.is_none_or(|meant| meant == rpc)
            && self.key.as_deref().is_none_or(|meant| keys.contains(&meant));
        if is_meant && self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.passed += u32::from(is_meant);
        if !is_meant || self.passed < self.every {
            return false;
        }
        self.passed = 0;
        self.times -= u32::from(self.times != u32::MAX);
        true
    }
}

/// Holds requests until it opens. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    is_open: watch::Sender<bool>,
    arrived: AtomicUsize,
    arrival: Notify,
}

impl Default for Gate {
    fn default() -> Self {
        Gate(Arc::new(Inner {
            is_open: watch::Sender::new(false),
            arrived: AtomicUsize::new(0),
            arrival: Notify::new(),
        }))
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Gate::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.is_open.send_replace(true);
    }

    /// How many have come to it.
    pub fn arrived(&self) -> usize {
        self.0.arrived.load(Ordering::SeqCst)
    }

    /// Waits until `count` requests have come to the gate.
    pub async fn wait_for(&self, count: usize) {
        loop {
            let next = self.0.arrival.notified();
            tokio::pin!(next);
            next.as_mut().enable();
            if self.arrived() >= count {
                return;
            }
            next.await;
        }
    }

    pub(super) async fn pass(&self) {
        self.0.arrived.fetch_add(1, Ordering::SeqCst);
        self.0.arrival.notify_waiters();
        // The sender lives as long as this gate.
        let _ = self.0.is_open.subscribe().wait_for(|is_open| *is_open).await;
    }
}

/// Decides what happens to each request.
#[derive(Debug)]
pub(super) struct Faults {
    /// Chances.
    pub plan: Plan,
    random: Random,
    rules: Vec<Rule>,
}

impl Faults {
    /// By that seed.
    pub(super) fn new(seed: u64, plan: Plan) -> Self {
        Faults { plan, random: Random::new(seed), rules: Vec::new() }
    }

    /// Adds a rule.
    pub(super) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Forgets all rules.
    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    /// What happens to this request. A rule goes before the plan.
    pub(super) fn decide(&mut self, rpc: Rpc, keys: &[&[u8]], regions: usize) -> Option<Fault> {
        if let Some(rule) = self.rules.iter_mut().find_map(|rule| {
            let is_hit = rule.hits(rpc, keys);
            is_hit.then(|| rule.fault.clone())
        }) {
            self.rules.retain(|rule| rule.times > 0);
            return Some(rule);
        }
        if self.plan == Plan::default() {
            return None;
        }
        let plan = self.plan.clone();
        let split = if regions < Plan::REGIONS_MAX { plan.split } else { 0 };
        let delay_ms = plan.delay_max.as_millis() as u64 + 1;
        let late = Duration::from_millis(self.random.below(delay_ms));
        let chances = [
            (plan.lose_request, Fault::LoseRequest),
            (plan.lose_answer, Fault::LoseAnswer),
            (plan.delay, Fault::Delay(late)),
            (plan.duplicate, Fault::Duplicate(late)),
            (plan.busy, Fault::Busy),
            (plan.not_leader, Fault::NotLeader),
            (split, Fault::Split),
            (plan.merge, Fault::Merge),
            (plan.move_leader, Fault::MoveLeader),
            (plan.crash_leader, Fault::CrashLeader),
        ];
        let mut draw = self.random.below(10_000);
        for (chance, fault) in chances {
            if draw < u64::from(chance) {
                return Some(fault);
            }
            draw -= u64::from(chance);
        }
        None
    }

    /// Yes or no.
    pub(super) fn coin(&mut self) -> bool {
        self.random.one_in(2)
    }

    /// By how many milliseconds the clock jumps now.
    pub(super) fn clock_jump(&mut self) -> Option<i64> {
        let chance = u64::from(self.plan.clock_jump);
        if chance == 0 || self.random.below(10_000) >= chance {
            return None;
        }
        let widest = self.plan.clock_jump_max.as_millis() as u64;
        let by = i64::try_from(self.random.below(2 * widest + 1)).ok()?;
        Some(by - i64::try_from(widest).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_hits_what_it_names() {
        let mut faults = Faults::new(1, Plan::default());
        faults.add(Rule::next(Rpc::Commit, Fault::LoseAnswer).key(b"b").skip(1).times(2));
        let mut hits = |rpc, keys: &[&[u8]]| faults.decide(rpc, keys, 1).is_some();
        assert!(!hits(Rpc::Prewrite, &[b"b"]));
        assert!(!hits(Rpc::Commit, &[b"a"]));
        assert!(!hits(Rpc::Commit, &[b"a", b"b"]), "the first is let pass");
        assert!(hits(Rpc::Commit, &[b"a", b"b"]));
        assert!(hits(Rpc::Commit, &[b"b"]));
        assert!(!hits(Rpc::Commit, &[b"b"]), "twice was asked");
        faults.add(Rule::next(Rpc::Get, Fault::Busy).every(3));
        let hits: Vec<_> = (0..7).map(|_| faults.decide(Rpc::Get, &[], 1).is_some()).collect();
        assert_eq!(hits, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn a_seed_repeats_its_faults() {
        let draw = |seed| {
            let mut faults = Faults::new(seed, Plan::rough());
            let draws = (0..5_000).map(|_| faults.decide(Rpc::Get, &[], 1));
            draws.map(|fault| format!("{fault:?}")).collect::<Vec<_>>()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        let faults = draw(3).iter().filter(|fault| *fault != "None").count();
        assert!((50..300).contains(&faults), "{faults} of 5,000");
    }
}
