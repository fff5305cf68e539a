//! Requests to the stores: each finds its region's leader, has a deadline, and is repeated with
//! growing pauses while regions move, stores are busy or cannot be reached.
//!
//! ```text
//!   keys ──▶ by region ──▶ side by side ──▶ answer
//!                ▲                │
//!                └── split anew ──┴ region error, no answer
//! ```
//!
//! A request that got no answer may have been carried out all the same. It is repeated with the
//! mark of a retry.

use crate::{
    backoff::Backoff,
    dial::{Dialer, describe},
    gc::Floor,
    metrics::{Cause, Metrics},
    options::TikvOptions,
    pace::Pace,
    pd::Pd,
    regions::{Region, RegionCache},
    rpc::{Answer, Request, Stores},
    troubles::{LASTING, Troubles},
    tso::Tso,
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

/// A request that was not answered in time is cut in two, but not below this.
const PART_KEYS_MIN: usize = 16;
/// A request has about so many bytes at most: a store refuses what its log cannot take at once.
pub(crate) const REQUEST_BYTES_MAX: usize = 1 << 20;

/// At most so many regions are scanned at the same time for one span.
pub(crate) const REGIONS_AT_ONCE: usize = 8;
/// A store may take so long to destroy a range.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(300);

/// What a request says beside itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    /// Locks of these transactions are passed over.
    pub bypass: Vec<u64>,
    /// Locks of these transactions are read as committed.
    pub committed: Vec<u64>,
    /// It may have been carried out already.
    pub again: bool,
}

/// Why one try brought no answer.
pub(crate) enum Miss {
    Region(Box<errorpb::Error>),
    /// The store cannot be reached, or (`None`) did not answer in time.
    NoAnswer(Option<String>),
    Pd(Error),
}

impl Miss {
    /// How many keys the next request may have, after one that had so many.
    pub fn keys_max_after(&self, keys: usize, pace: &Pace) -> usize {
        match self {
            Miss::NoAnswer(None) => (keys / 2).max(PART_KEYS_MIN),
            Miss::NoAnswer(Some(_)) | Miss::Region(_) | Miss::Pd(_) => pace.part_keys(),
        }
    }

    /// Whether the request may have been carried out.
    pub fn in_doubt(&self) -> bool {
        match self {
            Miss::Region(error) => error.undetermined_result.is_some(),
            Miss::NoAnswer(_) => true,
            Miss::Pd(_) => false,
        }
    }
}

/// The cluster as everything above it sees it.
pub(crate) struct Cluster {
    pub pd: Arc<Pd>,
    pub tso: Tso,
    pub options: TikvOptions,
    /// What is read here, and may not be collected.
    pub floor: Arc<Floor>,
    pub metrics: Arc<Metrics>,
    pub troubles: Troubles,
    pub pace: Pace,
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
    pub fn new(members: Vec<String>, dialer: Dialer, options: TikvOptions) -> Cluster {
        let metrics = Arc::new(Metrics::default());
        let pd = Arc::new(Pd::new(members, dialer, options.retry_for, metrics.clone()));
        Cluster {
            tso: Tso::start(pd.clone(), options.retry_for),
            pd,
            options,
            floor: Arc::new(Floor::new()),
            metrics,
            troubles: Troubles::default(),
            pace: Pace::default(),
            answers: AtomicU64::new(0),
            regions: RegionCache::default(),
            stores: Stores::default(),
            tasks: Arc::default(),
        }
    }

    /// How many answers there were from stores.
    pub fn answers(&self) -> u64 {
        self.answers.load(Relaxed)
    }

    /// Why the cluster does not serve, as far as requests have shown lately.
    pub fn trouble(&self) -> Option<String> {
        self.tso.trouble().or_else(|| self.troubles.newest())
    }

    /// Runs work that its caller need not wait for, but the end of the store does.
    pub fn spawn<T: Send + 'static>(
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
    pub async fn finish_tasks(&self) {
        let mut backoff = self.backoff();
        while Arc::strong_count(&self.tasks) > 1 && backoff.blink().await {}
    }

    pub fn backoff(&self) -> Backoff {
        Backoff::new(self.options.retry_for)
    }

    /// The region of a key.
    pub async fn locate(&self, key: &[u8]) -> Result<Arc<Region>> {
        match self.regions.find(key) {
            Some(region) => Ok(region),
            None => Ok(self.regions.enter(Region::new(self.pd.region(key, false).await?)?)),
        }
    }

