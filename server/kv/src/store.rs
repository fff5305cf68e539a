//! What a store must offer. Everything that every store would do alike (buffering, read sets,
//! savepoints, refresh, counting) lives in [`crate::Transaction`] instead.
//!
//! The trait can be used as `dyn Store`. Calls answer with an [`Answer`]: ready at once (the
//! embedded store almost always is), or a future.

use crate::{
    CommitFence, Conflict, Error, HistogramValues, Key, KeyShape, LockRequest, LockStrength,
    Matching, Result, ScanBatch, Seq, SessionLocks, Span, SpanSet, StoreClock, StoreMetric,
    Timestamp, TxnId, Value,
};
use crate::{garbage::Garbage, keys::ShapedCursor};
use futures_util::future::BoxFuture;
use std::{
    any::Any,
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::AtomicBool},
    task::{Context, Poll},
    time::Duration,
};

/// A result that is there already, or has to be waited for.
pub enum Answer<'a, T> {
    /// There already. `None` once it was taken.
    Ready(Option<T>),
    /// To be waited for.
    Wait(BoxFuture<'a, T>),
}

impl<'a, T> Answer<'a, T> {
    /// An answer that is there already.
    pub fn ready(value: T) -> Answer<'a, T> {
        Answer::Ready(Some(value))
    }

    /// An answer to be waited for.
    pub fn wait(future: impl Future<Output = T> + Send + 'a) -> Answer<'a, T> {
        Answer::Wait(Box::pin(future))
    }
}

impl<T: Unpin> Future for Answer<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            Answer::Ready(value) => {
                Poll::Ready(value.take().expect("an answer is polled once after it is ready"))
            }
            Answer::Wait(future) => future.as_mut().poll(context),
        }
    }
}

/// A consistent view of the store. While a handle lives, the store keeps what it shows.
pub trait Snapshot: Send + Sync + 'static {
    /// Its place in the order of commits: everything up to here is visible.
    fn timestamp(&self) -> Timestamp;

    /// The value of a key.
    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Value>>>;

    /// The values of many keys in one wait.
    fn multi_get<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Result<Vec<Option<Value>>>>;

    /// Opens a scan. Nothing is read before the first batch.
    fn scan(&self, span: Span, reverse: bool, keys_only: bool) -> Box<dyn Cursor>;

    /// The same for the keys of one kind only. A batch may be empty although more follows.
    fn scan_shaped(
        &self,
        span: Span,
        reverse: bool,
        keys_only: bool,
        shape: Arc<dyn KeyShape>,
    ) -> Box<dyn Cursor> {
        Box::new(ShapedCursor::new(self.scan(span, reverse, keys_only), shape))
    }

    /// Announces that transactions which begin later may read at this snapshot.
    fn share(&self) {}

    /// The concrete type, for the store that made it.
    fn as_any(&self) -> &dyn Any;
}

/// An open scan.
pub trait Cursor: Send {
    /// The next entries: at most `rows` of them, and it stops once `bytes` are reached.
    fn next_batch(&mut self, rows: usize, bytes: usize) -> Answer<'_, Result<ScanBatch>>;
}

/// Reads that were done at one snapshot.
#[derive(Clone)]
pub struct ReadSegment {
    /// Where they were done.
    pub snapshot: Arc<dyn Snapshot>,
    /// What was read.
    pub spans: SpanSet,
}

/// A read that must hold at every isolation level.
#[derive(Clone)]
pub struct Check {
    /// Where it was done.
    pub snapshot: Arc<dyn Snapshot>,
    /// What was read.
    pub span: Span,
    /// The span is one key, and all that matters is that it still exists.
    pub exists: bool,
    /// The span may change; all that matters is that no entry of this kind is put into it.
    pub matching: Option<Matching>,
    /// What the conflict says; its key and tag tell the caller which check it was.
    pub conflict: Conflict,
}

/// A key that must not exist before this transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// The key.
    pub key: Arc<[u8]>,
    /// The statement that put it.
    pub seq: Seq,
}

/// One key's final state. `None` deletes it.
pub type Write = (Arc<[u8]>, Option<Value>);

