//! How a gateway enters the store, and what the transactions of its store ask it.

use std::sync::{Arc, Weak};

use braid_kv::{CommitFence, Database as Kv, Result as KvResult, SchemaLease, Timestamp};

use super::gateway::{Gateways, SharedStore};
use super::keeper;

/// Asks a gateway that may be gone.
struct OfGateway(Weak<Gateways>);

impl SchemaLease for OfGateway {
    fn enter(&self, since: Timestamp) -> Option<Arc<dyn CommitFence>> {
        let gateways = self.0.upgrade()?;
        let state = gateways.state.lock();
        if state.changes > 0 || state.fast_from.is_none_or(|from| since < from) {
            return None;
        }
        let commit = state.epoch.as_ref()?.enter(since)?;
        Some(Arc::new(commit))
    }
}

impl Gateways {
    /// Enters this gateway into the store under a number that nobody else has, and keeps it there.
    /// `started` is in microseconds since 2000. Over a store without a clock nothing is written.
    pub async fn open(kv: &Kv, id: u64, version: &str, started: i64) -> KvResult<Arc<Gateways>> {
        let shared = kv.store().clock().map(|clock| SharedStore { kv: kv.clone(), clock });
        let is_shared = shared.is_some();
        let gateways = Arc::new(Gateways::new(id, version, started, shared));
        if is_shared {
            kv.set_schema_lease(Arc::new(OfGateway(Arc::downgrade(&gateways))));
            keeper::enter(&gateways).await?;
            tokio::spawn(keeper::run(Arc::downgrade(&gateways)));
        }
        Ok(gateways)
    }
}
