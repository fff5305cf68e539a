//! The service of a PD member: timestamps, regions, stores, safe points.
//!
//! Only the leader answers, except for who the members are. All members share one state: a new
//! leader goes on where the old one stopped.

use std::sync::Arc;
use std::time::Instant;

use braid_tikv_proto::metapb;
use braid_tikv_proto::pdpb as rpc;
use braid_tikv_proto::pdpb::pd_server::Pd as Service;
use bytes::Bytes;
use futures_util::StreamExt;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use super::convert;
use super::state::{Core, Shared, pause};
use crate::tikv::cluster::decode;
use crate::tikv::cluster::{CLUSTER_ID, Region};
use crate::tikv::engine::LOGICAL_BITS;
use crate::tikv::faults::{Fault, Rpc};

/// One member.
#[derive(Clone, Debug)]
pub(crate) struct PdService {
    /// The state of all.
    pub shared: Arc<Shared>,
    /// Which member.
    pub member: usize,
}

type Answer<T> = Result<Response<T>, Status>;

fn header() -> Option<rpc::ResponseHeader> {
    Some(rpc::ResponseHeader { cluster_id: CLUSTER_ID, error: None })
}

fn unknown(message: String) -> Status {
    Status::unknown(message)
}

fn failed(message: String) -> Option<rpc::ResponseHeader> {
    let error = Some(rpc::Error { r#type: rpc::ErrorType::Unknown as i32, message });
    Some(rpc::ResponseHeader { cluster_id: CLUSTER_ID, error })
}

impl PdService {
    /// Takes a request through latency and faults.
    async fn call<A>(
        &self,
        kind: Rpc,
        header: Option<rpc::RequestHeader>,
        run: impl FnOnce(&mut Core) -> A,
    ) -> Result<A, Status> {
        let (fault, latency) = {
            let mut core = self.shared.core.lock();
            self.check(&core)?;
            let asked = header.map_or(0, |header| header.cluster_id);
            let need = core.pd.cluster_id;
            if asked != 0 && asked != need {
                let text = format!("mismatch cluster id, need {need} but got {asked}");
                return Err(Status::failed_precondition(text));
            }
            *core.counts.entry(kind).or_default() += 1;
            (core.faults.decide(kind, &[], usize::MAX), core.delays.pd_latency)
        };
        let broken = || Status::unavailable("the connection is broken (injected)");
        match &fault {
            Some(Fault::LoseRequest) => return Err(broken()),
            Some(Fault::Delay(late)) => tokio::time::sleep(*late).await,
            Some(Fault::HoldRequest(gate)) => gate.pass().await,
            _ => {}
        }
        pause(latency / 2).await;
        let answer = {
            let mut core = self.shared.core.lock();
            self.check(&core)?;
            run(&mut core)
        };
        pause(latency / 2).await;
        match &fault {
            Some(Fault::LoseAnswer) => return Err(broken()),
            Some(Fault::HoldAnswer(gate)) => gate.pass().await,
            _ => {}
        }
        Ok(answer)
    }

    fn check_up(&self, core: &Core) -> Result<(), Status> {
        match core.pd.is_down || core.pd.stopped.contains(&self.member) {
            true => Err(Status::unavailable("PD is down")),
            false => Ok(()),
        }
    }

    fn check(&self, core: &Core) -> Result<(), Status> {
        self.check_up(core)?;
        if core.pd.leader != self.member {
            return Err(Status::unavailable("not leader"));
        }
        Ok(())
    }

    async fn tso(
        self,
        request: Result<rpc::TsoRequest, Status>,
    ) -> Result<rpc::TsoResponse, Status> {
        let rpc::TsoRequest { header: asked, count, .. } = request?;
        let last = self.call(Rpc::Tso, asked, |core| core.clock.next(count)).await?;
        let part = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let timestamp = rpc::Timestamp {
            physical: part(last >> LOGICAL_BITS),
            logical: part(last & ((1 << LOGICAL_BITS) - 1)),
            suffix_bits: 0,
        };
        Ok(rpc::TsoResponse { header: header(), count, timestamp: Some(timestamp) })
    }
}

fn member(core: &Core, at: usize) -> rpc::Member {
    let scheme = if core.pd.is_tls { "https" } else { "http" };
    let urls = core.pd.members.get(at).map(|address| format!("{scheme}://{address}"));
    rpc::Member {
        name: format!("pd-{at}"),
        member_id: at as u64 + 1,
        client_urls: urls.into_iter().collect(),
        ..rpc::Member::default()
    }
}

fn one_region(region: Option<&Region>) -> rpc::GetRegionResponse {
    rpc::GetRegionResponse {
        header: header(),
        region: region.map(convert::region),
        leader: region.and_then(Region::leader_peer).map(convert::peer),
        ..rpc::GetRegionResponse::default()
    }
}

fn regions_of(core: &mut Core, start: &[u8], end: &[u8], limit: i32) -> Vec<rpc::Region> {
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    core.cluster
        .regions_of_pd()
        .all()
        .filter(|region| region.end.is_empty() || *region.end > *start)
        .filter(|region| end.is_empty() || *region.start < *end)
        .take(limit)
        .map(|region| rpc::Region {
            region: Some(convert::region(region)),
            leader: region.leader_peer().map(convert::peer),
            ..rpc::Region::default()
        })
        .collect()
}

#[tonic::async_trait]
impl Service for PdService {
    async fn get_cluster_info(
        &self,
        _request: Request<rpc::GetClusterInfoRequest>,
    ) -> Answer<rpc::GetClusterInfoResponse> {
        let service_modes = vec![rpc::ServiceMode::PdSvcMode as i32];
        let tso_urls = Vec::new();
        Ok(Response::new(rpc::GetClusterInfoResponse { header: header(), service_modes, tso_urls }))
    }

    async fn get_members(
        &self,
        _request: Request<rpc::GetMembersRequest>,
    ) -> Answer<rpc::GetMembersResponse> {
        let core = self.shared.core.lock();
        self.check_up(&core)?;
        let members = (0..core.pd.members.len()).map(|at| member(&core, at)).collect();
        let leader = Some(member(&core, core.pd.leader));
        Ok(Response::new(rpc::GetMembersResponse {
            header: Some(rpc::ResponseHeader { cluster_id: core.pd.cluster_id, error: None }),
            members,
            etcd_leader: leader.clone(),
            leader,
            ..rpc::GetMembersResponse::default()
        }))
    }

    type TsoStream = BoxStream<rpc::TsoResponse>;

    async fn tso(&self, request: Request<Streaming<rpc::TsoRequest>>) -> Answer<Self::TsoStream> {
        self.check(&self.shared.core.lock())?;
        let this = self.clone();
        let answers = request.into_inner().then(move |request| this.clone().tso(request));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn is_bootstrapped(
        &self,
        request: Request<rpc::IsBootstrappedRequest>,
    ) -> Answer<rpc::IsBootstrappedResponse> {
        self.call(Rpc::Placement, request.into_inner().header, |_| ()).await?;
        let bootstrapped = true;
        Ok(Response::new(rpc::IsBootstrappedResponse { header: header(), bootstrapped }))
    }

    async fn alloc_id(
        &self,
        _request: Request<rpc::AllocIdRequest>,
    ) -> Answer<rpc::AllocIdResponse> {
        Err(Status::unimplemented("not in the stand-in"))
    }

    async fn get_store(
        &self,
        request: Request<rpc::GetStoreRequest>,
    ) -> Answer<rpc::GetStoreResponse> {
        let rpc::GetStoreRequest { header: asked, store_id } = request.into_inner();
        let find = |core: &mut Core| core.cluster.store(store_id).map(|s| convert::store(s));
        let answer = match self.call(Rpc::Placement, asked, find).await? {
            Some(store) => rpc::GetStoreResponse { header: header(), store: Some(store) },
            None => rpc::GetStoreResponse {
                header: failed(format!("invalid store ID {store_id}, not found")),
                store: None,
            },
        };
        Ok(Response::new(answer))
    }

    async fn get_all_stores(
        &self,
        request: Request<rpc::GetAllStoresRequest>,
    ) -> Answer<rpc::GetAllStoresResponse> {
        let all = |core: &mut Core| {
            let version = core.pd.version.clone();
            let stores = core.cluster.stores().map(convert::store);
            let told = |store| metapb::Store { version: version.clone(), ..store };
            stores.map(told).collect()
        };
        let stores = self.call(Rpc::Placement, request.into_inner().header, all).await?;
        Ok(Response::new(rpc::GetAllStoresResponse { header: header(), stores }))
    }

    async fn get_region(
        &self,
        request: Request<rpc::GetRegionRequest>,
    ) -> Answer<rpc::GetRegionResponse> {
        let rpc::GetRegionRequest { header, region_key, .. } = request.into_inner();
        let find = |core: &mut Core| one_region(Some(core.cluster.regions_of_pd().of(&region_key)));
        Ok(Response::new(self.call(Rpc::Placement, header, find).await?))
    }

    async fn get_prev_region(
        &self,
        request: Request<rpc::GetRegionRequest>,
    ) -> Answer<rpc::GetRegionResponse> {
        let rpc::GetRegionRequest { header, region_key, .. } = request.into_inner();
        let find = |core: &mut Core| one_region(core.cluster.regions_of_pd().before(&region_key));
        Ok(Response::new(self.call(Rpc::Placement, header, find).await?))
    }

    async fn get_region_by_id(
        &self,
        request: Request<rpc::GetRegionByIdRequest>,
    ) -> Answer<rpc::GetRegionResponse> {
        let rpc::GetRegionByIdRequest { header, region_id, .. } = request.into_inner();
        let find = |core: &mut Core| one_region(core.cluster.regions_of_pd().get(region_id));
        Ok(Response::new(self.call(Rpc::Placement, header, find).await?))
    }

    async fn scan_regions(
        &self,
        request: Request<rpc::ScanRegionsRequest>,
    ) -> Answer<rpc::ScanRegionsResponse> {
        let asked = request.into_inner();
        let find =
            |core: &mut Core| regions_of(core, &asked.start_key, &asked.end_key, asked.limit);
        let regions = self.call(Rpc::Placement, asked.header.clone(), find).await?;
        Ok(Response::new(rpc::ScanRegionsResponse {
            header: header(),
            region_metas: regions.iter().filter_map(|region| region.region.clone()).collect(),
            leaders: regions.iter().map(|region| region.leader.unwrap_or_default()).collect(),
            regions,
        }))
    }

    async fn batch_scan_regions(
        &self,
        request: Request<rpc::BatchScanRegionsRequest>,
    ) -> Answer<rpc::BatchScanRegionsResponse> {
        let asked = request.into_inner();
        let find = |core: &mut Core| {
            let mut regions: Vec<rpc::Region> = Vec::new();
            for range in &asked.ranges {
                let mut found = regions_of(core, &range.start_key, &range.end_key, asked.limit);
                found.retain(|region| !regions.contains(region));
                regions.extend(found);
            }
            if let Ok(limit @ 1..) = usize::try_from(asked.limit) {
                regions.truncate(limit);
            }
            regions
        };
        let regions = self.call(Rpc::Placement, asked.header.clone(), find).await?;
        Ok(Response::new(rpc::BatchScanRegionsResponse { header: header(), regions }))
    }

    async fn get_cluster_config(
        &self,
        request: Request<rpc::GetClusterConfigRequest>,
    ) -> Answer<rpc::GetClusterConfigResponse> {
        self.call(Rpc::Placement, request.into_inner().header, |_| ()).await?;
        let max_peer_count = 3;
        let cluster = metapb::Cluster { id: CLUSTER_ID, max_peer_count };
        let cluster = Some(cluster);
        Ok(Response::new(rpc::GetClusterConfigResponse { header: header(), cluster }))
    }

    /// Says that it has begun; leaders stay where they are.
    async fn scatter_region(
        &self,
        request: Request<rpc::ScatterRegionRequest>,
    ) -> Answer<rpc::ScatterRegionResponse> {
        self.call(Rpc::Placement, request.into_inner().header, |_| ()).await?;
        let finished_percentage = 100;
        let answer = rpc::ScatterRegionResponse {
            header: header(),
            finished_percentage,
            ..Default::default()
        };
        Ok(Response::new(answer))
    }

    async fn get_gc_safe_point(
        &self,
        request: Request<rpc::GetGcSafePointRequest>,
    ) -> Answer<rpc::GetGcSafePointResponse> {
        let get = |core: &mut Core| core.pd.safe_points.collected();
        let safe_point = self.call(Rpc::Placement, request.into_inner().header, get).await?;
        Ok(Response::new(rpc::GetGcSafePointResponse { header: header(), safe_point }))
    }

    /// The stores collect at once, where real ones take their time.
    async fn update_gc_safe_point(
        &self,
        request: Request<rpc::UpdateGcSafePointRequest>,
    ) -> Answer<rpc::UpdateGcSafePointResponse> {
        let rpc::UpdateGcSafePointRequest { header: asked, safe_point } = request.into_inner();
        let update = |core: &mut Core| {
            let safe_point = core.pd.safe_points.set_collected(safe_point)?;
            core.engine.table.collect_garbage(safe_point);
            Ok(safe_point)
        };
        let new_safe_point = self.call(Rpc::Placement, asked, update).await?.map_err(unknown)?;
        Ok(Response::new(rpc::UpdateGcSafePointResponse { header: header(), new_safe_point }))
    }

    async fn update_service_gc_safe_point(
        &self,
        request: Request<rpc::UpdateServiceGcSafePointRequest>,
    ) -> Answer<rpc::UpdateServiceGcSafePointResponse> {
        let asked = request.into_inner();
        let name = String::from_utf8_lossy(&asked.service_id).into_owned();
        let update = |core: &mut Core| {
            core.pd.safe_points.set_service(&name, asked.ttl, asked.safe_point, Instant::now())
        };
        let lowest = self.call(Rpc::Placement, asked.header.clone(), update).await?;
        let lowest = lowest.map_err(unknown)?;
        Ok(Response::new(rpc::UpdateServiceGcSafePointResponse {
            header: header(),
            service_id: Bytes::from(lowest.service),
            ttl: lowest.ttl,
            min_safe_point: lowest.safe_point,
        }))
    }

    async fn get_operator(
        &self,
        _request: Request<rpc::GetOperatorRequest>,
    ) -> Answer<rpc::GetOperatorResponse> {
        Err(Status::unimplemented("not in the stand-in"))
    }

    async fn split_regions(
        &self,
        request: Request<rpc::SplitRegionsRequest>,
    ) -> Answer<rpc::SplitRegionsResponse> {
        let asked = request.into_inner();
        let split = |core: &mut Core| {
            let keys = asked.split_keys.iter().filter_map(|key| decode(key));
            keys.filter_map(|key| core.cluster.split(&key)).collect()
        };
        let regions_id = self.call(Rpc::Placement, asked.header.clone(), split).await?;
        let finished_percentage = 100;
        Ok(Response::new(rpc::SplitRegionsResponse {
            header: header(),
            finished_percentage,
            regions_id,
        }))
    }
}
