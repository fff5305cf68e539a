//! One commit from its request to its outcome.

use super::{Proof, What};
use super::{
    finish::{Primary, Verdict},
    plan::{Plan, proofs_of},
    prewrite::{Prewrite, Prewritten},
    prove,
};
use crate::{
    backoff::Backoff,
    cluster::Cluster,
    locals::{Local, Start},
    locks::{CLEARING, Locking, Wish},
    meeting::{Meeting, OldestPushed},
    metrics::CommitKind,
    resolve::Fate,
    snapshot::{Ground, multi_get},
};
use braid_kv::{
    CommitFence, CommitOutcome, CommitRequest, Conflict, Error, Key, LockWait, Result, RetryReason,
    Timestamp,
};
use braid_tikv_proto::kvrpcpb::LockInfo;
use parking_lot::Mutex;
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// So often a commit begins anew by itself, when it meets writes that are newer than its start.
const BEGINNINGS_MAX: usize = 16;
/// Between two looks at the clock while a commit is undecided.
const UNDECIDED_PAUSE: Duration = Duration::from_millis(100);
/// So often it takes a new timestamp when others have pushed it.
const PUSHES_MAX: usize = 64;
/// A commit that is pushed so often while it pushes an older one itself lets that one go first.
const YIELD_AFTER: usize = 2;

/// Why a commit did not come about.
pub(super) enum End {
    /// Beginning anew with a newer timestamp helps, and nobody notices.
    Again,
    /// The same, and this time its keys are to be locked before anything is prewritten.
    LocksFirst,
    Retry(Conflict),
    /// The holder of that lock goes first.
    Yield(Box<LockInfo>),
    /// A key that must not exist does.
    Exists,
    Fail(Error),
    /// Nobody knows what became of it: nothing may be cleaned up.
    Unknown,
    /// Another region has failed; its reason counts.
    Stopped,
}

impl End {
    /// The one that counts of two: the first that is a reason.
    pub fn first(one: Option<End>, other: End) -> End {
        match one {
            None | Some(End::Stopped) => other,
            Some(one) => one,
        }
    }
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        match error {
            Error::Retry(conflict) => End::Retry(*conflict),
            error => End::Fail(error),
        }
    }
}

/// A commit under way.
pub(crate) struct Committing {
    pub ground: Arc<Ground>,
    pub locking: Locking,
    pub local: Arc<Local>,
}

impl Committing {
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.ground.cluster
    }
}

/// Commits; see [`braid_kv::Store::commit`]. Afterwards no lock is held.
pub(crate) async fn commit(
    committing: Committing,
    request: CommitRequest,
) -> Result<CommitOutcome> {
    let committing = Arc::new(committing);
    let (had_locks, stray) = {
        let mut state = committing.local.state.lock();
        // Asked for by somebody who did not wait for the answer: they may be locked.
        let stray: Vec<Key> = std::mem::take(&mut state.asked).into_iter().collect();
        (!state.held.is_empty() || !stray.is_empty(), state.start.map(|start| (start, stray)))
    };
    let outcome = begin_until_done(&committing, &request, had_locks).await;
    if let (Ok(CommitOutcome::Unknown), Some(fence)) = (&outcome, request.fence) {
        committing.cluster().spawn(until_decided(committing.cluster().clone(), fence));
    }
    if let Some((start, stray)) = stray.filter(|(_, stray)| !stray.is_empty()) {
        let of_commit = committing.clone();
        committing.cluster().spawn(async move {
            of_commit.locking.give_back(&of_commit.local, start, stray).await;
        });
    }
    outcome
}

/// Keeps the fence until time has passed it: by then the commit has taken place or never will.
async fn until_decided(cluster: Arc<Cluster>, fence: Arc<dyn CommitFence>) {
    let before = fence.before().0;
    loop {
        match cluster.tso.now().await {
            Ok(now) if now >= before => return,
            Err(Error::Stopped(_)) => return,
            Ok(_) | Err(_) => tokio::time::sleep(UNDECIDED_PAUSE).await,
        }
    }
}

