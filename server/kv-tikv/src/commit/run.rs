//! One commit from its request to its outcome.

use super::{
    context::{CommitContext, CommitFailure},
    finish::{FinalOutcome, PrimaryReply},
    plan::{Plan, proofs_of},
    prewrite::{Prewrite, Prewritten},
    validate::{Condition, Proof, prove},
};
use crate::{
    cluster::{Backoff, Cluster},
    gc::check_start,
    locks::{
        LockOptions, LockResolver, OldestPushed, RELEASE_WAIT, TransactionStart, TransactionStatus,
    },
    metrics::CommitKind,
    read::multi_get,
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

/// Attempts of one commit that meets writes newer than its start.
const ATTEMPTS_MAX: usize = 16;
/// Pause between reads of the clock while a commit is undecided.
const UNDECIDED_POLL: Duration = Duration::from_millis(100);
/// Commit timestamps that a commit takes when readers push it.
const PUSHES_MAX: usize = 64;
/// After this many pushes, a commit that also pushes an older one waits for the older one.
const YIELD_AFTER: usize = 2;

/// Commits; see [`braid_kv::Store::commit`]. Afterwards no lock is held.
pub(crate) async fn commit(
    context: CommitContext,
    request: CommitRequest,
) -> Result<CommitOutcome> {
    let context = Arc::new(context);
    let (had_locks, stray) = {
        let mut state = context.transaction.locks.lock();
        // Asked for by somebody who did not wait for the answer: they may be locked.
        let stray: Vec<Key> = std::mem::take(&mut state.asked).into_iter().collect();
        (!state.held.is_empty() || !stray.is_empty(), state.start.map(|start| (start, stray)))
    };
    let outcome = commit_with_restarts(&context, &request, had_locks).await;
    if let (Ok(CommitOutcome::Unknown), Some(fence)) = (&outcome, request.fence) {
        context.cluster().spawn(until_decided(context.cluster().clone(), fence));
    }
    if let Some((start, stray)) = stray.filter(|(_, stray)| !stray.is_empty()) {
        let of_commit = context.clone();
        context.cluster().spawn(async move {
            of_commit.lock_manager.release(&of_commit.transaction, start, stray).await;
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
            Ok(_) | Err(_) => tokio::time::sleep(UNDECIDED_POLL).await,
        }
    }
}

async fn commit_with_restarts(
    context: &Arc<CommitContext>,
    request: &CommitRequest,
    had_locks: bool,
) -> Result<CommitOutcome> {
    if context.transaction.has_lost() {
        clear(context).await;
        return Ok(CommitOutcome::Retry(Conflict::new(RetryReason::LockLost, None)));
    }
    let until = request.lock_timeout.map(|timeout| Instant::now() + timeout);
    let (mut attempts, mut locks_first) = (0, false);
    loop {
        attempts += 1;
        let options = Attempt { had_locks, locks_first, until };
        let end = match attempt(context, request, options).await {
            Ok(at) => {
                context.cluster().tso.acknowledge(at).await;
                return Ok(CommitOutcome::Committed(Timestamp(at)));
            }
            Err(end) => end,
        };
        if matches!(end, CommitFailure::OutcomeUnknown) {
            return Ok(CommitOutcome::Unknown);
        }
        clear(context).await;
        locks_first |= matches!(end, CommitFailure::RestartWithLocks);
        match end {
            CommitFailure::Restart | CommitFailure::RestartWithLocks | CommitFailure::Stopped
                if attempts < ATTEMPTS_MAX && !had_locks => {}
            CommitFailure::Restart
            | CommitFailure::RestartWithLocks
            | CommitFailure::Stopped
            | CommitFailure::OutcomeUnknown => {
                let conflict = Conflict::new(RetryReason::WriteConflict, None);
                return Ok(CommitOutcome::Retry(conflict));
            }
            CommitFailure::Retry(conflict) => return Ok(CommitOutcome::Retry(conflict)),
            CommitFailure::Yield(older) => {
                wait_for_older(context.cluster(), &older).await;
                let conflict = Conflict::new(RetryReason::WriteConflict, None);
                return Ok(CommitOutcome::Retry(conflict));
            }
            CommitFailure::Error(error) => return Err(error),
            CommitFailure::DuplicateKey => match existing(context, request).await? {
                Some(outcome) => return outcome,
                // It was there for a moment only.
                None if attempts < ATTEMPTS_MAX && !had_locks => {}
                None => {
                    let conflict = Conflict::new(RetryReason::WriteConflict, None);
                    return Ok(CommitOutcome::Retry(conflict));
                }
            },
        }
    }
}

/// Waits until an older transaction is decided, without any lock: a retry before that would only
/// push it again.
async fn wait_for_older(cluster: &Cluster, older: &LockInfo) {
    let mut backoff = Backoff::new(cluster.options.lock_ttl);
    while matches!(
        cluster.transaction_status(older, 0).await,
        Ok(TransactionStatus::Running | TransactionStatus::Pushed)
    ) {
        if !backoff.sleep().await {
            return;
        }
    }
}

/// What is to be written, and what has to hold for it, the spans that are locked among it.
async fn make_plan(
    context: &CommitContext,
    request: &CommitRequest,
    start: TransactionStart,
) -> Result<Plan, CommitFailure> {
    let (held, locked_spans) = {
        let state = context.transaction.locks.lock();
        (state.held.clone(), state.spans.clone())
    };
    let now = match request.deleted_spans.is_empty() {
        true => start.ts,
        false => context.cluster().tso.now().await?,
    };
    let mut plan = match Plan::make(&context.reads, request, &held, now).await {
        Err(Error::Duplicate { .. }) => return Err(CommitFailure::DuplicateKey),
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
    context: &CommitContext,
    start: TransactionStart,
    plan: &Plan,
    until: Option<Instant>,
) -> Result<(), CommitFailure> {
    let for_update_ts = context.cluster().tso.now().await?;
    let options =
        LockOptions { wait: LockWait::Block, until, for_update_ts, cancelled: Arc::default() };
    let keys = plan.changes.iter().map(|change| change.key.clone()).collect();
    match context.lock_manager.take(&context.transaction, start, keys, &options).await {
        Ok(_) => Ok(()),
        Err(Error::Retry(_)) => Err(CommitFailure::Restart),
        Err(error) => Err(error.into()),
    }
}

/// One try, from the timestamp to the commit.
async fn attempt(
    context: &Arc<CommitContext>,
    request: &CommitRequest,
    options: Attempt,
) -> Result<u64, CommitFailure> {
    let cluster = context.cluster();
    let transaction = &context.transaction;
    let start = transaction.start(cluster, None).await?;
    let mut plan = make_plan(context, request, start).await?;
    if options.locks_first {
        lock_all(context, start, &plan, options.until).await?;
        plan = make_plan(context, request, start).await?;
    }
    let Some(first) = plan.changes.first() else {
        let at = cluster.tso.now().await?;
        hold(context, &plan, at, start, &OldestPushed::default()).await?;
        return Ok(at);
    };
    let keys: Vec<Key> = plan.changes.iter().map(|change| change.key.clone()).collect();
    let primary = {
        let mut state = transaction.locks.lock();
        state.asked.extend(keys.iter().cloned());
        state.primary.get_or_insert_with(|| first.key.clone()).clone()
    };
    let prewrite = Prewrite {
        context,
        plan: &plan,
        start,
        primary: primary.clone(),
        pessimistic: options.had_locks || options.locks_first,
        may_restart: !options.had_locks,
        until: options.until,
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
            finish_later(context, start, keys, at);
            Ok((CommitKind::Async, at))
        }
        Ok(Prewritten::SlowAsync(at)) => {
            confirm(context, start, &primary, keys, at).await.map(|at| (CommitKind::Async, at))
        }
        Ok(Prewritten::Locked(floor)) => {
            let kind = if prewrite.one_trip { CommitKind::Fallback } else { CommitKind::TwoPhase };
            let locks = Locks { start, primary: &primary, keys, floor };
            let at = second_phase(context, &plan, locks, request.fence.as_deref()).await;
            at.map(|at| (kind, at))
        }
        Err(end) => Err(end),
    };
    // An asynchronous prewrite that came twice may have decided it meanwhile.
    let in_doubt = prewrite.one_trip && prewrite.in_doubt.into_inner();
    let (kind, at) = match result {
        Err(CommitFailure::OutcomeUnknown) => return Err(CommitFailure::OutcomeUnknown),
        Err(end) if in_doubt => match context.verdict(start, &primary).await {
            FinalOutcome::Committed(at) => (CommitKind::Async, at),
            FinalOutcome::RolledBack => return Err(end),
            FinalOutcome::Unknown => return Err(CommitFailure::OutcomeUnknown),
        },
        result => result?,
    };
    cluster.metrics.committed(kind);
    Ok(at)
}

/// The locks of a commit, once all of them have been prewritten.
struct Locks<'a> {
    start: TransactionStart,
    primary: &'a Key,
    keys: Vec<Key>,
    /// No lock may be committed below.
    floor: u64,
}

/// Timestamp, proofs, commit of the primary; again while others push.
///
/// The age of the transaction is looked at after the last prewrite. Others may have rolled it back
/// while it stood still, and the safe point may have passed the records of that; then late
/// prewrites are not refused any more.
///
/// Two that have read what the other one writes push each other in their proofs, for ever if the
/// proofs take longer than the commit after them. One of them has to lose anyway: the younger one
/// lets the older one go first.
async fn second_phase(
    context: &Arc<CommitContext>,
    plan: &Plan,
    locks: Locks<'_>,
    fence: Option<&dyn CommitFence>,
) -> Result<u64, CommitFailure> {
    let Locks { start, primary, keys, floor } = locks;
    check_start(context.cluster(), start.ts).await?;
    context.cluster().tso.reach(floor).await?;
    let mut yields = 0;
    for _ in 0..PUSHES_MAX {
        let at = context.cluster().tso.now().await?;
        if fence.is_some_and(|fence| fence.before().0 <= at) {
            return Err(CommitFailure::Retry(Conflict::new(RetryReason::SchemaChanged, None)));
        }
        let pushed = OldestPushed::default();
        hold(context, plan, at, start, &pushed).await?;
        let done = Mutex::default();
        match context.commit_primary(start, primary, &keys, at, &done).await? {
            PrimaryReply::Committed => {
                let done = done.into_inner();
                let rest = keys.into_iter().filter(|key| !done.contains(key)).collect();
                finish_later(context, start, rest, at);
                return Ok(at);
            }
            PrimaryReply::TooEarly => {
                if let Some(older) = pushed.before(start.ts) {
                    yields += 1;
                    if yields == YIELD_AFTER {
                        return Err(CommitFailure::Yield(Box::new(older)));
                    }
                }
            }
            PrimaryReply::Gone | PrimaryReply::NoAnswer => {
                return decided(context, start, primary, keys).await;
            }
        }
    }
    Err(CommitFailure::Retry(Conflict::new(RetryReason::WriteConflict, None)))
}

/// Commits the primary of an asynchronous commit before anybody is told of it.
async fn confirm(
    context: &Arc<CommitContext>,
    start: TransactionStart,
    primary: &Key,
    keys: Vec<Key>,
    at: u64,
) -> Result<u64, CommitFailure> {
    check_start(context.cluster(), start.ts).await?;
    let done = Mutex::default();
    if let PrimaryReply::Committed =
        context.commit_primary(start, primary, &keys, at, &done).await?
    {
        let done = done.into_inner();
        finish_later(context, start, keys.into_iter().filter(|k| !done.contains(k)).collect(), at);
        return Ok(at);
    }
    decided(context, start, primary, keys).await
}

/// The outcome of a commit whose primary did not say that it is committed.
async fn decided(
    context: &Arc<CommitContext>,
    start: TransactionStart,
    primary: &Key,
    keys: Vec<Key>,
) -> Result<u64, CommitFailure> {
    match context.verdict(start, primary).await {
        FinalOutcome::Committed(at) => {
            finish_later(context, start, keys, at);
            Ok(at)
        }
        FinalOutcome::RolledBack => {
            let key = Some(primary.clone());
            Err(CommitFailure::Retry(Conflict::new(RetryReason::WriteConflict, key)))
        }
        FinalOutcome::Unknown => Err(CommitFailure::OutcomeUnknown),
    }
}

/// Everything that has to hold does so at `at`.
async fn hold(
    context: &CommitContext,
    plan: &Plan,
    at: u64,
    start: TransactionStart,
    pushed: &OldestPushed,
) -> Result<(), CommitFailure> {
    if !context.cluster().options.validate {
        return Ok(());
    }
    match prove(&context.reads, &plan.proofs, at, start.ts, pushed).await? {
        None => Ok(()),
        Some(conflict) => {
            let key = conflict.key.as_ref();
            let absent = |proof: &Proof| match &proof.what {
                Condition::Absent(absent) => Some(absent) == key,
                _ => false,
            };
            match plan.proofs.iter().any(absent) {
                true => Err(CommitFailure::DuplicateKey),
                false => Err(CommitFailure::Retry(conflict)),
            }
        }
    }
}

fn finish_later(context: &Arc<CommitContext>, start: TransactionStart, keys: Vec<Key>, at: u64) {
    if keys.is_empty() {
        return;
    }
    let cluster = context.cluster().clone();
    let context = context.clone();
    cluster.spawn(async move { context.commit_rest(start, keys, at).await });
}

/// Rolls back what the attempt may have left in TiKV, and forgets it.
async fn clear(context: &Arc<CommitContext>) {
    let (start, mut keys) = {
        let mut state = context.transaction.locks.lock();
        state.primary = None;
        state.two_phases = false;
        context.transaction.forget_losses();
        let held = std::mem::take(&mut state.held).into_keys();
        let keys: Vec<Key> = held.chain(std::mem::take(&mut state.asked)).collect();
        (state.start.take(), keys)
    };
    let Some(start) = start else { return };
    let context = context.clone();
    let cluster = context.cluster().clone();
    let work = cluster.spawn(async move {
        keys.sort_unstable();
        keys.dedup();
        context.roll_back(start, keys).await;
    });
    // What takes longer goes on by itself.
    let _ = tokio::time::timeout(RELEASE_WAIT, work).await;
}

/// After "already exists": what was read decides first, then the earliest statement's key counts.
/// `None` if no key is there any more.
async fn existing(
    context: &CommitContext,
    request: &CommitRequest,
) -> Result<Option<Result<CommitOutcome>>> {
    let cluster = context.cluster();
    let now = cluster.tso.now().await?;
    let proofs = proofs_of(&request.reads, |_, _| false)?;
    if let Some(conflict) = prove(&context.reads, &proofs, now, 0, &OldestPushed::default()).await?
    {
        return Ok(Some(Ok(CommitOutcome::Retry(conflict))));
    }
    let keys: Vec<Key> = request.new_keys.iter().map(|new| new.key.to_vec()).collect();
    let found = multi_get(cluster, keys.clone(), now, LockResolver::new(cluster, now, 0)).await?;
    // The first row's, as far as they are of one statement: they are in the order of its puts.
    let duties = keys.iter().zip(&request.new_keys);
    Ok(duties
        .filter(|(key, _)| found.contains_key(*key))
        .map(|(_, new)| new)
        .min_by_key(|new| new.seq)
        .map(|new| Err(Error::Duplicate { key: new.key.to_vec(), seq: new.seq })))
}
