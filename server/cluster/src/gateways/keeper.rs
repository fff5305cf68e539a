//! Keeps the lease: looks at what the others say, decides what this gateway may be, and writes it
//! down. One step at a time, by one task.
//!
//! ```text
//!   look ─▶ decide ─▶ write the record   (renewed, strict, with or without the mark)
//!                └──▶ become fast        (proves that there is no mark)
//! ```

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_kv::{
    CommitOutcome, Conflict, Record, Result as KvResult, RetryReason, Timestamp, TxnOptions,
};
use tokio::time::Instant;

use super::gateway::{Gateways, LEASE, SharedStore};
use super::lease::{Epoch, Lease};
use super::record::{GatewayMode, GatewayRecord, Roster};
use crate::records::{parse, scan_all, to_json};
use crate::system_keys::{duty_key, mark_key, marks_span, record_key, row_waits_key};

/// Pause between renewals of the record.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// How often the others are looked at: how long a schema change elsewhere stays unnoticed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The same while somebody here waits for the others, or for commits of this gateway.
const LOOK_SOON: Duration = Duration::from_millis(10);
/// A mark stays so long after a schema change: the next one is often near.
const LINGER: Duration = Duration::from_millis(500);
/// How long the record of a dead gateway is kept.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Attempts to write the first record.
const ENTRIES_MAX: usize = 20;

/// What is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    Write { mode: GatewayMode, mark: bool },
    BecomeFast,
}

/// Writes the first record; afterwards there is a lease.
pub(super) async fn enter(gateways: &Arc<Gateways>) -> KvResult<()> {
    for _ in 0..ENTRIES_MAX {
        step(gateways).await?;
        if gateways.state.lock().lease.is_some() {
            return Ok(());
        }
    }
    Err(braid_kv::Error::Storage("this gateway's lease could not be written".into()))
}

/// Works for as long as somebody has the gateways.
pub(super) async fn run(gateways: Weak<Gateways>) {
    loop {
        let Some(strong) = gateways.upgrade() else { return };
        let pause = match step(&strong).await {
            Ok(Some(pause)) => pause,
            Ok(None) => return,
            Err(braid_kv::Error::Stopped(_)) => return,
            Err(error) => {
                tracing::warn!(%error, "the lease of this gateway could not be kept");
                LOOK_EVERY
            }
        };
        let wake = strong.wake.clone();
        drop(strong);
        let _ = tokio::time::timeout(pause, wake.notified()).await;
    }
}

/// One step; how long to wait for the next one, `None` after the end.
async fn step(gateways: &Gateways) -> KvResult<Option<Duration>> {
    let Some(shared) = &gateways.shared else { return Ok(None) };
    let _writing = gateways.writing.lock().await;
    if gateways.state.lock().closed {
        return Ok(None);
    }
    let looked = Instant::now();
    let idle_since = {
        let state = gateways.state.lock();
        (state.changes == 0).then_some(state.changes_begun)
    };
    let roster = Roster::read(&shared.kv).await?;
    let act = decide(gateways, &roster, idle_since);
    match act {
        Act::Nothing => {}
        Act::Write { mode, mark } => {
            write(gateways, shared, mode, mark, roster.at, looked).await?;
        }
        Act::BecomeFast => become_fast(gateways, shared, looked).await?,
    }
    take_duties(gateways, shared, &roster).await?;
    forget_dead(gateways, shared, &roster).await?;
    let state = gateways.state.lock();
    let is_awaited = (state.changes > 0 && state.settled.is_none()) || state.retired.is_some();
    let is_late = state.lease.is_none() || (act == Act::BecomeFast && state.epoch.is_none());
    Ok(Some(if is_awaited || is_late { LOOK_SOON } else { LOOK_EVERY }))
}