async fn begin_until_done(
    committing: &Arc<Committing>,
    request: &CommitRequest,
    had_locks: bool,
) -> Result<CommitOutcome> {
    if committing.local.has_lost() {
        clear(committing).await;
        return Ok(CommitOutcome::Retry(Conflict::new(RetryReason::LockLost, None)));
    }
    let until = request.lock_timeout.map(|timeout| Instant::now() + timeout);
    let (mut beginnings, mut locks_first) = (0, false);
    loop {
        beginnings += 1;
        let manner = Attempt { had_locks, locks_first, until };
        let end = match attempt(committing, request, manner).await {
            Ok(at) => return Ok(CommitOutcome::Committed(Timestamp(at))),
            Err(end) => end,
        };
        if matches!(end, End::Unknown) {
            return Ok(CommitOutcome::Unknown);
        }
        clear(committing).await;
        locks_first |= matches!(end, End::LocksFirst);
        match end {
            End::Again | End::LocksFirst | End::Stopped
                if beginnings < BEGINNINGS_MAX && !had_locks => {}
            End::Again | End::LocksFirst | End::Stopped | End::Unknown => {
                let conflict = Conflict::new(RetryReason::WriteConflict, None);
                return Ok(CommitOutcome::Retry(conflict));
            }
            End::Retry(conflict) => return Ok(CommitOutcome::Retry(conflict)),
            End::Yield(older) => {
                let_go_first(committing.cluster(), &older).await;
                let conflict = Conflict::new(RetryReason::WriteConflict, None);
                return Ok(CommitOutcome::Retry(conflict));
            }
            End::Fail(error) => return Err(error),
            End::Exists => match existing(committing, request).await? {
                Some(outcome) => return outcome,
                // It was there for a moment only.
                None if beginnings < BEGINNINGS_MAX && !had_locks => {}
                None => {
                    let conflict = Conflict::new(RetryReason::WriteConflict, None);
                    return Ok(CommitOutcome::Retry(conflict));
                }
            },
        }
    }
}

/// Waits until an older transaction is decided, with nothing held: whoever runs again before would
/// only push it again.
async fn let_go_first(cluster: &Cluster, older: &LockInfo) {
    let mut backoff = Backoff::new(cluster.options.lock_ttl);
    while matches!(cluster.fate(older, 0).await, Ok(Fate::Alive | Fate::Pushed)) {
        if !backoff.sleep().await {
            return;
        }
    }
}

/// What is to be written, and what has to hold for it, the spans that are locked among it.
async fn make_plan(
    committing: &Committing,
    request: &CommitRequest,
    start: Start,
) -> Result<Plan, End> {
    let (held, locked_spans) = {
        let state = committing.local.state.lock();
        (state.held.clone(), state.spans.clone())
    };
    let now = match request.deleted_spans.is_empty() {
        true => start.ts,
        false => committing.cluster().tso.now().await?,
    };
    let mut plan = match Plan::make(&committing.ground, request, &held, now).await {
        Err(Error::Duplicate { .. }) => return Err(End::Exists),
        plan => plan?,
    };
    plan.proofs.extend(locked_spans.iter().map(|(span, since)| {
        let conflict = Conflict::new(RetryReason::SpanChanged, Some(span.start.clone()));
        Proof::same(span, since, conflict)
    }));
    Ok(plan)
}

/// How one try goes about it.
struct Attempt {
    /// The client holds locks.
    had_locks: bool,
    /// All keys are locked before the prewrite.
    locks_first: bool,
    /// When the patience with locks of others is over.
    until: Option<Instant>,
}

/// Locks everything that is to be written, in the order of keys; readers are not in its way.
async fn lock_all(
    committing: &Committing,
    start: Start,
    plan: &Plan,
    until: Option<Instant>,
) -> Result<(), End> {
    let for_update_ts = committing.cluster().tso.now().await?;
    let wish = Wish { wait: LockWait::Block, until, for_update_ts, given_up: Arc::default() };
    let keys = plan.changes.iter().map(|change| change.key.clone()).collect();
    match committing.locking.take(&committing.local, start, keys, &wish).await {
        Ok(_) => Ok(()),
        Err(Error::Retry(_)) => Err(End::Again),
        Err(error) => Err(error.into()),
    }
}

