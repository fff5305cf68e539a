//! Lost locks: a transaction proves before its commit that TiKV still has its locks.
//!
//! ```text
//!   T1  locks a at 10, value 1 …… stands still …… a at 10 again? no: a version at 12 is there
//!   T2          the lock is gone, writes a, C=12
//! ```
//!
//! A lock may be gone because its time was over while the gateway stood still, or because it was in
//! the memory of a leader that is no more. What was concluded from its value is then a lost read,
//! and the transaction has to run again. It never helps to lock the key again.
//!
//! - What is written, or locked beside what is written, is proved by the prewrite itself.
//! - What is only locked is proved here, before the commit answers.

use super::{
    lock_manager::LockManager,
    transaction_registry::{TransactionStart, TransactionState},
};
use crate::cluster::RequestOptions;
use braid_kv::{Key, Result};
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;

/// Requests under way at a time that prove locks. Locks of one timestamp and region share one.
const PROOFS_AT_ONCE: usize = 16;

impl LockManager {
    /// Looks whether these locks, each granted at its `for_update_ts`, have been held since without
    /// a gap that somebody has used; else the first key that was not. Afterwards all others are
    /// locked.
    ///
    /// The same request with the same timestamp says it. The own lock answers at once; a lost one
    /// is taken again, but only if no version above the timestamp and no other lock is there.
    pub(crate) async fn find_lost_lock(
        &self,
        transaction: &TransactionState,
        start: TransactionStart,
        locks: Vec<(Key, u64)>,
    ) -> Result<Option<Key>> {
        let primary = transaction.locks.lock().primary.clone();
        let mut by_ts: BTreeMap<u64, Vec<Key>> = BTreeMap::new();
        for (key, for_update_ts) in locks {
            by_ts.entry(for_update_ts).or_default().push(key);
        }
        let same_again = by_ts.into_iter().map(async |(for_update_ts, keys)| {
            let primary = primary.as_ref().unwrap_or(&keys[0]).clone();
            let make = |keys: &[Key]| self.lock_request(keys, &primary, start, for_update_ts);
            self.cluster.at_all(keys, &RequestOptions::default(), make).await
        });
        let mut same_again = stream::iter(same_again).buffered(PROOFS_AT_ONCE);
        let mut lost = None;
        while let Some(answers) = same_again.next().await {
            for (mut keys, answer) in answers? {
                let Some(error) = answer.errors.into_iter().next() else { continue };
                tracing::debug!(?error, "a lock was lost");
                transaction.lose();
                let version = error.conflict.map(|conflict| conflict.key);
                let named = version.or(error.locked.map(|lock| lock.key)).map(|key| key.to_vec());
                lost = lost.or(named).or_else(|| Some(keys.swap_remove(0)));
            }
        }
        Ok(lost)
    }
}
