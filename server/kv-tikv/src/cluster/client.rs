//! Requests to the stores: each finds its region's leader, has a deadline, and is repeated with
//! growing pauses while regions move, stores are busy or cannot be reached.
//!
//! ```text
//!   keys ──▶ by region ──▶ side by side ──▶ answer
//!                ▲                │
//!                └── split again ──┴ region error, no answer
//! ```
//!
//! A request that got no answer may have been carried out all the same. It is repeated with the
//! mark of a retry.

use super::{
    backoff::Backoff,
    dialer::{Dialer, describe},
    flow_control::FlowControl,
    pd::Pd,
    regions::{Region, RegionCache},
    rpc::{Answer, Request, Stores},
    store_health::{REPORT_AFTER, StoreHealth},
    timestamps::Tso,
};
use crate::{
    gc::SnapshotRegistry,
    metrics::{Metrics, RetryCause},
    options::TikvOptions,
};
use braid_kv::{Error, Key, Result, Span};
use braid_tikv_proto::{errorpb, kvrpcpb};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// A request that timed out is cut in two, down to this many keys.
const PART_KEYS_MIN: usize = 16;
/// Approximate bytes of the largest request: a store refuses what its log cannot take at once.
pub(crate) const REQUEST_BYTES_MAX: usize = 1 << 20;

/// Regions of one span that are scanned at the same time.
pub(crate) const REGIONS_AT_ONCE: usize = 8;
/// Time limit for a store to destroy a range.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(300);

/// Options that go with a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestOptions {
    /// Locks of these transactions are passed over.
    pub bypass: Vec<u64>,
    /// Locks of these transactions are read as committed.
    pub committed: Vec<u64>,
    /// It may have been carried out already.
    pub again: bool,
    /// A prewritten lock is an error for a read, even where the read asks for what is newest.
    pub refuses_locks: bool,
}

/// Why one try of a request failed.
pub(crate) enum RpcFailure {
    Region(Box<errorpb::Error>),
    /// The store cannot be reached, or (`None`) did not answer in time.
    NoAnswer(Option<String>),
    Pd(Error),
}

impl RpcFailure {
    /// Most keys of the next request, after one with `keys` keys.
    pub(crate) fn keys_max_after(&self, keys: usize, flow_control: &FlowControl) -> usize {
        match self {
            RpcFailure::NoAnswer(None) => (keys / 2).max(PART_KEYS_MIN),
            RpcFailure::NoAnswer(Some(_)) | RpcFailure::Region(_) | RpcFailure::Pd(_) => {
                flow_control.request_keys_max()
            }
        }
    }

    /// Whether the request may have been carried out.
    pub(crate) fn in_doubt(&self) -> bool {
        match self {
            RpcFailure::Region(error) => error.undetermined_result.is_some(),
            RpcFailure::NoAnswer(_) => true,
            RpcFailure::Pd(_) => false,
        }
    }
}

/// The cluster as everything above it sees it.
pub(crate) struct Cluster {
    pub pd: Arc<Pd>,
    pub tso: Tso,
    pub options: TikvOptions,
    /// What is read here, and may not be collected.
    pub snapshots: Arc<SnapshotRegistry>,
    pub metrics: Arc<Metrics>,
    pub store_health: StoreHealth,
    pub flow_control: FlowControl,
    /// Answers of stores since the start.
    answers: AtomicU64,
    regions: RegionCache,
    stores: Stores,
    /// A copy for each task that works in the background.
    tasks: Arc<()>,
}

/// Something with a key that belongs to one region.
pub(crate) trait Keyed {
    fn key(&self) -> &[u8];
    fn bytes(&self) -> usize {
        self.key().len()
    }
}

impl Keyed for Key {
    fn key(&self) -> &[u8] {
        self
    }
}

impl Cluster {
    pub(crate) fn new(members: Vec<String>, dialer: Dialer, options: TikvOptions) -> Cluster {
        let metrics = Arc::new(Metrics::default());
        let pd = Arc::new(Pd::new(members, dialer, options.retry_for, metrics.clone()));
        Cluster {
            tso: Tso::start(pd.clone(), options.retry_for),
            pd,
            options,
            snapshots: Arc::new(SnapshotRegistry::new()),
            metrics,
            store_health: StoreHealth::default(),
            flow_control: FlowControl::default(),
            answers: AtomicU64::new(0),
            regions: RegionCache::default(),
            stores: Stores::default(),
            tasks: Arc::default(),
        }
    }

