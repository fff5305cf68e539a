//! The way in: a store with its counters, from which transactions begin.

use crate::{
    KvMetrics, Result, SchemaLease, SessionLocks, Store, StoreMetrics, TxnId, metrics::Counters,
};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// Settings that hold for every transaction.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// Wait this long at every round trip, as a remote store would make us. A bench aid.
    pub simulate_rtt: Option<Duration>,
    /// The most bytes that one transaction may have in its write buffer.
    pub buffer_bytes_max: usize,
    /// The most bytes of one read set; beyond it neighbouring spans are merged.
    pub read_set_bytes_max: usize,
}

impl Default for DatabaseOptions {
    fn default() -> DatabaseOptions {
        DatabaseOptions {
            simulate_rtt: None,
            buffer_bytes_max: 512 << 20,
            read_set_bytes_max: 16 << 20,
        }
    }
}

pub(crate) struct DatabaseInner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: DatabaseOptions,
    pub(crate) counters: Counters,
    pub(crate) schema_lease: OnceLock<Arc<dyn SchemaLease>>,
    session_locks: OnceLock<Arc<dyn SessionLocks>>,
    next_txn: AtomicU64,
}

/// A store, ready for transactions. Cloning it copies a handle.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<DatabaseInner>,
}

impl Database {
    /// A database over `store`.
    pub fn new(store: Arc<dyn Store>, options: DatabaseOptions) -> Database {
        let inner = DatabaseInner {
            store,
            options,
            counters: Counters::default(),
            schema_lease: OnceLock::new(),
            session_locks: OnceLock::new(),
            next_txn: AtomicU64::new(1),
        };
        Database { inner: Arc::new(inner) }
    }

    /// A number for a session that may hold locks of its own. It is no transaction's number.
    pub fn new_session(&self) -> TxnId {
        self.new_number()
    }

    /// A number for a transaction or a session.
    pub(crate) fn new_number(&self) -> TxnId {
        TxnId(self.inner.next_txn.fetch_add(1, Relaxed))
    }

    /// From now on commits ask this lease whether they may go without proofs of the schema. Only
    /// the first one counts.
    pub fn set_schema_lease(&self, lease: Arc<dyn SchemaLease>) {
        let _ = self.inner.schema_lease.set(lease);
    }

    /// What keeps the locks of sessions if the store does not. Only the first one counts.
    pub fn set_session_locks(&self, locks: Arc<dyn SessionLocks>) {
        let _ = self.inner.session_locks.set(locks);
    }

    /// What keeps the locks of sessions; `None` if nothing does.
    pub fn session_locks(&self) -> Option<&dyn SessionLocks> {
        match self.inner.session_locks.get() {
            Some(locks) => Some(locks.as_ref()),
            None => self.inner.store.session_locks(),
        }
    }

    /// The store below.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// The settings.
    pub fn options(&self) -> &DatabaseOptions {
        &self.inner.options
    }

    /// Counters of this layer.
    pub fn metrics(&self) -> KvMetrics {
        self.inner.counters.read()
    }

    /// Counters of the store.
    pub fn store_metrics(&self) -> StoreMetrics {
        self.inner.store.metrics()
    }

    /// Finishes what is under way, syncs and refuses further work.
    pub async fn close(&self) -> Result<()> {
        self.inner.store.close().await
    }
}
