//! What every part of a commit needs: the transaction, the cluster, the kinds of failure.

use crate::{
    cluster::Cluster,
    locks::{LockManager, TransactionState},
    read::ReadContext,
};
use braid_kv::{Conflict, Error};
use braid_tikv_proto::kvrpcpb::LockInfo;
use std::sync::Arc;

/// Why an attempt to commit did not succeed.
pub(super) enum CommitFailure {
    /// A restart with a newer timestamp helps, and the client does not notice.
    Restart,
    /// The same, but the keys are locked before anything is prewritten.
    RestartWithLocks,
    Retry(Conflict),
    /// The holder of that lock goes first.
    Yield(Box<LockInfo>),
    /// A key that must not exist exists.
    DuplicateKey,
    Error(Error),
    /// Nobody knows what became of it: nothing may be cleaned up.
    OutcomeUnknown,
    /// Another region has failed; its reason counts.
    Stopped,
}

impl CommitFailure {
    /// The failure to report of two: the first one that states a reason.
    pub(super) fn first(one: Option<CommitFailure>, other: CommitFailure) -> CommitFailure {
        match one {
            None | Some(CommitFailure::Stopped) => other,
            Some(one) => one,
        }
    }
}

impl From<Error> for CommitFailure {
    fn from(error: Error) -> CommitFailure {
        match error {
            Error::Retry(conflict) => CommitFailure::Retry(*conflict),
            error => CommitFailure::Error(error),
        }
    }
}

/// A commit under way.
pub(crate) struct CommitContext {
    pub reads: Arc<ReadContext>,
    pub lock_manager: LockManager,
    pub transaction: Arc<TransactionState>,
}

impl CommitContext {
    pub(crate) fn cluster(&self) -> &Arc<Cluster> {
        &self.reads.cluster
    }
}
