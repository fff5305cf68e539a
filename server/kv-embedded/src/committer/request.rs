//! The caller's half of a commit: locks, checks of the written keys, hand-over.
//!
//! What can be decided under the transaction's own locks is decided here, side by side with
//! others: the keys cannot change any more. Only read sets are left to the committer.

use super::queue::{Handed, Job};
use crate::{
    locks::{Request, Target},
    shared::{Shared, view_of},
    view::View,
};
use braid_kv::{
    Check, CommitOutcome, CommitRequest, Conflict, Error, LockStrength, LockWait, ReadSegment,
    Result, RetryReason, Snapshot, SpanSet, TxnId,
};
use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering::Relaxed},
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
};

/// Commits a transaction; see [`braid_kv::Store::commit`].
///
/// The guard exists before the future is first polled: dropped or not, the locks go.
pub(crate) fn commit(
    shared: &Shared,
    request: CommitRequest,
) -> impl Future<Output = Result<CommitOutcome>> + Send + '_ {
    let release = ReleaseOnDrop { shared, txn: Some(request.txn) };
    run(shared, request, release)
}

async fn run(
    shared: &Shared,
    request: CommitRequest,
    mut release: ReleaseOnDrop<'_>,
) -> Result<CommitOutcome> {
    let keep_locks = request.keep_locks;
    let outcome = decide(shared, request, &mut release).await;
    if keep_locks && matches!(outcome, Ok(CommitOutcome::Retry(_))) {
        release.txn = None;
    }
    outcome
}

async fn decide(
    shared: &Shared,
    mut request: CommitRequest,
    release: &mut ReleaseOnDrop<'_>,
) -> Result<CommitOutcome> {
    shared.check_running()?;
    lock_writes(shared, &request).await?;
    let now = shared.current();
    if let Some(conflict) = check_writes(shared, &request, &now.0)? {
        return Ok(refused(shared, conflict));
    }
    if let Some(duplicate) = find_duplicate(&request, &now.0)? {
        // What the transaction has read decides first: a key that it has seen absent and that is
        // there now is a changed read.
        for segment in &request.reads {
            if let Some(conflict) = shared.changed_by_now(segment)? {
                return Ok(refused(shared, conflict));
            }
        }
        return Err(duplicate);
    }
    if let Some(conflict) = renew_old_reads(shared, &mut request, &now)? {
        return Ok(refused(shared, conflict));
    }
    let (reply, receiver) = oneshot::channel();
    let mut answer = Awaited { shared, kept: request.keep_locks.then_some(request.txn), receiver };
    let bytes = request_bytes(&request);
    // The committer releases the locks from now on, even if nobody waits for the answer; but not
    // if it refuses the transaction.
    match shared.queue.hand_over(Job { request, bytes, reply }, may_lead()) {
        Handed::Waits => release.txn = None,
        Handed::Lead(committer, job) => {
            release.txn = None;
            if committer.is_quick() {
                committer.lead_one(job);
            } else {
                // The worker's other tasks go on elsewhere in the meantime.
                tokio::task::block_in_place(|| committer.lead_one(job));
            }
        }
        Handed::Refused => {
            shared.check_running()?;
            return Err(Error::Stopped("the server is shutting down".into()));
        }
    }
    let outcome = (&mut answer.receiver).await.unwrap_or(Ok(CommitOutcome::Unknown));
    answer.kept = None;
    outcome
}

/// The committer's answer on its way. If nobody waits for it any more, locks that a refusal has
/// kept go: here if the answer is there already, in the committer if it comes later.
struct Awaited<'a> {
    shared: &'a Shared,
    /// The transaction, if it keeps its locks after a refusal.
    kept: Option<TxnId>,
    receiver: oneshot::Receiver<Result<CommitOutcome>>,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        let Some(txn) = self.kept else { return };
        self.receiver.close();
        if let Ok(Ok(CommitOutcome::Retry(_))) = self.receiver.try_recv() {
            self.shared.locks.release(txn);
        }
    }
}

/// Whether this thread may wait for a sync: not where it is the only one that runs tasks.
fn may_lead() -> bool {
    Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread)
}

fn refused(shared: &Shared, conflict: Conflict) -> CommitOutcome {
    shared.counters.conflicts.fetch_add(1, Relaxed);
    CommitOutcome::Retry(conflict)
}

/// Locks everything that will be written, spans first, keys in key order.
async fn lock_writes(shared: &Shared, request: &CommitRequest) -> Result<()> {
    let spans = request.deleted_spans.spans().iter();
    let spans = spans.map(|span| Target::Span(Arc::new(span.clone())));
    let keys = request.writes.iter().map(|(key, _)| Target::Key(key.clone()));
    let targets: Vec<Target> = spans.chain(keys).collect();
    if shared.locks.take_now(request.txn, &targets)? {
        return Ok(());
    }
    let wanted = Request {
        txn: request.txn,
        strength: LockStrength::Exclusive,
        wait: LockWait::Block,
        timeout: request.lock_timeout,
    };
    shared.locks.take(wanted, &targets).await.map(drop)
}