/// One try, from the timestamp to the commit.
async fn attempt(
    committing: &Arc<Committing>,
    request: &CommitRequest,
    manner: Attempt,
) -> Result<u64, End> {
    let cluster = committing.cluster();
    let local = &committing.local;
    let start = local.start(cluster, None).await?;
    let mut plan = make_plan(committing, request, start).await?;
    if manner.locks_first {
        lock_all(committing, start, &plan, manner.until).await?;
        plan = make_plan(committing, request, start).await?;
    }
    let Some(first) = plan.changes.first() else {
        let at = cluster.tso.now().await?;
        hold(committing, &plan, at, start, &OldestPushed::default()).await?;
        return Ok(at);
    };
    let keys: Vec<Key> = plan.changes.iter().map(|change| change.key.clone()).collect();
    let primary = {
        let mut state = local.state.lock();
        state.asked.extend(keys.iter().cloned());
        state.primary.get_or_insert_with(|| first.key.clone()).clone()
    };
    let prewrite = Prewrite {
        committing,
        plan: &plan,
        start,
        primary: primary.clone(),
        pessimistic: manner.had_locks || manner.locks_first,
        may_begin_anew: !manner.had_locks,
        until: manner.until,
        stop: AtomicBool::new(false),
        in_doubt: AtomicBool::new(false),
        one_trip: plan.proofs.is_empty() && cluster.options.one_trip_commits,
        stands: AtomicBool::new(false),
        primary_stands: AtomicBool::new(false),
        fence: request.fence.as_deref(),
    };
    let result = match prewrite.run().await {
        Ok(Prewritten::Committed(at)) => Ok((CommitKind::OnePhase, at)),
        Ok(Prewritten::Async(at)) => {
            finish_later(committing, start, keys, at);
            Ok((CommitKind::Async, at))
        }
        Ok(Prewritten::SlowAsync(at)) => {
            confirm(committing, start, &primary, keys, at).await.map(|at| (CommitKind::Async, at))
        }
        Ok(Prewritten::Locked) => {
            let kind = if prewrite.one_trip { CommitKind::Fallback } else { CommitKind::TwoPhase };
            let fence = request.fence.as_deref();
            let at = second_phase(committing, &plan, start, &primary, keys, fence).await;
            at.map(|at| (kind, at))
        }
        Err(end) => Err(end),
    };
    // An asynchronous prewrite that came twice may have decided it meanwhile.
    let in_doubt = prewrite.one_trip && prewrite.in_doubt.into_inner();
    let (kind, at) = match result {
        Err(End::Unknown) => return Err(End::Unknown),
        Err(end) if in_doubt => match committing.verdict(start, &primary).await {
            Verdict::Committed(at) => (CommitKind::Async, at),
            Verdict::RolledBack => return Err(end),
            Verdict::Unknown => return Err(End::Unknown),
        },
        result => result?,
    };
    cluster.metrics.committed(kind);
    Ok(at)
}

/// Timestamp, proofs, commit of the primary; again while others push.
///
/// Two that have read what the other one writes push each other in their proofs, for ever if the
/// proofs take longer than the commit after them. One of them has to lose anyway: the younger one
/// lets the older one go first.
async fn second_phase(
    committing: &Arc<Committing>,
    plan: &Plan,
    start: Start,
    primary: &Key,
    keys: Vec<Key>,
    fence: Option<&dyn CommitFence>,
) -> Result<u64, End> {
    let mut yields = 0;
    for _ in 0..PUSHES_MAX {
        let at = committing.cluster().tso.now().await?;
        if fence.is_some_and(|fence| fence.before().0 <= at) {
            return Err(End::Retry(Conflict::new(RetryReason::SchemaChanged, None)));
        }
        let pushed = OldestPushed::default();
        hold(committing, plan, at, start, &pushed).await?;
        let done = Mutex::default();
        match committing.commit_primary(start, primary, &keys, at, &done).await? {
            Primary::Committed => {
                let done = done.into_inner();
                let rest = keys.into_iter().filter(|key| !done.contains(key)).collect();
                finish_later(committing, start, rest, at);
                return Ok(at);
            }
            Primary::TooEarly => {
                if let Some(older) = pushed.before(start.ts) {
                    yields += 1;
                    if yields == YIELD_AFTER {
                        return Err(End::Yield(Box::new(older)));
                    }
                }
            }
            Primary::Gone | Primary::NoAnswer => {
                return decided(committing, start, primary, keys).await;
            }
        }
    }
    Err(End::Retry(Conflict::new(RetryReason::WriteConflict, None)))
}

