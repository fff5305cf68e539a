//! This gateway among the others: what it knows, what it may do now, and what callers ask for.
//!
//! The task in `keeper` renews the lease. Nothing else writes the record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use braid_kv::{
    CommitFence, Database as Kv, Error, Result as KvResult, StoreClock, Timestamp, TxnOptions,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::lease::{Epoch, Lease};
use super::record::{GatewayInfo, GatewayMode, GatewayRecord, Roster};
use crate::system_keys::{mark_key, record_key, row_waits_key};

/// How long a lease lasts without being renewed. A gateway that is gone is waited for so long.
pub const LEASE: Duration = Duration::from_secs(5);
/// How long a schema change waits for the others; a lease is over long before.
const CHANGE_PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at whether this gateway's commits are decided.
const READY_SOON: Duration = Duration::from_millis(5);
/// Microseconds from 1970 to 2000.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// A gateway's place among the others over its store.
pub struct Gateways {
    pub(super) id: u64,
    pub(super) version: String,
    pub(super) started: i64,
    /// `None` over a store that is this gateway's alone.
    pub(crate) shared: Option<SharedStore>,
    pub(super) state: Mutex<State>,
    /// The keeper has something to do.
    pub(super) wake: Arc<Notify>,
    /// Something that callers wait for may have come about.
    pub(super) moved: Notify,
    statistics: Notify,
    /// Held while the record is being written.
    pub(super) writing: tokio::sync::Mutex<()>,
    /// Held while what it says of waits for rows is being written.
    pub(crate) saying: tokio::sync::Mutex<()>,
}

/// A store that several gateways may use.
pub(crate) struct SharedStore {
    pub kv: Kv,
    pub clock: StoreClock,
}

#[derive(Default)]
pub(super) struct State {
    pub address: String,
    /// The lease, unless it has ended.
    pub lease: Option<Arc<Lease>>,
    /// The fast period, if this is one.
    pub epoch: Option<Arc<Epoch>>,
    /// A period that is over, with commits that are not decided yet.
    pub retired: Option<Arc<Epoch>>,
    /// What the record says, if that is known.
    pub recorded: Option<GatewayMode>,
    /// Whether the mark is in the store, if that is known.
    pub marked: Option<bool>,
    /// Under this lease, and since the mark was written, all other gateways were seen to be strict.
    pub settled: Option<Arc<Lease>>,
    /// Schema changes of this gateway whose outcome is not known.
    pub changes: usize,
    /// Schema changes of this gateway so far.
    pub changes_begun: u64,
    /// This gateway's own changes came before; `None` while that is not known.
    pub fast_from: Option<Timestamp>,
    pub last_change: Option<Instant>,
    pub renewed: Option<Instant>,
    /// The lease lasts at least until then.
    pub safe_until: Option<Instant>,
    /// Duties that were asked for, and whether this gateway has them.
    pub duties: BTreeMap<&'static str, bool>,
    pub roster: Roster,
    pub closed: bool,
}

impl State {
    /// The lease for a schema change, if it may commit now: others mind it, and this gateway's
    /// fast commits are decided, of which none begins while there is a change.
    fn ready_to_change(&self) -> Option<Arc<Lease>> {
        let is_quiet = |epoch: &Option<Arc<Epoch>>| epoch.as_ref().is_none_or(|e| e.is_quiet());
        let is_ready = is_quiet(&self.epoch) && is_quiet(&self.retired);
        self.settled.clone().filter(|_| is_ready)
    }

    /// The fast period, if there is one and no change of this gateway.
    fn undisturbed_epoch(&self) -> Option<Arc<Epoch>> {
        self.epoch.clone().filter(|_| self.changes == 0)
    }

    /// The lease has ended: whatever was bound to it can no longer take place.
    pub(super) fn lapse(&mut self) {
        self.lease = None;
        self.epoch = None;
        self.retired = None;
        self.recorded = None;
        self.marked = None;
        self.settled = None;
        self.safe_until = None;
        self.duties.values_mut().for_each(|owned| *owned = false);
    }
}

/// A schema change of this gateway, until its outcome is known.
struct Change(Arc<Gateways>);

impl Drop for Change {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.changes -= 1;
        state.last_change = Some(Instant::now());
    }
}

/// A schema change that may commit now, below the end of the lease.
pub struct ChangeUnderWay {
    lease: Arc<Lease>,
    _change: Change,
}

impl CommitFence for ChangeUnderWay {
    fn before(&self) -> Timestamp {
        self.lease.expires()
    }
}