    /// The region of the keys just below `end`.
    pub async fn locate_before(&self, end: &[u8]) -> Result<Arc<Region>> {
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
    pub async fn try_at<R: Request>(
        &self,
        region: &Arc<Region>,
        mut request: R,
        manner: &Manner,
    ) -> Result<R::Answer, Miss> {
        let client =
            self.stores.client(&self.pd, region.leader.store_id).await.map_err(Miss::Pd)?;
        request.set_context(kvrpcpb::Context {
            region_id: region.id,
            region_epoch: Some(region.epoch),
            peer: Some(region.leader),
            resolved_locks: manner.bypass.clone(),
            committed_locks: manner.committed.clone(),
            is_retry_request: manner.again,
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
            Ok(Err(status)) => return Err(Miss::NoAnswer(Some(describe(&status)))),
            Err(_) => return Err(Miss::NoAnswer(None)),
        };
        self.answers.fetch_add(1, Relaxed);
        match answer.take_region_error() {
            Some(error) => Err(Miss::Region(Box::new(error))),
            None => {
                self.troubles.clear(region.leader.store_id);
                Ok(answer)
            }
        }
    }

    /// Learns from a miss and waits, or gives up.
    pub async fn recover<R: Request>(
        &self,
        region: &Arc<Region>,
        miss: Miss,
        backoff: &mut Backoff,
    ) -> Result<()> {
        let (why, soon) = match miss {
            Miss::Pd(error) => return Err(error),
            Miss::NoAnswer(why) => {
                let reason = if why.is_some() { Cause::Transport } else { Cause::Timeout };
                self.metrics.retry(reason);
                self.stores.forget(region.leader.store_id);
                self.regions.forget(region);
                (why.unwrap_or_else(|| "no answer in time".to_owned()), false)
            }
            Miss::Region(error) => {
                self.metrics.retry(Cause::of(&error));
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
        if !goes_on || backoff.age() > LASTING {
            self.troubles.note(store, &text());
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
    pub async fn destroy_at(&self, store: u64, span: &Span) -> Result<()> {
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
    pub async fn at_key<R: Request>(
        &self,
        key: &[u8],
        manner: &Manner,
        make: impl Fn(&Region) -> R,
    ) -> Result<R::Answer> {
        let mut backoff = self.backoff();
        let mut manner = manner.clone();
        loop {
            let region = self.locate(key).await?;
            let miss = match self.try_at(&region, make(&region), &manner).await {
                Ok(answer) => return Ok(answer),
                Err(miss) => miss,
            };
            manner.again |= miss.in_doubt();
            self.recover::<R>(&region, miss, &mut backoff).await?;
        }
    }

    /// A span, cut where regions end.
    pub async fn cut(&self, span: &Span) -> Result<Vec<Span>> {
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
    pub async fn by_region<T: Keyed>(&self, items: Vec<T>) -> Result<Vec<(Arc<Region>, Vec<T>)>> {
        let groups = self.parts(items, self.pace.keys()).await?;
        if groups.len() == 1 {
            return Ok(groups);
        }
        let items = groups.into_iter().flat_map(|(_, items)| items).collect();
        self.parts(items, self.pace.part_keys()).await
    }

    /// What is to be sent next while so many keys are on their way, if there is room.
    pub fn next_part<T>(
        &self,
        waiting: &mut VecDeque<(Arc<Region>, Vec<T>)>,
        keys_sent: usize,
    ) -> Option<(Arc<Region>, Vec<T>)> {
        let pace = self.pace.keys();
        if keys_sent >= pace {
            return None;
        }
        let (region, mut group) = waiting.pop_front()?;
        if group.len() > pace {
            // The stores have become slow since it was cut.
            waiting.push_front((region.clone(), group.split_off(self.pace.part_keys())));
        }
        Some((region, group))
    }

    /// The same with at most so many items in each.
    pub async fn parts<T: Keyed>(
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
    pub async fn at_all<T: Keyed + Send, R: Request>(
        &self,
        items: Vec<T>,
        manner: &Manner,
        make: impl Fn(&[T]) -> R + Sync,
    ) -> Result<Vec<(Vec<T>, R::Answer)>> {
        let mut running = FuturesUnordered::new();
        let start = |region: Arc<Region>, group: Vec<T>, again: bool, backoff: Backoff| {
            let request = make(&group);
            let manner = Manner { again: again || manner.again, ..manner.clone() };
            async move {
                let sent = Instant::now();
                let answer = self.try_at(&region, request, &manner).await;
                // What waits for somebody's lock says nothing about a store.
                if R::NAME != kvrpcpb::PessimisticLockRequest::NAME {
                    self.pace.answered(group.len(), sent.elapsed());
                }
                (region, group, manner.again, backoff, answer)
            }
        };
        let groups = self.parts(items, self.pace.part_keys()).await?;
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
            let miss = match answer {
                Ok(answer) => {
                    answers.push((group, answer));
                    continue;
                }
                Err(miss) => miss,
            };
            let again = again | miss.in_doubt();
            let keys_max = miss.keys_max_after(group.len(), &self.pace);
            self.recover::<R>(&region, miss, &mut backoff).await?;
            for (region, group) in self.parts(group, keys_max).await? {
                keys_sent += group.len();
                running.push(start(region, group, again, backoff.clone()));
            }
        }
    }
}
