//! The mover of the safe point, and the destroyer of dropped ranges.

use super::registration::{keep_registered, register};
use crate::{
    cluster::{Cluster, Region},
    keyspace::Keyspace,
    locks::{TransactionRegistry, TransactionStatus, unexpected},
    timestamp::{LOGICAL_BITS, millis},
};
use braid_kv::{Answer, Error, Garbage, Key, Result, Span, Timestamp, key_after};
use braid_tikv_proto::kvrpcpb::{LockInfo, Op, ScanLockRequest};
use futures_util::future::try_join_all;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

/// PD's name for the safe point of all transactions.
const GC_WORKER: &str = "gc_worker";
/// Locks that are looked at in one request.
const PAGE_LOCKS: u32 = 1024;
/// Rounds within the life time of a version. The pause between them has these bounds.
const ROUNDS: u32 = 10;
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Registrations with PD within one promise.
const REGISTRATIONS: u32 = 6;

/// The garbage of a database over TiKV.
pub(crate) struct Collector {
    cluster: Arc<Cluster>,
    registry: Arc<TransactionRegistry>,
    keyspace: Keyspace,
    /// How long versions live on; `None` leaves the safe point to others.
    life_time: Option<Duration>,
}

impl Collector {
    /// Registers with PD the oldest version that is needed here, and keeps it registered.
    pub(crate) async fn start(
        cluster: &Arc<Cluster>,
        registry: &Arc<TransactionRegistry>,
        keyspace: Keyspace,
        life_time: Option<Duration>,
    ) -> Collector {
        let collector =
            Collector { cluster: cluster.clone(), registry: registry.clone(), keyspace, life_time };
        if let Err(error) = register(cluster, registry).await {
            tracing::warn!(%error, "PD was not told which versions are needed; trying again");
        }
        let (weak_cluster, weak_locals) = (Arc::downgrade(cluster), Arc::downgrade(registry));
        let pause = collector.pause().min(cluster.options.snapshot_promise / REGISTRATIONS);
        tokio::spawn(keep_registered(weak_cluster, weak_locals, pause));
        collector
    }

    /// Moves the safe point as far as it may go.
    async fn move_safe_point(&self) -> Result<u64> {
        let cluster = &self.cluster;
        let Some(life_time) = self.life_time else { return cluster.pd.safe_point().await };
        let lowest = register(cluster, &self.registry).await?;
        let now = cluster.tso.now().await?;
        let old = millis(now).saturating_sub(life_time.as_millis() as u64) << LOGICAL_BITS;
        let wanted = old.max(lowest);
        let allowed = cluster.pd.register(GC_WORKER, i64::MAX, wanted).await?.min(wanted);
        let living = self.settle_locks(allowed).await?;
        let point = living.map_or(allowed, |oldest| allowed.min(oldest.saturating_sub(1)));
        cluster.pd.move_safe_point(point).await
    }

    /// Settles every transaction of the cluster that has a lock at or below `up_to`; the oldest one
    /// that lives.
    async fn settle_locks(&self, up_to: u64) -> Result<Option<u64>> {
        let (mut start, mut statuses, mut living) = (Key::new(), HashMap::new(), None);
        loop {
            let (region, locks) = self.page(&start, up_to).await?;
            let is_last = locks.len() < PAGE_LOCKS as usize;
            let next = locks.last().map(|lock| key_after(&lock.key));
            let oldest = self.settle(locks, &mut statuses).await?;
            living = [living, oldest].into_iter().flatten().min();
            start = match next.filter(|_| !is_last) {
                Some(next) => next,
                None if region.end.is_empty() => return Ok(living),
                None => region.end.clone(),
            };
        }
    }

    /// Locks at or after a key, within its region.
    async fn page(&self, start: &[u8], max_version: u64) -> Result<(Arc<Region>, Vec<LockInfo>)> {
        let cluster = &self.cluster;
        let (mut backoff, options) = (cluster.backoff(), crate::cluster::RequestOptions::default());
        loop {
            let region = cluster.locate(start).await?;
            let request = ScanLockRequest {
                max_version,
                start_key: start.to_vec().into(),
                end_key: region.end.clone().into(),
                limit: PAGE_LOCKS,
                ..ScanLockRequest::default()
            };
            match cluster.try_at(&region, request, &options).await {
                Ok(answer) => match &answer.error {
                    None => return Ok((region, answer.locks)),
                    Some(error) => return Err(unexpected("a scan of locks", error)),
                },
                Err(failure) => {
                    cluster.recover::<ScanLockRequest>(&region, failure, &mut backoff).await?;
                }
            }
        }
    }

    /// Finishes the locks of transactions that are decided; the oldest of the others.
    ///
    /// Locks from before the prewrite are asked for by themselves. Taking such a lock away leaves
    /// no record, so it decides nothing about a key that is prewritten.
    async fn settle(
        &self,
        locks: Vec<LockInfo>,
        statuses: &mut HashMap<(u64, bool), TransactionStatus>,
    ) -> Result<Option<u64>> {
        let cluster = &self.cluster;
        let mut living = None;
        let mut decided: BTreeMap<(u64, u64), Vec<Key>> = BTreeMap::new();
        for lock in locks {
            let holder = lock.lock_version;
            let is_pessimistic = lock.lock_type() == Op::PessimisticLock;
            let status = match statuses.get(&(holder, is_pessimistic)) {
                Some(status) => *status,
                None => {
                    let status = cluster.transaction_status(&lock, 0).await?;
                    *statuses.entry((holder, is_pessimistic)).or_insert(status)
                }
            };
            match status {
                TransactionStatus::Running | TransactionStatus::Pushed => {
                    living = Some(living.map_or(holder, |oldest: u64| oldest.min(holder)));
                }
                _ if is_pessimistic => cluster.clear(std::slice::from_ref(&lock), status).await?,
                TransactionStatus::Committed(at) => {
                    decided.entry((holder, at)).or_default().push(lock.key.to_vec());
                }
                TransactionStatus::RolledBack => {
                    decided.entry((holder, 0)).or_default().push(lock.key.to_vec());
                }
            }
        }
        for ((holder, at), keys) in decided {
            cluster.resolve(holder, at, keys).await?;
        }
        Ok(living)
    }

    /// Destroys ranges on every store, all stores at once.
    async fn destroy_all(&self, spans: &[Span]) -> Result<()> {
        let stores = self.cluster.pd.stores().await?;
        for span in spans.iter().filter(|span| !span.is_empty()) {
            let full = self.keyspace.span(span);
            if !self.keyspace.contains(&full) {
                return Err(Error::Storage("a range beyond the database".into()));
            }
            let each = stores.iter().map(|store| self.cluster.destroy_at(store.id, &full));
            try_join_all(each).await?;
            self.cluster.metrics.range_destroyed();
        }
        Ok(())
    }
}

impl Garbage for Collector {
    fn pause(&self) -> Duration {
        self.life_time.map_or(PAUSE_MAX, |life| (life / ROUNDS).clamp(PAUSE_MIN, PAUSE_MAX))
    }

    fn collect(&self) -> Answer<'_, Result<Timestamp>> {
        Answer::wait(async {
            let point = self.move_safe_point().await?;
            self.cluster.metrics.safe_point(point);
            Ok(Timestamp(point))
        })
    }

    fn destroy<'a>(&'a self, spans: &'a [Span]) -> Answer<'a, Result<()>> {
        Answer::wait(self.destroy_all(spans))
    }
}