impl Gateways {
    /// A gateway that nothing is known of yet.
    pub(super) fn new(id: u64, version: &str, started: i64, shared: Option<SharedStore>) -> Self {
        Gateways {
            id,
            version: version.to_owned(),
            started,
            shared,
            state: Mutex::default(),
            wake: Arc::default(),
            moved: Notify::new(),
            statistics: Notify::new(),
            writing: tokio::sync::Mutex::default(),
            saying: tokio::sync::Mutex::default(),
        }
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether other gateways may use the same store.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Says where SQL clients find this gateway.
    pub fn set_address(&self, address: &str) {
        let mut state = self.state.lock();
        address.clone_into(&mut state.address);
        state.renewed = None;
        drop(state);
        self.wake.notify_one();
    }

    /// Whether this gateway has a duty that one of all gateways has. The first question asks for
    /// the duty; the answer is true once it was given, and false as soon as the lease is in danger.
    ///
    /// Between the answer and what is done then the duty may pass to another gateway, so what is
    /// done must be harmless if two do it, or bound by its own transaction.
    pub fn owns(&self, duty: &'static str) -> bool {
        if self.shared.is_none() {
            return true;
        }
        let mut state = self.state.lock();
        let is_safe = state.safe_until.is_some_and(|until| Instant::now() < until);
        match state.duties.get(duty) {
            Some(owned) => *owned && is_safe,
            None => {
                state.duties.insert(duty, false);
                drop(state);
                self.wake.notify_one();
                false
            }
        }
    }

    /// The gateways of those numbers whose leases have ended, or that are not known: what they
    /// have begun and not finished is left by them. This gateway is none of them.
    pub async fn gone(&self, gateways: &[u64]) -> KvResult<Vec<u64>> {
        let Some(shared) = &self.shared else {
            return Ok(gateways.to_vec());
        };
        let roster = Roster::read(&shared.kv).await?;
        let is_gone = |gateway: &&u64| **gateway != self.id && !roster.is_live(**gateway);
        Ok(gateways.iter().filter(is_gone).copied().collect())
    }

    /// Every gateway, as it was lately.
    pub fn list(&self) -> Vec<GatewayInfo> {
        let state = self.state.lock();
        let Some(shared) = &self.shared else {
            return vec![GatewayInfo {
                id: self.id,
                address: state.address.clone(),
                version: self.version.clone(),
                started: self.started,
                expires: None,
                mode: "fast",
                is_self: true,
            }];
        };
        let roster = &state.roster;
        let info = |record: &GatewayRecord| {
            let expires = shared.clock.since_1970(Timestamp(record.expires)).as_micros();
            let is_self = record.id == self.id;
            let is_fast =
                if is_self { state.epoch.is_some() } else { record.mode == GatewayMode::Fast };
            GatewayInfo {
                id: record.id,
                address: record.address.clone(),
                version: record.version.clone(),
                started: record.started,
                expires: i64::try_from(expires).ok().map(|micros| micros - EPOCH_MICROS),
                mode: match (record.is_live(roster.at), is_fast) {
                    (false, _) => "expired",
                    (true, true) => "fast",
                    (true, false) => "strict",
                },
                is_self,
            }
        };
        roster.records.iter().map(info).collect()
    }

    /// The lease of this gateway, unless it has ended.
    pub(crate) fn lease(&self) -> Option<Arc<Lease>> {
        self.state.lock().lease.clone()
    }

    /// Whether this is still the lease of this gateway, as far as it knows.
    pub(crate) fn keeps(&self, lease: &Arc<Lease>) -> bool {
        self.state.lock().lease.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, lease))
    }

    /// Waits until another gateway may have stored statistics.
    pub async fn statistics_changed(&self) {
        self.statistics.notified().await;
    }

    pub(super) fn note_statistics(&self) {
        self.statistics.notify_one();
    }

    /// The fast period, if this is one and no change of this gateway is under way.
    pub fn epoch(&self) -> Option<Arc<Epoch>> {
        self.state.lock().undisturbed_epoch()
    }

    /// The same if the lease lasts for long enough that this machine's clock may tell so: it was
    /// taken before that was half over.
    pub fn lasting_epoch(&self) -> Option<Arc<Epoch>> {
        let state = self.state.lock();
        let lasts = state.safe_until.is_some_and(|until| Instant::now() + LEASE / 2 < until);
        state.undisturbed_epoch().filter(|_| lasts)
    }

    /// Prepares a schema change: comes back when no gateway trusts its cached catalog any more.
    /// They do not until the result, which is the fence of the change's commit, is gone.
    pub async fn change(self: &Arc<Self>) -> KvResult<Arc<ChangeUnderWay>> {
        {
            let mut state = self.state.lock();
            state.changes += 1;
            state.changes_begun += 1;
            state.fast_from = None;
        }
        let change = Change(self.clone());
        self.wake.notify_one();
        let until = Instant::now() + CHANGE_PATIENCE;
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            if let Some(lease) = self.state.lock().ready_to_change() {
                return Ok(Arc::new(ChangeUnderWay { lease, _change: change }));
            }
            if Instant::now() >= until {
                let why = "the other gateways do not notice a schema change";
                return Err(Error::Storage(why.into()));
            }
            // Commits that end say nothing.
            let _ = tokio::time::timeout(READY_SOON, moved).await;
        }
    }

    /// Takes this gateway out, so that nobody waits for its lease to end.
    pub async fn close(&self) -> KvResult<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let _writing = self.writing.lock().await;
        {
            let mut state = self.state.lock();
            state.closed = true;
            let last = state.epoch.take().or(state.retired.take());
            let is_quiet = last.is_none_or(|epoch| epoch.is_quiet());
            if !is_quiet || state.changes > 0 {
                // What is under way is bound to the lease: others wait for its end.
                return Ok(());
            }
            state.lapse();
        }
        // Without a lease nothing more is said.
        let _saying = self.saying.lock().await;
        let txn = shared.kv.begin(TxnOptions::default());
        let seq = txn.next_statement();
        txn.delete(seq, record_key(self.id))?;
        txn.delete(seq, mark_key(self.id))?;
        txn.delete(seq, row_waits_key(self.id))?;
        txn.commit_or_error().await.map(drop)
    }
}