/// Learns of commits in their order.
pub trait CommitObserver: Send + Sync {
    /// The transaction is committed and visible. Runs on the committer's thread, so it must be
    /// short and must not wait.
    fn committed(&self, at: Timestamp);
}

/// Everything that a store needs to commit a transaction.
pub struct CommitRequest {
    /// The transaction; the store releases its locks afterwards.
    pub txn: TxnId,
    /// Reads to be proved unchanged, each since its own snapshot.
    pub reads: Vec<ReadSegment>,
    /// Reads that must hold at every isolation level.
    pub checks: Vec<Check>,
    /// If set, a written key with a version newer than this snapshot is a write conflict.
    /// Keys in `new_keys` are left out: for them the answer is "duplicate".
    pub conflicts_since: Option<Arc<dyn Snapshot>>,
    /// Keys that must not exist.
    pub new_keys: Vec<NewKey>,
    /// Range deletes; they come before `writes`.
    pub deleted_spans: SpanSet,
    /// Final states in key order.
    pub writes: Vec<Write>,
    /// How long one lock of another transaction is waited for.
    pub lock_timeout: Option<Duration>,
    /// After which ends its locks stay with the transaction, those on what it wanted to write
    /// included; its owner releases them. Every other end releases them as ever.
    pub keep_locks: KeepLocks,
    /// Before which point of time it has to take place; later it is a retry (`schema_changed`).
    /// Kept until the outcome is decided. Only stores with a clock mind it.
    pub fence: Option<Arc<dyn CommitFence>>,
    /// Called before the commit is acknowledged, in the order of commits. Only a store whose
    /// commits all pass through this process calls it, one without a clock.
    pub observer: Option<Arc<dyn CommitObserver>>,
}

/// After which ends of a commit the transaction's locks stay with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepLocks {
    /// After none.
    Never,
    /// After a retry: the transaction begins again with them.
    AfterRetry,
    /// Once it has committed, for a transaction that was prepared by this commit. Only for stores
    /// that can prepare.
    OnceCommitted,
    /// After every end but a commit, for the end of a prepared transaction. Only for stores that
    /// can prepare.
    UnlessCommitted,
}

impl KeepLocks {
    /// Whether they stay after this end.
    pub fn after(self, end: &Result<CommitOutcome>) -> bool {
        match (self, end) {
            (KeepLocks::Never, _) => false,
            (KeepLocks::AfterRetry, end) => matches!(end, Ok(CommitOutcome::Retry(_))),
            (KeepLocks::OnceCommitted, end) => matches!(end, Ok(CommitOutcome::Committed(_))),
            (KeepLocks::UnlessCommitted, end) => !matches!(end, Ok(CommitOutcome::Committed(_))),
        }
    }
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Durable, at this point of the order.
    Committed(Timestamp),
    /// Not committed; running the transaction again may help (40001).
    Retry(Conflict),
    /// Nobody knows (40003).
    Unknown,
}

impl CommitOutcome {
    /// Every outcome but success as an error.
    pub fn into_result(self) -> Result<Timestamp> {
        match self {
            CommitOutcome::Committed(at) => Ok(at),
            CommitOutcome::Retry(conflict) => Err(Error::Retry(Box::new(conflict))),
            CommitOutcome::Unknown => Err(Error::Unknown),
        }
    }
}

/// The answer to a lock request.
pub struct LockGrant {
    /// For each target, in the given order: whether it was locked (false: skipped).
    pub granted: Vec<bool>,
    /// For each target: whether it has changed since the snapshot that was given.
    pub changed: Vec<bool>,
    /// For each key: its newest value, if values were asked for.
    pub values: Vec<Option<Value>>,
    /// The view that `changed` and `values` are from.
    pub newest: Arc<dyn Snapshot>,
}

/// A held or awaited lock, for `braid_internal.locks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// What is locked.
    pub span: Span,
    /// Who holds it or waits for it.
    pub txn: TxnId,
    /// How strongly.
    pub strength: LockStrength,
    /// Whether it is held; otherwise it is waited for.
    pub granted: bool,
    /// How long it has been waited for; zero if it is held.
    pub waited: Duration,
}

