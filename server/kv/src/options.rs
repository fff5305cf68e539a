//! Small types that callers choose: isolation, transaction options, lock requests.

use crate::{Key, LocalKeyspace, Span};
use std::{fmt, sync::Arc, time::Duration};

/// How far a transaction is shielded from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Isolation {
    /// A snapshot per statement.
    ReadCommitted,
    /// One snapshot; a newer version of a row to be written is a retry error.
    RepeatableRead,
    /// One snapshot, and every read is proved unchanged at commit.
    #[default]
    Serializable,
}

/// How a transaction is to run.
#[derive(Clone, Debug)]
pub struct TxnOptions {
    /// The isolation level.
    pub isolation: Isolation,
    /// Writes and locks are refused, and nothing is remembered about reads.
    pub read_only: bool,
    /// How long one lock request waits. `None` waits for ever. It can be changed later.
    pub lock_timeout: Option<Duration>,
    /// The most bytes that the write buffer may hold. `None` takes the database's setting.
    pub buffer_bytes_max: Option<usize>,
    /// The session's own keys, if it may have any.
    pub local: Option<Arc<LocalKeyspace>>,
}

impl Default for TxnOptions {
    fn default() -> TxnOptions {
        TxnOptions {
            isolation: Isolation::Serializable,
            read_only: false,
            lock_timeout: None,
            buffer_bytes_max: None,
            local: None,
        }
    }
}

/// A transaction's number, unique while the process lives. A higher one began later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxnId(pub u64);

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A point in the store's order of commits: a commit number, or TiKV's timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(pub u64);

/// The place of a statement inside its transaction, from 1.
///
/// A read at `n` sees the writes of statements before `n`. [`Seq::after`] gives the view of the
/// statement's check phase, which sees its own writes as well. Numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seq(pub(crate) u32);

impl Seq {
    /// The view that includes this statement's own writes.
    pub fn after(self) -> Seq {
        Seq(self.0 | 1)
    }

    /// The scan phase of the same statement: the view without its own writes.
    pub fn before(self) -> Seq {
        Seq(self.0 & !1)
    }

    /// The statement's number, from 1.
    pub fn number(self) -> u32 {
        self.0 >> 1
    }
}

/// Whether and how a read is remembered for validation at commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Record {
    /// As the isolation level says: remembered at SERIALIZABLE only.
    #[default]
    Default,
    /// Not remembered (SKIP LOCKED, statistics).
    Never,
    /// Remembered at every level, for foreign keys and uniqueness. Below SERIALIZABLE a change is
    /// [`crate::Error::CheckChanged`] with this tag, chosen by the caller.
    Always {
        /// Names the check for the error.
        tag: u32,
    },
    /// Only that the key exists is remembered, at every level and validated like
    /// [`Record::Always`]: its value may change, and it may go and come back. A key that does not
    /// exist is remembered as read.
    Exists {
        /// Names the check for the error.
        tag: u32,
    },
}

impl Record {
    /// How a read of one key is remembered that has found it, or not.
    pub(crate) fn of_key(self, found: bool) -> Record {
        match self {
            Record::Exists { tag } if !found => Record::Always { tag },
            other => other,
        }
    }
}

/// How strong a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockStrength {
    /// Others may lock it shared as well.
    Shared,
    /// Nobody else may lock or write it.
    Exclusive,
}

/// What to do when a lock is held by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LockWait {
    /// Wait in the queue, at most the lock timeout.
    #[default]
    Block,
    /// Fail at once with [`crate::Error::LockNotAvailable`].
    NoWait,
    /// Leave this key out of the result.
    SkipLocked,
}

/// What to lock.
#[derive(Clone, Debug)]
pub enum LockTarget {
    /// Single keys, locked in key order; results are in the given order.
    Keys(Vec<Key>),
    /// Key ranges, present and future keys alike.
    Spans(Vec<Span>),
}

/// A request for locks.
#[derive(Clone, Debug)]
pub struct LockRequest {
    /// What to lock.
    pub target: LockTarget,
    /// How strongly.
    pub strength: LockStrength,
    /// What to do when another holds it.
    pub wait: LockWait,
    /// Whether to return the newest value of each key.
    pub values: bool,
    /// Whether these values are remembered, as read and for later reads of the same keys. Nobody
    /// else can change what is locked, so that only a transaction that goes on to use the rows has
    /// something of it: one that deletes a million of them has not.
    pub remembered: bool,
}

impl LockRequest {
    /// Exclusive locks on `keys`, waiting, with their newest values.
    pub fn keys(keys: Vec<Key>) -> LockRequest {
        LockRequest {
            target: LockTarget::Keys(keys),
            strength: LockStrength::Exclusive,
            wait: LockWait::Block,
            values: true,
            remembered: true,
        }
    }

    /// Exclusive locks on key ranges, waiting.
    pub fn spans(spans: Vec<Span>) -> LockRequest {
        LockRequest {
            target: LockTarget::Spans(spans),
            strength: LockStrength::Exclusive,
            wait: LockWait::Block,
            values: false,
            remembered: false,
        }
    }

    /// The keys, if it is for keys.
    pub fn wanted_keys(&self) -> &[Key] {
        match &self.target {
            LockTarget::Keys(keys) => keys,
            LockTarget::Spans(_) => &[],
        }
    }

    /// The same request, whose values are not remembered, and given only if they are needed.
    pub fn passing(mut self, values: bool) -> LockRequest {
        self.values = values;
        self.remembered = false;
        self
    }

    /// The same request with another strength.
    pub fn strength(mut self, strength: LockStrength) -> LockRequest {
        self.strength = strength;
        self
    }

    /// The same request with another way of waiting.
    pub fn wait(mut self, wait: LockWait) -> LockRequest {
        self.wait = wait;
        self
    }
}
