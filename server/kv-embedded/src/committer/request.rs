//! The caller's half of a commit: locks, checks of the written keys, hand-over.
//!
//! What can be decided under the transaction's own locks is decided here, side by side with
//! others: the keys cannot change any more. Only read sets are left to the committer.

use super::{
    queue::{HandOver, Job, Work},
    validate::{check_writes, find_duplicate, renew_old_reads},
};
use crate::{
    ingestion::USER_KEYS_END,
    locks::{Request, Target},
    shared::Shared,
};
use braid_kv::{
    CommitOutcome, CommitRequest, Conflict, Error, KeepLocks, LockStrength, LockWait, Result, TxnId,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
};

/// A commit of more than this is not quick, however quick those before it were.
const QUICK_BYTES_MAX: usize = 256 << 10;

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
    if keep_locks.after(&outcome) {
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
    check_keys(&request)?;
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
    let restarts = request.keep_locks == KeepLocks::AfterRetry;
    let mut answer = PendingOutcome { shared, kept: restarts.then_some(request.txn), receiver };
    let bytes = request_bytes(&request);
    // The committer releases the locks from now on, even if nobody waits for the answer; but not
    // if it refuses the transaction.
    match shared.queue.hand_over(Job { request, bytes, reply }, may_lead()) {
        HandOver::Waits => release.txn = None,
        HandOver::Lead(committer, job) => {
            release.txn = None;
            if committer.is_quick() && job.bytes <= QUICK_BYTES_MAX {
                committer.lead(Work::one(job));
            } else {
                // The worker's other tasks go on elsewhere in the meantime.
                tokio::task::block_in_place(|| committer.lead(Work::one(job)));
            }
        }
        HandOver::Refused => {
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
struct PendingOutcome<'a> {
    shared: &'a Shared,
    /// The transaction, if it keeps its locks after a refusal.
    kept: Option<TxnId>,
    receiver: oneshot::Receiver<Result<CommitOutcome>>,
}

impl Drop for PendingOutcome<'_> {
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

/// Refuses writes among the store's own keys: its marker must stay ([`crate::ingestion::MARKER`]).
fn check_keys(request: &CommitRequest) -> Result<()> {
    let is_own = request.writes.last().is_some_and(|(key, _)| **key >= *USER_KEYS_END)
        || request.deleted_spans.spans().last().is_some_and(|s| s.end.as_slice() > USER_KEYS_END);
    if is_own {
        return Err(Error::Storage("keys from 0xff on are the store's own".into()));
    }
    Ok(())
}

/// Locks everything that will be written, spans first, keys in key order.
async fn lock_writes(shared: &Shared, request: &CommitRequest) -> Result<()> {
    let targets = || {
        let spans = request.deleted_spans.spans().iter();
        let spans = spans.map(|span| Target::Span(Arc::new(span.clone())));
        spans.chain(request.writes.iter().map(|(key, _)| Target::Key(key.clone())))
    };
    if shared.locks.take_now(request.txn, targets())? {
        return Ok(());
    }
    let targets: Vec<Target> = targets().collect();
    let wanted = Request {
        txn: request.txn,
        strength: LockStrength::Exclusive,
        wait: LockWait::Block,
        timeout: request.lock_timeout,
    };
    shared.locks.take(wanted, &targets).await.map(drop)
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
