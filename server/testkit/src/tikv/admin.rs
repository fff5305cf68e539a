//! A look into a cluster from outside, by the requests that any client may send: its regions, its
//! locks, its keys; and splits. It works on a real cluster and on the stand-in.
//!
//! For tests that are not asynchronous: each call waits. Trouble with a region is waited out.

use std::time::{Duration, Instant};

use braid_tikv_proto::kvrpcpb as rpc;
use braid_tikv_proto::pdpb::pd_client::PdClient;
use braid_tikv_proto::tikvpb::tikv_client::TikvClient;
use braid_tikv_proto::{errorpb, metapb, pdpb};
use bytes::Bytes;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

use crate::random::Random;
use crate::tikv::cluster::{decode, encode};

/// Trouble that lasts longer is none that goes away.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// No test has more regions.
const REGIONS_MAX: i32 = 10_000;
/// As many keys or locks are asked for at a time.
const PAGE: u32 = 1024;

/// One region as PD knows it.
#[derive(Clone, Debug)]
pub struct RegionInfo {
    /// Its number.
    pub id: u64,
    /// Its first key, or none for the first region.
    pub start: Vec<u8>,
    /// The key after its last one; empty for the last region.
    pub end: Vec<u8>,
    /// The stores that have it.
    pub stores: Vec<u64>,
    /// The store that leads it; zero if PD knows of none.
    pub leader: u64,
    context: rpc::Context,
}

/// A client that looks around.
#[derive(Debug)]
pub struct Admin {
    runtime: Runtime,
    header: Option<pdpb::RequestHeader>,
    pd: PdClient<Channel>,
}