/// A wait for a lock whose holder another process over the same store may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedWait {
    /// The transaction that waits, by the number that all processes know it by.
    pub waiter: Timestamp,
    /// The transaction that holds the lock, likewise.
    pub holder: Timestamp,
    /// What is locked.
    pub key: Key,
    /// How long it has been waited for.
    pub waited: Duration,
}

/// Counters of a store, as plain numbers. Sums since the start unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoreMetrics {
    /// Transactions that the store committed.
    pub commits: u64,
    /// How many transactions each batch had that was written.
    pub commit_batch_sizes: HistogramValues,
    /// The largest batch so far.
    pub commit_batch_max: u64,
    /// Syncs of the journal.
    pub syncs: u64,
    /// How long each took, in nanoseconds.
    pub sync_nanos: HistogramValues,
    /// How long each request for a lock waited that had to, in nanoseconds.
    pub lock_wait_nanos: HistogramValues,
    /// Locks held now.
    pub locks_held: u64,
    /// Requests that wait now.
    pub lock_waiters: u64,
    /// Deadlocks found.
    pub deadlocks: u64,
    /// Commits that were refused because a read or a written key had changed.
    pub conflicts: u64,
    /// Read sets that were older than the index and had to be read again.
    pub revalidations: u64,
    /// Bytes of the index of recent writes now.
    pub recent_bytes: u64,
    /// Bytes that long scans have left in memory for the next ones now.
    pub range_cache_bytes: u64,
    /// Batches of scans that came from there.
    pub range_cache_hits: u64,
    /// Batches of scans that had to be read.
    pub range_cache_misses: u64,
    /// Range tombstones that wait for their cleaning now.
    pub tombstones: u64,
    /// Hidden values that the cleaner has removed.
    pub cleaned: u64,
    /// Compactions that slow scans have asked for.
    pub compactions: u64,
    /// Bytes on disk now.
    pub disk_bytes: u64,
}

/// Pairs that a store takes in as a whole, without a journal and without a read set.
///
/// ```text
///   begin ──▶ add, add, … ──▶ write ──▶ gate ──▶ visible
///     └── from here on the store notes every key that others write in the span ──┘
/// ```
///
/// A load is for a span that nobody reads yet, such as a new index while it is built. Its pairs are
/// those of one snapshot, which the caller takes after the load has begun.
///
/// Dropping a load before its end leaves nothing that anybody could read.
pub trait BulkLoad: Send + 'static {
    /// Adds a pair of the snapshot, in any order.
    fn add(&mut self, key: &[u8], value: &[u8]);

    /// Bytes of memory that the pairs take.
    fn memory_bytes(&self) -> usize;

    /// Moves the pairs from memory to a temporary file.
    fn spill(&mut self) -> Result<()>;

    /// Sorts the pairs, writes them, calls `gate`, and makes them visible at once.
    ///
    /// `gate` locks the span, so that no transaction that writes there is under way; the lock has
    /// to be held until this call ends. If `gate` answers false, or `stop` becomes true, nothing
    /// becomes visible. Blocks the thread.
    fn finish(self: Box<Self>, stop: &AtomicBool, gate: &mut dyn FnMut() -> bool)
    -> Result<Loaded>;
}

/// How a bulk load has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// Everything is visible, but what others have written since the load began stands as they
    /// have written it. These are the keys, each with every value that it had from them or from
    /// the load.
    Visible(Vec<(Key, Vec<Value>)>),
    /// Two pairs have this key. Nothing is visible.
    Twice(Key, [Value; 2]),
    /// It was stopped. Nothing is visible.
    Stopped,
    /// Others have written more than the store notes. Nothing is visible.
    Overtaken,
}