/// Takes in what the others say, and decides what to do.
fn decide(gateways: &Gateways, roster: &Roster, idle_since: Option<u64>) -> Act {
    let mut guard = gateways.state.lock();
    let state = &mut *guard;
    if state.lease.as_ref().is_some_and(|lease| lease.expires() <= roster.at) {
        tracing::warn!(gateway = gateways.id, "this gateway's lease has ended, begins again");
        state.lapse();
    }
    if state.roster.statistics != roster.statistics {
        gateways.note_statistics();
    }
    state.roster = roster.clone();
    if idle_since == Some(state.changes_begun) {
        // This look came after all of them.
        state.fast_from.get_or_insert(roster.at);
    }
    let lingers = state.last_change.is_some_and(|at| at.elapsed() < LINGER);
    let mark = state.changes > 0 || (lingers && state.marked != Some(false));
    if !mark {
        state.settled = None;
    } else if state.settled.is_none()
        && state.marked == Some(true)
        && roster.others_are_strict(gateways.id)
    {
        // This look is younger than the mark.
        state.settled = state.lease.clone();
        gateways.moved.notify_waiters();
    }
    let is_strict = roster.others_change(gateways.id) || state.lease.is_none();
    if is_strict && let Some(epoch) = state.epoch.take() {
        state.retired = Some(epoch);
    }
    if !is_strict && state.epoch.is_none() {
        // It was over only in this memory: no record has said strict meanwhile.
        state.epoch = state.retired.take();
    }
    if state.retired.as_ref().is_some_and(|epoch| epoch.is_quiet()) {
        state.retired = None;
    }
    let is_due = state.renewed.is_none_or(|at| at.elapsed() >= RENEW_EVERY);
    let wanted = match (is_strict, &state.retired, &state.epoch) {
        (true, None, _) => GatewayMode::Strict,
        (true, Some(_), _) | (false, _, Some(_)) => GatewayMode::Fast,
        (false, _, None) => return Act::BecomeFast,
    };
    let is_said = state.recorded == Some(wanted) && state.marked == Some(mark);
    match is_due || !is_said {
        true => Act::Write { mode: wanted, mark },
        false => Act::Nothing,
    }
}

fn record(gateways: &Gateways, mode: GatewayMode, expires: Timestamp) -> GatewayRecord {
    GatewayRecord {
        id: gateways.id,
        address: gateways.state.lock().address.clone(),
        version: gateways.version.clone(),
        started: gateways.started,
        expires: expires.0,
        mode,
    }
}

/// Writes the record, and puts the mark or takes it away.
async fn write(
    gateways: &Gateways,
    shared: &SharedStore,
    mode: GatewayMode,
    mark: bool,
    at: Timestamp,
    looked: Instant,
) -> KvResult<()> {
    let expires = shared.clock.after(at, LEASE);
    let (lease, marked) = {
        let state = gateways.state.lock();
        (state.lease.clone(), state.marked)
    };
    let txn = shared.kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    txn.put(seq, record_key(gateways.id), to_json(&record(gateways, mode, expires))?)?;
    if mark {
        txn.put(seq, mark_key(gateways.id), to_json(&gateways.id)?)?;
    } else if marked != Some(false) {
        txn.delete(seq, mark_key(gateways.id))?;
    }
    if let Some(lease) = lease.clone() {
        txn.commit_terms().set_fence(lease);
    }
    let outcome = txn.commit().await;
    let mut state = gateways.state.lock();
    if let Ok(CommitOutcome::Committed(_)) = outcome {
        match lease {
            Some(lease) => lease.extend(expires.0),
            None => state.lease = Some(Lease::new(expires.0)),
        }
        (state.recorded, state.marked) = (Some(mode), Some(mark));
        (state.renewed, state.safe_until) = (Some(looked), Some(looked + LEASE));
        return Ok(());
    }
    state.recorded = None;
    if state.marked != Some(mark) {
        state.marked = None;
    }
    if is_over(&outcome) {
        state.lapse();
    }
    outcome.map(drop)
}

/// The commit came after the end of the lease.
fn is_over(outcome: &KvResult<CommitOutcome>) -> bool {
    let over = RetryReason::SchemaChanged;
    matches!(outcome, Ok(CommitOutcome::Retry(Conflict { reason, .. })) if *reason == over)
}

