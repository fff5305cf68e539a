//! Locks: pessimistic locks of this gateway's transactions, and locks of others in the way.
//!
//! - `lock_manager` takes and releases pessimistic locks; `lost_locks` proves that they still
//!   exist.
//! - `transaction_registry` holds what this gateway's transactions have in TiKV.
//! - `heartbeat` keeps the locks of long transactions alive.
//! - `lock_resolver` handles locks that a read meets; `transaction_status` asks for the status of a
//!   lock's transaction and clears what it left.

pub(crate) mod heartbeat;
mod lock_manager;
mod lock_resolver;
mod lost_locks;
mod transaction_registry;
mod transaction_status;

pub(crate) use lock_manager::{LockManager, LockOptions, RELEASE_WAIT};
pub(crate) use lock_resolver::{LockResolver, OldestPushed};
pub(crate) use transaction_registry::{
    HeldLock, TransactionRegistry, TransactionStart, TransactionState,
};
pub(crate) use transaction_status::{TransactionStatus, unexpected};