/// A place where bytes live: embedded or TiKV.
pub trait Store: Send + Sync + 'static {
    /// The newest view.
    fn snapshot(&self) -> Answer<'_, Result<Arc<dyn Snapshot>>>;

    /// What is newest whenever it is read, for one read of one key: nothing has to be waited for
    /// first. Its timestamp says nothing; what it has shown can be proved like other reads. `None`
    /// where a snapshot costs no wait.
    fn newest(&self) -> Option<Arc<dyn Snapshot>> {
        None
    }

    /// Takes locks for `txn`, then says what has changed since `since`.
    fn lock<'a>(
        &'a self,
        txn: TxnId,
        request: &'a LockRequest,
        since: &'a Arc<dyn Snapshot>,
        timeout: Option<Duration>,
    ) -> Answer<'a, Result<LockGrant>>;

    /// Proves `reads` unchanged up to `to`.
    fn validate<'a>(
        &'a self,
        reads: &'a [ReadSegment],
        to: &'a Arc<dyn Snapshot>,
    ) -> Answer<'a, Result<Option<Conflict>>>;

    /// Commits. However it ends, the transaction's locks are released, even if the future is
    /// dropped (but see [`CommitRequest::keep_locks`]); once the request was handed over it is
    /// carried out all the same.
    fn commit(&self, request: CommitRequest) -> Answer<'_, Result<CommitOutcome>>;

    /// Releases the transaction's locks: that goes its way whether or not the answer is waited for,
    /// and with the answer others can have them. Harmless if it has none.
    fn release(&self, txn: TxnId) -> Answer<'_, ()>;

    /// Proves that every lock of the transaction has been held without a gap since it was granted;
    /// else a conflict ([`crate::RetryReason::LockLost`]). `None` where locks cannot be lost.
    fn prove_locks(&self, _txn: TxnId) -> Option<Answer<'_, Result<Option<Conflict>>>> {
        None
    }

    /// Whether a lock of the transaction is known to be lost. Such a transaction cannot commit.
    fn has_lost_locks(&self, _txn: TxnId) -> bool {
        false
    }

    /// Whether it keeps a transaction's locks after its commit if it is asked to, so that a
    /// transaction can be prepared.
    fn can_prepare(&self) -> bool {
        false
    }

    /// Its locks of sessions; `None` where it has none.
    fn session_locks(&self) -> Option<&dyn SessionLocks> {
        None
    }

    /// Begins a bulk load into `span`, which nobody reads and whose writers may go on. `None` where
    /// the store has none: the pairs then go in by transactions.
    fn bulk_load(&self, _span: Span) -> Answer<'_, Result<Option<Box<dyn BulkLoad>>>> {
        Answer::ready(Ok(None))
    }

    /// Locks held and awaited now, in key order.
    fn locks(&self) -> Vec<LockInfo>;

    /// Locks awaited now, in key order.
    fn awaited_locks(&self) -> Vec<LockInfo> {
        self.locks().into_iter().filter(|lock| !lock.granted).collect()
    }

    /// The waits of this process for locks of other transactions, as far as the holder is known.
    /// Empty where the store finds every deadlock by itself.
    fn shared_waits(&self) -> Vec<SharedWait> {
        Vec::new()
    }

    /// The number by which all processes over the store know a transaction that has asked for
    /// locks; `None` where only this process knows it.
    fn shared_number(&self, _txn: TxnId) -> Option<Timestamp> {
        None
    }

    /// The store's counters.
    fn metrics(&self) -> StoreMetrics;

    /// Whether a lock on a span keeps the writes of others out of it. Where it does not, the delete
    /// of a span is retried when others write there meanwhile, so that a range which nobody is to
    /// use any more is better left ([`crate::Writes::leave_span`]).
    fn locks_spans(&self) -> bool {
        true
    }

    /// What somebody has to see to, if the store does not do it by itself.
    fn garbage(&self) -> Option<&dyn Garbage> {
        None
    }

    /// Numbers that only this kind of store has.
    fn own_metrics(&self) -> Vec<StoreMetric> {
        Vec::new()
    }

    /// Why the store cannot serve right now, as far as it knows; it goes on trying.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// How its timestamps tell the time. Only a store that several gateways may share has a clock.
    fn clock(&self) -> Option<StoreClock> {
        None
    }

    /// Finishes what is under way, syncs and refuses further work.
    fn close(&self) -> Answer<'_, Result<()>>;
}