impl Admin {
    /// Connects to a cluster whose PD has this member as its leader.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn connect(pd: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        let (header, pd) = runtime.block_on(async {
            let mut pd = PdClient::new(channel(pd).await.expect("PD listens"));
            let members = pd.get_members(pdpb::GetMembersRequest::default()).await;
            let members = members.expect("PD answers").into_inner();
            let cluster_id = members.header.unwrap_or_default().cluster_id;
            (Some(pdpb::RequestHeader { cluster_id, ..Default::default() }), pd)
        });
        Admin { runtime, header, pd }
    }

    /// Repeats something until it comes to a result.
    fn insist<T, E: std::fmt::Debug>(
        &self,
        what: &str,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        self.runtime.block_on(async {
            loop {
                match attempt().await {
                    Ok(done) => return done,
                    Err(error) => assert!(Instant::now() < deadline, "{what}: {error:?}"),
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    /// All stores.
    ///
    /// # Panics
    /// If PD does not answer for long.
    pub fn stores(&self) -> Vec<metapb::Store> {
        self.insist("stores", async || {
            let header = self.header.clone();
            let request = pdpb::GetAllStoresRequest { header, exclude_tombstone_stores: true };
            let answer = self.pd.clone().get_all_stores(request).await;
            answer.map(|answer| answer.into_inner().stores)
        })
    }

    /// The regions that have keys with that prefix, in key order.
    ///
    /// # Panics
    /// If PD does not answer for long.
    pub fn regions(&self, prefix: &[u8]) -> Vec<RegionInfo> {
        self.insist("regions", async || {
            let (start, end) = (encode(prefix), encode(&behind(prefix)));
            let request = pdpb::ScanRegionsRequest {
                header: self.header.clone(),
                start_key: start.into(),
                end_key: if prefix.is_empty() { Bytes::new() } else { end.into() },
                limit: REGIONS_MAX,
            };
            let answer = self.pd.clone().scan_regions(request).await?.into_inner();
            Ok::<_, tonic::Status>(answer.regions.into_iter().filter_map(region_info).collect())
        })
    }

    /// A new timestamp.
    ///
    /// # Panics
    /// If PD does not answer for long.
    pub fn timestamp(&self) -> u64 {
        self.insist("a timestamp", async || {
            let header = self.header.clone();
            let request = pdpb::TsoRequest { header, count: 1, ..Default::default() };
            let stream = futures_util::stream::iter([request]);
            let mut answers = self.pd.clone().tso(stream).await?.into_inner();
            let answer = answers.message().await?.unwrap_or_default();
            let time = answer.timestamp.ok_or_else(|| tonic::Status::unavailable("no time"))?;
            Ok::<_, tonic::Status>(((time.physical as u64) << 18) + time.logical as u64)
        })
    }

    async fn store(&self, id: u64) -> Result<TikvClient<Channel>, tonic::Status> {
        let request = pdpb::GetStoreRequest { header: self.header.clone(), store_id: id };
        let store = self.pd.clone().get_store(request).await?.into_inner().store;
        Ok(TikvClient::new(channel(&store.unwrap_or_default().address).await?))
    }

    /// The locks on keys with that prefix.
    ///
    /// # Panics
    /// If some region does not answer for long.
    pub fn locks(&self, prefix: &[u8]) -> Vec<rpc::LockInfo> {
        let max_version = self.timestamp();
        let mut start = prefix.to_vec();
        let end = behind(prefix);
        let mut locks = Vec::new();
        loop {
            let (found, next) = self.insist("locks", async || {
                let region = self.region_of(&start).await?;
                let request = rpc::ScanLockRequest {
                    context: Some(region.context),
                    max_version,
                    start_key: start.clone().into(),
                    end_key: end.clone().into(),
                    limit: PAGE,
                };
                let mut store = self.store(region.leader).await?;
                let answer = store.kv_scan_lock(request).await?.into_inner();
                check(answer.region_error)?;
                let next = match answer.locks.last() {
                    Some(last) if answer.locks.len() == PAGE as usize => after(&last.key),
                    _ => region.end,
                };
                Ok::<_, tonic::Status>((answer.locks, next))
            });
            locks.extend(found);
            if next.is_empty() || next >= end {
                return locks;
            }
            start = next;
        }
    }

    /// Some keys with that prefix that a region has now.
    ///
    /// # Panics
    /// If the region does not answer for long.
    pub fn keys(&self, prefix: &[u8], region: &RegionInfo) -> Vec<Vec<u8>> {
        let version = self.timestamp();
        let start = region.start.clone().max(prefix.to_vec());
        self.insist("keys", async || {
            let region = self.region_of(&start).await?;
            let request = rpc::ScanRequest {
                context: Some(region.context),
                start_key: start.clone().into(),
                end_key: behind(prefix).into(),
                limit: PAGE,
                version,
                key_only: true,
                ..Default::default()
            };
            let mut store = self.store(region.leader).await?;
            let answer = store.kv_scan(request).await?.into_inner();
            check(answer.region_error)?;
            let keys = answer.pairs.into_iter().map(|pair| pair.key.to_vec());
            Ok::<_, tonic::Status>(keys.filter(|key| !key.is_empty()).collect())
        })
    }

    async fn region_of(&self, key: &[u8]) -> Result<RegionInfo, tonic::Status> {
        let (header, region_key) = (self.header.clone(), encode(key).into());
        let request = pdpb::GetRegionRequest { header, region_key, ..Default::default() };
        let found = self.pd.clone().get_region(request).await?.into_inner();
        let (region, leader) = (found.region, found.leader);
        let region = pdpb::Region { region, leader, ..Default::default() };
        let info = region_info(region).filter(|region| region.leader != 0);
        info.ok_or_else(|| tonic::Status::unavailable("PD knows of no leader"))
    }

    /// Splits a region with that prefix before one of its keys; false if none has two keys.
    ///
    /// # Panics
    /// If the region does not answer for long.
    pub fn split_somewhere(&self, prefix: &[u8], random: &mut Random) -> bool {
        let regions = self.regions(prefix);
        let keys = self.keys(prefix, random.pick(&regions));
        if keys.len() < 2 {
            return false;
        }
        let key = random.pick(&keys[1..]);
        self.split_at(key);
        true
    }

    /// Makes a key the first one of its region.
    ///
    /// # Panics
    /// If the region does not answer for long.
    pub fn split_at(&self, key: &[u8]) {
        self.insist("a split", async || {
            let region = self.region_of(key).await?;
            if region.start == key {
                return Ok(());
            }
            let request = rpc::SplitRegionRequest {
                context: Some(region.context),
                split_keys: vec![key.to_vec().into()],
                ..Default::default()
            };
            let mut store = self.store(region.leader).await?;
            check(store.split_region(request).await?.into_inner().region_error)
        });
    }
}

async fn channel(address: &str) -> Result<Channel, tonic::Status> {
    let unavailable =
        |error: tonic::transport::Error| tonic::Status::unavailable(error.to_string());
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(unavailable)?;
    endpoint.timeout(Duration::from_secs(10)).connect().await.map_err(unavailable)
}

fn check(error: Option<errorpb::Error>) -> Result<(), tonic::Status> {
    match error {
        None => Ok(()),
        Some(error) => Err(tonic::Status::unavailable(error.message)),
    }
}

fn region_info(found: pdpb::Region) -> Option<RegionInfo> {
    let region = found.region?;
    let leader = found.leader;
    Some(RegionInfo {
        id: region.id,
        start: decode(&region.start_key).unwrap_or_default(),
        end: decode(&region.end_key).unwrap_or_default(),
        stores: region.peers.iter().map(|peer| peer.store_id).collect(),
        leader: leader.map_or(0, |leader| leader.store_id),
        context: rpc::Context {
            region_id: region.id,
            region_epoch: region.region_epoch,
            peer: leader,
            ..Default::default()
        },
    })
}

/// The key after all keys with that prefix; empty if there is none.
fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    end
}

fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