/// Commits the primary of an asynchronous commit before anybody is told of it.
async fn confirm(
    committing: &Arc<Committing>,
    start: Start,
    primary: &Key,
    keys: Vec<Key>,
    at: u64,
) -> Result<u64, End> {
    let done = Mutex::default();
    if let Primary::Committed = committing.commit_primary(start, primary, &keys, at, &done).await? {
        let done = done.into_inner();
        finish_later(
            committing,
            start,
            keys.into_iter().filter(|k| !done.contains(k)).collect(),
            at,
        );
        return Ok(at);
    }
    decided(committing, start, primary, keys).await
}

/// The outcome of a commit whose primary did not say that it is committed.
async fn decided(
    committing: &Arc<Committing>,
    start: Start,
    primary: &Key,
    keys: Vec<Key>,
) -> Result<u64, End> {
    match committing.verdict(start, primary).await {
        Verdict::Committed(at) => {
            finish_later(committing, start, keys, at);
            Ok(at)
        }
        Verdict::RolledBack => {
            let key = committing.ground.prefix.strip(primary).to_vec();
            Err(End::Retry(Conflict::new(RetryReason::WriteConflict, Some(key))))
        }
        Verdict::Unknown => Err(End::Unknown),
    }
}

/// Everything that has to hold does so at `at`.
async fn hold(
    committing: &Committing,
    plan: &Plan,
    at: u64,
    start: Start,
    pushed: &OldestPushed,
) -> Result<(), End> {
    if !committing.cluster().options.validate {
        return Ok(());
    }
    match prove(&committing.ground, &plan.proofs, at, start.ts, pushed).await? {
        None => Ok(()),
        Some(conflict) => {
            let key = conflict.key.as_ref();
            let is_duty =
                |proof: &Proof| matches!(&proof.what, What::Absent(duty) if Some(duty) == key);
            match plan.proofs.iter().any(is_duty) {
                true => Err(End::Exists),
                false => Err(End::Retry(conflict)),
            }
        }
    }
}

fn finish_later(committing: &Arc<Committing>, start: Start, keys: Vec<Key>, at: u64) {
    if keys.is_empty() {
        return;
    }
    let cluster = committing.cluster().clone();
    let committing = committing.clone();
    cluster.spawn(async move { committing.commit_rest(start, keys, at).await });
}

/// Takes everything back that the attempt may have left, and forgets it.
async fn clear(committing: &Arc<Committing>) {
    let (start, mut keys) = {
        let mut state = committing.local.state.lock();
        state.primary = None;
        state.two_phases = false;
        committing.local.forget_losses();
        let held = std::mem::take(&mut state.held).into_keys();
        let keys: Vec<Key> = held.chain(std::mem::take(&mut state.asked)).collect();
        (state.start.take(), keys)
    };
    let Some(start) = start else { return };
    let committing = committing.clone();
    let cluster = committing.cluster().clone();
    let work = cluster.spawn(async move {
        keys.sort_unstable();
        keys.dedup();
        committing.roll_back(start, keys).await;
    });
    // What takes longer goes on by itself.
    let _ = tokio::time::timeout(CLEARING, work).await;
}

/// After "already exists": what was read decides first, then the earliest statement's key counts.
/// `None` if no key is there any more.
async fn existing(
    committing: &Committing,
    request: &CommitRequest,
) -> Result<Option<Result<CommitOutcome>>> {
    let cluster = committing.cluster();
    let now = cluster.tso.now().await?;
    let proofs = proofs_of(&request.reads, |_, _| false)?;
    if let Some(conflict) =
        prove(&committing.ground, &proofs, now, 0, &OldestPushed::default()).await?
    {
        return Ok(Some(Ok(CommitOutcome::Retry(conflict))));
    }
    let prefix = &committing.ground.prefix;
    let keys: Vec<Key> = request.new_keys.iter().map(|new| prefix.key(&new.key)).collect();
    let found = multi_get(cluster, keys.clone(), now, Meeting::new(cluster, now, 0)).await?;
    // The first row's, as far as they are of one statement: they are in the order of its puts.
    let duties = keys.iter().zip(&request.new_keys);
    Ok(duties
        .filter(|(key, _)| found.contains_key(*key))
        .map(|(_, new)| new)
        .min_by_key(|new| new.seq)
        .map(|new| Err(Error::Duplicate { key: new.key.to_vec(), seq: new.seq })))
}