/// REPEATABLE READ: a written key must not be newer than the snapshot.
fn check_writes(shared: &Shared, request: &CommitRequest, now: &View) -> Result<Option<Conflict>> {
    let Some(since) = &request.conflicts_since else { return Ok(None) };
    let since = view_of(since)?;
    let new: HashSet<&[u8]> = request.new_keys.iter().map(|new| new.key.as_ref()).collect();
    for (key, _) in &request.writes {
        if !new.contains(key.as_ref()) && shared.key_changed(key, since, now)? {
            return Ok(Some(Conflict::new(RetryReason::WriteConflict, Some(key.to_vec()))));
        }
    }
    if request.deleted_spans.is_empty() || since.number() >= now.number() {
        return Ok(None);
    }
    let found = shared.reread(since, now, &request.deleted_spans)?;
    Ok(found.map(|c| Conflict::new(RetryReason::WriteConflict, c.key)))
}

/// The first key, in the order of statements, that must not exist but does.
fn find_duplicate(request: &CommitRequest, now: &View) -> Result<Option<Error>> {
    let mut found = None;
    for new in &request.new_keys {
        if found.is_some_and(|(seq, _)| seq <= new.seq) {
            continue;
        }
        if now.version(&new.key)?.is_some() {
            found = Some((new.seq, &new.key));
        }
    }
    Ok(found.map(|(seq, key)| Error::Duplicate { key: key.to_vec(), seq }))
}

/// Reads that are older than the index are compared here, so that the committer need not: what
/// holds in the newest view is then as good as read there.
fn renew_old_reads(
    shared: &Shared,
    request: &mut CommitRequest,
    now: &Arc<crate::view::ViewHandle>,
) -> Result<Option<Conflict>> {
    for segment in &mut request.reads {
        if let Some(conflict) = renew(shared, segment, now)? {
            return Ok(Some(conflict));
        }
    }
    for check in &mut request.checks {
        if check.exists {
            if gone(shared, check, now)? {
                return Ok(Some(check.conflict.clone()));
            }
            continue;
        }
        if let Some(matching) = &check.matching {
            if shared.has_come(&check.snapshot, &check.span, matching, &now.0)? {
                return Ok(Some(check.conflict.clone()));
            }
            check.snapshot = now.clone() as Arc<dyn Snapshot>;
            continue;
        }
        let spans = SpanSet::from_iter([check.span.clone()]);
        let mut segment = ReadSegment { snapshot: check.snapshot.clone(), spans };
        if renew(shared, &mut segment, now)?.is_some() {
            return Ok(Some(check.conflict.clone()));
        }
        check.snapshot = segment.snapshot;
    }
    Ok(None)
}

/// Whether a key that has to exist is gone in the newest view, for checks older than the index.
fn gone(shared: &Shared, check: &mut Check, now: &Arc<crate::view::ViewHandle>) -> Result<bool> {
    let view = view_of(&check.snapshot)?;
    if !shared.options.validate || shared.recent.lock().knows(view.number()) {
        return Ok(false);
    }
    check.snapshot = now.clone() as Arc<dyn Snapshot>;
    Ok(now.0.version(&check.span.start)?.is_none())
}

fn renew(
    shared: &Shared,
    segment: &mut ReadSegment,
    now: &Arc<crate::view::ViewHandle>,
) -> Result<Option<Conflict>> {
    let view = view_of(&segment.snapshot)?;
    if !shared.options.validate || shared.recent.lock().knows(view.number()) {
        return Ok(None);
    }
    let conflict = shared.reread(view, &now.0, &segment.spans)?;
    segment.snapshot = now.clone() as Arc<dyn Snapshot>;
    Ok(conflict)
}

/// Roughly how many bytes the batch will take.
fn request_bytes(request: &CommitRequest) -> usize {
    let write =
        |(key, value): &braid_kv::Write| key.len() + value.as_ref().map_or(0, |v| v.len()) + 24;
    let spans = request.deleted_spans.spans().iter().map(|s| s.start.len() + s.end.len() + 32);
    request.writes.iter().map(write).sum::<usize>() + spans.sum::<usize>()
}

/// Releases the transaction's locks unless the committer will.
struct ReleaseOnDrop<'a> {
    shared: &'a Shared,
    txn: Option<TxnId>,
}

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(txn) = self.txn {
            self.shared.locks.release(txn);
        }
    }
}
