//! What a store keeps: locks and versions; and what it answers when a key is in the way.

use bytes::Bytes;

/// A timestamp: milliseconds times 2^18 plus a counter.
pub type Ts = u64;

/// Bits of the counter in a timestamp.
pub const LOGICAL_BITS: u32 = 18;

/// The milliseconds of a timestamp.
pub fn physical(ts: Ts) -> u64 {
    ts >> LOGICAL_BITS
}

/// What a lock will become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// A value.
    Put,
    /// A removal.
    Delete,
    /// A record that the key was locked; no change of the value.
    Lock,
    /// Nothing yet: taken before the prewrite.
    Pessimistic,
}

/// A lock on a key. At most one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// What it will become.
    pub kind: LockKind,
    /// The key that decides about the transaction.
    pub primary: Vec<u8>,
    /// Whose it is.
    pub start_ts: Ts,
    /// Milliseconds after `start_ts` after which others may roll it back.
    pub ttl: u64,
    /// The value, for [`LockKind::Put`]. (A real store keeps long ones in a column of their own.)
    pub value: Option<Bytes>,
    /// The newest timestamp at which it was asked for; zero in optimistic transactions.
    pub for_update_ts: Ts,
    /// Keys of the transaction, as the client said.
    pub txn_size: u64,
    /// A commit below is refused; readers below pass over the lock.
    pub min_commit_ts: Ts,
    /// The transaction is committed as soon as all of its locks are there.
    pub async_commit: bool,
    /// The other keys of the transaction; in the primary lock of an async commit only.
    pub secondaries: Vec<Vec<u8>>,
    /// Protected rollbacks of other transactions that a commit at their timestamp must keep.
    pub rollbacks: Vec<Ts>,
    /// Taken although a newer version was there.
    pub with_conflict: bool,
}

impl Lock {
    /// What a client is told of it.
    pub fn info(&self, key: &[u8]) -> LockInfo {
        LockInfo { key: key.to_vec(), lock: self.clone() }
    }

    /// Whether it was taken before the prewrite.
    pub fn is_pessimistic(&self) -> bool {
        self.kind == LockKind::Pessimistic
    }

    /// Whether others may roll it back.
    pub fn is_expired(&self, now: Ts) -> bool {
        physical(self.start_ts).saturating_add(self.ttl) < physical(now)
    }
}

/// A lock and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// Where.
    pub key: Vec<u8>,
    /// What.
    pub lock: Lock,
}

/// What a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteKind {
    /// A value.
    Put,
    /// No value from here on.
    Delete,
    /// The key was locked and not changed.
    Lock,
    /// The transaction that started here will never commit this key.
    Rollback,
}

/// A version of a key; its commit timestamp is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    /// What it is.
    pub kind: WriteKind,
    /// Whose it is.
    pub start_ts: Ts,
    /// The value, for [`WriteKind::Put`].
    pub value: Option<Bytes>,
    /// A rollback that later rollbacks must not remove.
    pub is_protected: bool,
    /// The transaction that started at this version's commit timestamp is rolled back.
    pub hides_rollback: bool,
}

impl Write {
    /// A record that keeps a transaction from committing.
    pub(super) fn rollback(start_ts: Ts, is_protected: bool) -> Self {
        Write {
            kind: WriteKind::Rollback,
            start_ts,
            value: None,
            is_protected,
            hides_rollback: false,
        }
    }

    /// Whether this version, at that commit timestamp, says that the transaction which started
    /// there is rolled back.
    pub(super) fn reports_rollback(&self) -> bool {
        self.kind == WriteKind::Rollback || self.hides_rollback
    }
}

/// Why a write conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An optimistic prewrite met a newer version.
    Optimistic,
    /// A lock request met a newer version, or waited and was woken.
    PessimisticRetry,
    /// The transaction was rolled back before its prewrite came.
    SelfRolledBack,
    /// A constraint checked at the prewrite met a newer version.
    LazyUniquenessCheck,
    /// A read that checks timestamps met a lock or a newer version.
    RcCheckTs,
}

/// Why a request for a key is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// By a lock of another transaction.
    Locked(Box<LockInfo>),
    /// By a newer version.
    WriteConflict {
        /// Who asked.
        start_ts: Ts,
        /// Who wrote it.
        conflict_start_ts: Ts,
        /// When; zero if a waiter was woken by a rollback.
        conflict_commit_ts: Ts,
        /// Where.
        key: Vec<u8>,
        /// The asker's primary.
        primary: Vec<u8>,
        /// Why.
        reason: Reason,
    },
    /// By a value that must not be there.
    AlreadyExist {
        /// Where.
        key: Vec<u8>,
    },
    /// By a circle of waiters, which this request would close.
    Deadlock {
        /// Who holds the lock that was asked for.
        lock_ts: Ts,
        /// Where.
        key: Vec<u8>,
        /// The circle: who waits for whom, and where.
        chain: Vec<(Ts, Ts, Vec<u8>)>,
    },
    /// The commit timestamp is below what a reader was promised.
    CommitTsExpired {
        /// Who asked.
        start_ts: Ts,
        /// With what.
        attempted: Ts,
        /// Where.
        key: Vec<u8>,
        /// What is possible.
        min_commit_ts: Ts,
    },
    /// The smallest commit timestamp is above the client's limit; never sent, a fallback instead.
    CommitTsTooLarge(Ts),
    /// No lock and no record of the transaction.
    TxnNotFound {
        /// Who.
        start_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// The lock to commit is not there.
    LockNotFound {
        /// Who.
        start_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// The lock says that another key is the primary.
    PrimaryMismatch(Box<LockInfo>),
    /// To be told as text: the transaction cannot go on.
    Abort(Abort),
}

/// Errors without a field of their own in the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abort {
    /// A prewrite needs a pessimistic lock that is gone.
    PessimisticLockNotFound {
        /// Who.
        start_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// A lock request came after the rollback.
    PessimisticLockRolledBack {
        /// Who.
        start_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// The key has the transaction's lock of the other kind.
    LockTypeNotMatch {
        /// Who.
        start_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// A rollback came after the commit.
    Committed {
        /// Who.
        start_ts: Ts,
        /// When.
        commit_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// The commit timestamp is not above the start timestamp.
    InvalidTxnTso {
        /// Who.
        start_ts: Ts,
        /// With what.
        commit_ts: Ts,
    },
    /// `lock_only_if_exists` needs `return_values`.
    LockIfExistsFailed {
        /// Who.
        start_ts: Ts,
        /// Where.
        key: Vec<u8>,
    },
    /// Anything else, told as it is.
    Other(&'static str),
}

/// A lock that is gone; who waits for the key is to be woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Where.
    pub key: Vec<u8>,
    /// Whose it was.
    pub start_ts: Ts,
    /// The commit timestamp; zero after a rollback.
    pub commit_ts: Ts,
}