    /// How many answers there were from stores.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Relaxed)
    }

    /// Why the cluster does not serve, as far as requests have shown lately.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.tso.trouble().or_else(|| self.store_health.newest())
    }

    /// Runs work that its caller need not wait for, but the end of the store does.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        let task = self.tasks.clone();
        tokio::spawn(async move {
            let done = work.await;
            drop(task);
            done
        })
    }

    /// Waits for the work in the background, for as long as the patience lasts.
    pub(crate) async fn finish_tasks(&self) {
        let mut backoff = self.backoff();
        while Arc::strong_count(&self.tasks) > 1 && backoff.blink().await {}
    }

    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(self.options.retry_for)
    }

    /// The region of a key.
    pub(crate) async fn locate(&self, key: &[u8]) -> Result<Arc<Region>> {
        match self.regions.find(key) {
            Some(region) => Ok(region),
            None => Ok(self.regions.enter(Region::new(self.pd.region(key, false).await?)?)),
        }
    }

    /// The region of the keys just below `end`.
    pub(crate) async fn locate_before(&self, end: &[u8]) -> Result<Arc<Region>> {
        if let Some(region) = self.regions.find_before(end) {
            return Ok(region);
        }
        let region = Region::new(self.pd.region(end, false).await?)?;
        if region.ends_after(end) {
            return Ok(self.regions.enter(region));
        }
        Ok(self.regions.enter(Region::new(self.pd.region(end, true).await?)?))
    }

    /// One try at the leader of one region.
    pub(crate) async fn try_at<R: Request>(
        &self,
        region: &Arc<Region>,
        mut request: R,
        options: &RequestOptions,
    ) -> Result<R::Answer, RpcFailure> {
        let client =
            self.stores.client(&self.pd, region.leader.store_id).await.map_err(RpcFailure::Pd)?;
        let isolation = match options.refuses_locks {
            true => kvrpcpb::IsolationLevel::RcCheckTs,
            false => kvrpcpb::IsolationLevel::Si,
        };
        request.set_context(kvrpcpb::Context {
            isolation_level: isolation as i32,
            region_id: region.id,
            region_epoch: Some(region.epoch),
            peer: Some(region.leader),
            resolved_locks: options.bypass.clone(),
            committed_locks: options.committed.clone(),
            is_retry_request: options.again,
            max_execution_duration_ms: self.options.request_timeout.as_millis() as u64,
            ..kvrpcpb::Context::default()
        });
        let counted = self.metrics.rpc(R::NAME);
        counted.count();
        let sent = Instant::now();
        let answer = tokio::time::timeout(self.options.request_timeout, request.send(client));
        let answer = answer.await;
        counted.took(sent.elapsed());
        let mut answer = match answer {
            Ok(Ok(answer)) => answer.into_inner(),
            Ok(Err(status)) => return Err(RpcFailure::NoAnswer(Some(describe(&status)))),
            Err(_) => return Err(RpcFailure::NoAnswer(None)),
        };
        self.answers.fetch_add(1, Relaxed);
        match answer.take_region_error() {
            Some(error) => Err(RpcFailure::Region(Box::new(error))),
            None => {
                self.store_health.clear(region.leader.store_id);
                Ok(answer)
            }
        }
    }

    /// Updates the region cache after a failure and waits, or gives up.
    pub(crate) async fn recover<R: Request>(
        &self,
        region: &Arc<Region>,
        failure: RpcFailure,
        backoff: &mut Backoff,
    ) -> Result<()> {
        let (why, soon) = match failure {
            RpcFailure::Pd(error) => return Err(error),
            RpcFailure::NoAnswer(why) => {
                let reason =
                    if why.is_some() { RetryCause::Transport } else { RetryCause::Timeout };
                self.metrics.retry(reason);
                self.stores.forget(region.leader.store_id);
                self.regions.forget(region);
                (why.unwrap_or_else(|| "no answer in time".to_owned()), false)
            }
            RpcFailure::Region(error) => {
                self.metrics.retry(RetryCause::of(&error));
                let soon = self.learn(region, &error);
                if error.raft_entry_too_large.is_some() {
                    return Err(Error::LimitExceeded {
                        name: "tikv_request_bytes",
                        limit: REQUEST_BYTES_MAX as u64,
                    });
                }
                (error.message, soon)
            }
        };
        let store = region.leader.store_id;
        let text = || format!("store {store} of the cluster does not serve {}: {why}", R::NAME);
        let goes_on = if soon { backoff.blink().await } else { backoff.sleep().await };
        if !goes_on || backoff.age() > REPORT_AFTER {
            self.store_health.note(store, &text());
        }
        match goes_on {
            true => Ok(()),
            false => Err(Error::Unreachable(text().into())),
        }
    }

    /// Takes from a region error what it says about the region. True if the next try is likely to
    /// succeed.
    fn learn(&self, region: &Arc<Region>, error: &errorpb::Error) -> bool {
        if let Some(not_leader) = &error.not_leader {
            match not_leader.leader.filter(|leader| leader.id != 0) {
                Some(leader) => self.regions.set_leader(region, leader),
                None => {
                    self.regions.try_next_peer(region);
                    return false;
                }
            }
            return true;
        }
        if error.server_is_busy.is_some()
            || error.max_timestamp_not_synced.is_some()
            || error.disk_full.is_some()
        {
            return false;
        }
        if error.store_not_match.is_some() {
            self.stores.forget(region.leader.store_id);
        }
        self.regions.forget(region);
        error.epoch_not_match.is_some() || error.stale_command.is_some()
    }

    /// Destroys everything that one store has in a span, all versions, without reading it.
    pub(crate) async fn destroy_at(&self, store: u64, span: &Span) -> Result<()> {
        let request = kvrpcpb::UnsafeDestroyRangeRequest {
            start_key: span.start.clone().into(),
            end_key: span.end.clone().into(),
            ..kvrpcpb::UnsafeDestroyRangeRequest::default()
        };
        let client = self.stores.client(&self.pd, store).await?;
        let counted = self.metrics.rpc(kvrpcpb::UnsafeDestroyRangeRequest::NAME);
        counted.count();
        let sent = Instant::now();
        let answer = tokio::time::timeout(DESTROY_TIMEOUT, request.send(client)).await;
        counted.took(sent.elapsed());
        let why = match answer {
            Ok(Ok(answer)) if answer.get_ref().error.is_empty() => return Ok(()),
            Ok(Ok(answer)) => answer.into_inner().error,
            Ok(Err(status)) => describe(&status),
            Err(_) => "no answer in time".to_owned(),
        };
        self.stores.forget(store);
        Err(Error::Storage(format!("store {store} has not destroyed a range: {why}").into()))
    }

    /// A request about one key, made for the region that has it.
    pub(crate) async fn at_key<R: Request>(
        &self,
        key: &[u8],
        options: &RequestOptions,
        make: impl Fn(&Region) -> R,
    ) -> Result<R::Answer> {
        let mut backoff = self.backoff();
        let mut options = options.clone();
        loop {
            let region = self.locate(key).await?;
            let failure = match self.try_at(&region, make(&region), &options).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            options.again |= failure.in_doubt();
            self.recover::<R>(&region, failure, &mut backoff).await?;
        }
    }

    /// A span, cut where regions end.
    pub(crate) async fn cut(&self, span: &Span) -> Result<Vec<Span>> {
        let (mut parts, mut start) = (Vec::new(), span.start.clone());
        while start < span.end {
            let region = self.locate(&start).await?;
            let end = match region.end.is_empty() {
                true => span.end.clone(),
                false => span.end.clone().min(region.end.clone()),
            };
            parts.push(Span::new(start, end.clone()));
            start = end;
        }
        Ok(parts)
    }

    /// Items in key order, cut where regions end and where a request would get too large. A request
    /// that is the only one may be larger than the parts are, to commit in one phase.
    pub(crate) async fn by_region<T: Keyed>(
        &self,
        items: Vec<T>,
    ) -> Result<Vec<(Arc<Region>, Vec<T>)>> {
        let groups = self.parts(items, self.flow_control.keys_max()).await?;
        if groups.len() == 1 {
            return Ok(groups);
        }
        let items = groups.into_iter().flat_map(|(_, items)| items).collect();
        self.parts(items, self.flow_control.request_keys_max()).await
    }

    /// The next part to send while `keys_sent` keys are in flight, if there is room.
    pub(crate) fn next_part<T>(
        &self,
        waiting: &mut VecDeque<(Arc<Region>, Vec<T>)>,
        keys_sent: usize,
    ) -> Option<(Arc<Region>, Vec<T>)> {
        let flow_control = self.flow_control.keys_max();
        if keys_sent >= flow_control {
            return None;
        }
        let (region, mut group) = waiting.pop_front()?;
        if group.len() > flow_control {
            // The stores have become slow since it was cut.
            waiting.push_front((
                region.clone(),
                group.split_off(self.flow_control.request_keys_max()),
            ));
        }
        Some((region, group))
    }

    /// The same with at most `keys_max` items in each.
    pub(crate) async fn parts<T: Keyed>(
        &self,
        items: Vec<T>,
        keys_max: usize,
    ) -> Result<Vec<(Arc<Region>, Vec<T>)>> {
        let mut groups: Vec<(Arc<Region>, Vec<T>)> = Vec::new();
        let mut bytes = 0;
        for item in items {
            let size = item.bytes();
            match groups.last_mut() {
                Some((region, group))
                    if region.contains(item.key())
                        && group.len() < keys_max
                        && bytes + size <= REQUEST_BYTES_MAX =>
                {
                    group.push(item);
                    bytes += size;
                }
                _ => {
                    let region = self.locate(item.key()).await?;
                    groups.push((region, vec![item]));
                    bytes = size;
                }
            }
        }
        Ok(groups)
    }

    /// One request for each region, or several, side by side. Answers come with the items they are
    /// for.
    pub(crate) async fn at_all<T: Keyed + Send, R: Request>(
        &self,
        items: Vec<T>,
        options: &RequestOptions,
        make: impl Fn(&[T]) -> R + Sync,
    ) -> Result<Vec<(Vec<T>, R::Answer)>> {
        let mut running = FuturesUnordered::new();
        let start = |region: Arc<Region>, group: Vec<T>, again: bool, backoff: Backoff| {
            let request = make(&group);
            let options = RequestOptions { again: again || options.again, ..options.clone() };
            async move {
                let sent = Instant::now();
                let answer = self.try_at(&region, request, &options).await;
                // What waits for somebody's lock says nothing about a store.
                if R::NAME != kvrpcpb::PessimisticLockRequest::NAME {
                    self.flow_control.record_answer(group.len(), sent.elapsed());
                }
                (region, group, options.again, backoff, answer)
            }
        };
        let groups = self.parts(items, self.flow_control.request_keys_max()).await?;
        self.metrics.regions(groups.len());
        let mut answers = Vec::with_capacity(groups.len());
        let mut waiting: VecDeque<_> = groups.into();
        let mut keys_sent = 0;
        loop {
            while let Some((region, group)) = self.next_part(&mut waiting, keys_sent) {
                keys_sent += group.len();
                running.push(start(region, group, false, self.backoff()));
            }
            let Some((region, group, again, mut backoff, answer)) = running.next().await else {
                return Ok(answers);
            };
            keys_sent -= group.len();
            let failure = match answer {
                Ok(answer) => {
                    answers.push((group, answer));
                    continue;
                }
                Err(failure) => failure,
            };
            let again = again | failure.in_doubt();
            let keys_max = failure.keys_max_after(group.len(), &self.flow_control);
            self.recover::<R>(&region, failure, &mut backoff).await?;
            for (region, group) in self.parts(group, keys_max).await? {
                keys_sent += group.len();
                running.push(start(region, group, again, backoff.clone()));
            }
        }
    }
}