/// Begins a fast period, unless another gateway has marked a change. Marks of gateways that are
/// gone go.
async fn become_fast(gateways: &Gateways, shared: &SharedStore, looked: Instant) -> KvResult<()> {
    let Some(lease) = gateways.state.lock().lease.clone() else { return Ok(()) };
    let txn = shared.kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let at = txn.snapshots().current().await?;
    for (key, value) in scan_all(&txn, seq, marks_span(), Record::Default).await? {
        let gateway: u64 = parse(&value)?;
        if gateway == gateways.id {
            // The gateway knows of its own change without reading the mark.
            continue;
        }
        if is_live(&txn, seq, gateway, at).await? {
            txn.rollback().await;
            return Ok(());
        }
        txn.delete(seq, key)?;
    }
    let expires = shared.clock.after(at, LEASE);
    let record = record(gateways, GatewayMode::Fast, expires);
    txn.put(seq, record_key(gateways.id), to_json(&record)?)?;
    txn.commit_terms().set_fence(lease.clone());
    let outcome = txn.commit().await;
    let mut state = gateways.state.lock();
    if let Ok(CommitOutcome::Committed(since)) = outcome {
        lease.extend(expires.0);
        state.epoch = Some(Epoch::new(lease, since));
        state.recorded = Some(GatewayMode::Fast);
        (state.renewed, state.safe_until) = (Some(looked), Some(looked + LEASE));
        return Ok(());
    }
    state.recorded = None;
    if is_over(&outcome) {
        state.lapse();
    }
    outcome.map(drop)
}

/// Whether a gateway's lease has not ended, as the transaction sees it, which has to prove it.
async fn is_live(
    txn: &Arc<braid_kv::Transaction>,
    seq: braid_kv::Seq,
    gateway: u64,
    at: Timestamp,
) -> KvResult<bool> {
    match txn.get(seq, &record_key(gateway)).await? {
        Some(value) => Ok(parse::<GatewayRecord>(&value)?.is_live(at)),
        None => Ok(false),
    }
}

/// Takes duties that were asked for and that nobody has who is still there.
async fn take_duties(gateways: &Gateways, shared: &SharedStore, roster: &Roster) -> KvResult<()> {
    let (wanted, lease): (Vec<&'static str>, _) = {
        let state = gateways.state.lock();
        let wanted = state.duties.iter().filter(|(_, owned)| !**owned);
        (wanted.map(|(duty, _)| *duty).collect(), state.lease.clone())
    };
    let Some(lease) = lease else { return Ok(()) };
    for duty in wanted {
        let owner = roster.duties.get(duty);
        if owner.is_some_and(|owner| *owner != gateways.id && roster.is_live(*owner)) {
            continue;
        }
        let txn = shared.kv.begin(TxnOptions::default());
        let seq = txn.next_statement();
        let at = txn.snapshots().current().await?;
        if let Some(value) = txn.get(seq, &duty_key(duty)).await? {
            let (_, owner): (String, u64) = parse(&value)?;
            if owner != gateways.id && is_live(&txn, seq, owner, at).await? {
                txn.rollback().await;
                continue;
            }
        }
        txn.put(seq, duty_key(duty), to_json(&(duty, gateways.id))?)?;
        txn.commit_terms().set_fence(lease.clone());
        if let CommitOutcome::Committed(_) = txn.commit().await? {
            tracing::info!(duty, gateway = gateways.id, "this gateway has a duty now");
            gateways.state.lock().duties.insert(duty, true);
        }
    }
    Ok(())
}

/// Removes the record of a gateway that has been gone for long.
async fn forget_dead(gateways: &Gateways, shared: &SharedStore, roster: &Roster) -> KvResult<()> {
    let is_old = |record: &&GatewayRecord| {
        record.id != gateways.id
            && shared.clock.after(Timestamp(record.expires), FORGET_AFTER) <= roster.at
    };
    let Some(dead) = roster.records.iter().find(is_old) else { return Ok(()) };
    let txn = shared.kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let at = txn.snapshots().current().await?;
    if is_live(&txn, seq, dead.id, at).await? {
        txn.rollback().await;
        return Ok(());
    }
    txn.delete(seq, record_key(dead.id))?;
    txn.delete(seq, mark_key(dead.id))?;
    txn.delete(seq, row_waits_key(dead.id))?;
    // If others were faster it is gone as well.
    txn.commit().await.map(drop)
}
