//! What every snapshot of a store shares.

use crate::{cluster::Cluster, keyspace::Keyspace};
use braid_kv::Value;
use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

/// What every snapshot of a store shares.
pub(crate) struct ReadContext {
    pub cluster: Arc<Cluster>,
    /// For the border only: keys inside are store keys.
    pub keyspace: Keyspace,
    hashers: [RandomState; 2],
}

impl ReadContext {
    pub(crate) fn new(cluster: Arc<Cluster>, keyspace: Keyspace) -> ReadContext {
        ReadContext { cluster, keyspace, hashers: [RandomState::new(), RandomState::new()] }
    }

    /// A hash that differs for different values. Its secret differs in every process.
    pub(crate) fn hash(&self, value: Option<&Value>) -> u128 {
        let [high, low] = self.hashers.each_ref().map(|hasher| hasher.hash_one(value));
        (u128::from(high) << 64) | u128::from(low)
    }
}
