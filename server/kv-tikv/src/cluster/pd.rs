//! PD: who leads it, and questions about regions and stores.
//!
//! All known members are asked at once who the leader is, and the first answer counts; everything
//! else goes to the leader. Any failure makes us look for the leader again. Known are the members
//! that were named and those that these have named. A member of another cluster is refused.

use super::{
    backoff::Backoff,
    dialer::{Dialer, describe},
    region_key,
};
use crate::{OpenError, metrics::Metrics, version};
use braid_kv::{Error, Result};
use braid_tikv_proto::{
    metapb,
    pdpb::{self, pd_client::PdClient},
};
use futures_util::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
use parking_lot::Mutex;
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use tonic::transport::Channel;

const ASK_TIMEOUT: Duration = Duration::from_secs(3);
/// The name under which questions about regions and stores are counted.
const QUESTION: &str = "pd_question";

/// A region with its leader, as PD knows them.
pub(crate) struct Located {
    pub region: metapb::Region,
    pub leader: Option<metapb::Peer>,
}

#[derive(Clone)]
pub(crate) struct Leader {
    pub client: PdClient<Channel>,
    pub cluster_id: u64,
}

impl Leader {
    pub(crate) fn header(&self) -> Option<pdpb::RequestHeader> {
        Some(pdpb::RequestHeader { cluster_id: self.cluster_id, ..Default::default() })
    }
}

/// The client of PD.
pub(crate) struct Pd {
    pub dialer: Dialer,
    /// Those that were named, then those that they have named.
    members: Mutex<Vec<String>>,
    cluster_id: OnceLock<u64>,
    leader: Mutex<Option<Leader>>,
    retry_for: Duration,
    metrics: Arc<Metrics>,
}

fn check_header(header: Option<&pdpb::ResponseHeader>) -> Result<(), String> {
    match header.and_then(|header| header.error.as_ref()) {
        Some(error) if error.r#type != pdpb::ErrorType::Ok as i32 => Err(error.message.clone()),
        Some(_) | None => Ok(()),
    }
}

fn cluster_of(answer: &pdpb::GetMembersResponse) -> u64 {
    answer.header.as_ref().map_or(0, |header| header.cluster_id)
}

impl Pd {
    pub(crate) fn new(
        members: Vec<String>,
        dialer: Dialer,
        retry_for: Duration,
        metrics: Arc<Metrics>,
    ) -> Pd {
        let (cluster_id, leader) = (OnceLock::new(), Mutex::new(None));
        Pd { dialer, members: Mutex::new(members), cluster_id, leader, retry_for, metrics }
    }

    /// To be called first: every member that was named and answers belongs to one cluster, and the
    /// stores are new enough (PD does not tell its own version here; it is upgraded before them).
    /// One member that answers is enough.
    pub(crate) async fn check(&self) -> Result<(), OpenError> {
        let named = self.members.lock().clone();
        let answers = join_all(named.iter().map(|member| self.members_of(member))).await;
        let mut failures = Vec::new();
        let mut first: Option<(&String, u64)> = None;
        for (member, answer) in named.iter().zip(answers) {
            let answer = match answer {
                Ok(answer) => answer,
                Err(failure) => {
                    failures.push(failure);
                    continue;
                }
            };
            let cluster_id = cluster_of(&answer);
            let (one, of) = *first.get_or_insert((member, cluster_id));
            if of != cluster_id {
                let (one, other) = (one.clone(), member.clone());
                return Err(OpenError::Clusters { one, other });
            }
            self.learn(&answer);
        }
        let Some((_, cluster_id)) = first else {
            return Err(Error::Unreachable(failures.join("; ").into()).into());
        };
        for failure in failures {
            tracing::warn!(failure, "a member of PD that was named does not answer");
        }
        self.cluster_id.get_or_init(|| cluster_id);
        for store in self.stores().await? {
            let what = format!("store {} at {}", store.id, store.address);
            version::check(&what, &store.version)?;
        }
        Ok(())
    }

    /// The leader, asked for if it is not known.
    pub(crate) async fn leader(&self) -> Result<Leader, String> {
        if let Some(leader) = self.leader.lock().clone() {
            return Ok(leader);
        }
        let members = self.members.lock().clone();
        let mut asked: FuturesUnordered<_> =
            members.iter().map(|member| self.find_leader(member)).collect();
        let mut failures = Vec::new();
        while let Some(found) = asked.next().await {
            match found {
                Ok(leader) => {
                    *self.leader.lock() = Some(leader.clone());
                    return Ok(leader);
                }
                Err(failure) => failures.push(failure),
            }
        }
        failures.sort_unstable();
        Err(failures.join("; "))
    }

    async fn members_of(&self, member: &str) -> Result<pdpb::GetMembersResponse, String> {
        let at = |failure: String| format!("PD at {member}: {failure}");
        let mut client = PdClient::new(self.dialer.channel(member).map_err(at)?);
        let answer = client.get_members(pdpb::GetMembersRequest::default());
        let answer = tokio::time::timeout(ASK_TIMEOUT, answer).await;
        let members = answer
            .map_err(|_| at("no answer".to_owned()))?
            .map_err(|status| at(self.dialer.explain(&status)))?
            .into_inner();
        check_header(members.header.as_ref()).map_err(at)?;
        Ok(members)
    }

    async fn find_leader(&self, member: &str) -> Result<Leader, String> {
        let members = self.members_of(member).await?;
        let at = |failure: &str| format!("PD at {member}: {failure}");
        let cluster_id = cluster_of(&members);
        if self.cluster_id.get().is_some_and(|known| *known != cluster_id) {
            return Err(at("it is of another cluster"));
        }
        self.learn(&members);
        let leader = members.leader.ok_or_else(|| at("it knows no leader"))?;
        let url = leader.client_urls.first().ok_or_else(|| at("its leader has no address"))?;
        let channel = self.dialer.channel(url).map_err(|failure| at(&failure))?;
        Ok(Leader { client: PdClient::new(channel), cluster_id })
    }

    /// Members that were not named serve as well when those that were are gone.
    fn learn(&self, answer: &pdpb::GetMembersResponse) {
        let urls = answer.members.iter().filter_map(|member| member.client_urls.first());
        let mut members = self.members.lock();
        for url in urls {
            let place = url.split_once("://").map_or(url.as_str(), |(_, place)| place);
            let place = place.trim_end_matches('/');
            if !members.iter().any(|known| known == place) {
                members.push(place.to_owned());
            }
        }
    }

    /// To be called after any failure: the leader may be another by now.
    pub(crate) fn forget_leader(&self) {
        *self.leader.lock() = None;
    }

    /// Asks until there is an answer or the patience is over.
    async fn ask<T>(
        &self,
        what: &str,
        question: impl Fn(Leader) -> BoxFuture<'static, Result<T, String>>,
    ) -> Result<T> {
        let mut backoff = Backoff::new(self.retry_for);
        let counted = self.metrics.rpc(QUESTION);
        loop {
            let failure = match self.leader().await {
                Err(failure) => failure,
                Ok(leader) => {
                    counted.count();
                    let asked = Instant::now();
                    let answer = tokio::time::timeout(ASK_TIMEOUT, question(leader)).await;
                    counted.took(asked.elapsed());
                    match answer {
                        Ok(Ok(answer)) => return Ok(answer),
                        Ok(Err(failure)) => failure,
                        Err(_) => "no answer".to_owned(),
                    }
                }
            };
            self.forget_leader();
            if !backoff.sleep().await {
                let text = format!("PD does not answer ({what}): {failure}");
                return Err(Error::Unreachable(text.into()));
            }
        }
    }

    /// The region that holds a key, or with `before` the one that ends at it.
    pub(crate) async fn region(&self, key: &[u8], before: bool) -> Result<Located> {
        let region_key: bytes::Bytes = region_key::encode(key).into();
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<Located, String>> {
            let header = leader.header();
            let region_key = region_key.clone();
            Box::pin(async move {
                let request = pdpb::GetRegionRequest { header, region_key, need_buckets: false };
                let answer = match before {
                    true => leader.client.get_prev_region(request).await,
                    false => leader.client.get_region(request).await,
                };
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                check_header(answer.header.as_ref())?;
                let region = answer.region.ok_or("it knows no region there")?;
                Ok(Located { region, leader: answer.leader })
            })
        };
        self.ask("a region", ask).await
    }

    /// The stores that hold data of transactions.
    pub(crate) async fn stores(&self) -> Result<Vec<metapb::Store>> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<Vec<metapb::Store>, String>> {
            let header = leader.header();
            Box::pin(async move {
                let exclude_tombstone_stores = true;
                let request = pdpb::GetAllStoresRequest { header, exclude_tombstone_stores };
                let answer = leader.client.get_all_stores(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                check_header(answer.header.as_ref())?;
                let is_column_store = |store: &metapb::Store| {
                    store.labels.iter().any(|l| l.key == "engine" && l.value.contains("tiflash"))
                };
                let stores = answer.stores.into_iter().filter(|store| !is_column_store(store));
                Ok(stores.collect())
            })
        };
        self.ask("all stores", ask).await
    }

    /// The safe point: what is hidden below it may be gone.
    pub(crate) async fn safe_point(&self) -> Result<u64> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<u64, String>> {
            let header = leader.header();
            Box::pin(async move {
                let answer =
                    leader.client.get_gc_safe_point(pdpb::GetGcSafePointRequest { header });
                let answer = answer.await.map_err(|status| describe(&status))?.into_inner();
                check_header(answer.header.as_ref())?;
                Ok(answer.safe_point)
            })
        };
        self.ask("the safe point", ask).await
    }

    /// Moves the safe point, which never goes back; where it is then.
    pub(crate) async fn move_safe_point(&self, safe_point: u64) -> Result<u64> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<u64, String>> {
            let header = leader.header();
            Box::pin(async move {
                let request = pdpb::UpdateGcSafePointRequest { header, safe_point };
                let answer = leader.client.update_gc_safe_point(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                check_header(answer.header.as_ref())?;
                Ok(answer.new_safe_point)
            })
        };
        self.ask("a new safe point", ask).await
    }

    /// Says that `service` needs what stands at `safe_point` and above for `ttl` seconds; zero
    /// takes it back. The lowest point that is kept then: if it is above `safe_point`, that comes
    /// too late and counts for nothing.
    pub(crate) async fn register(&self, service: &str, ttl: i64, safe_point: u64) -> Result<u64> {
        let service_id = bytes::Bytes::copy_from_slice(service.as_bytes());
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<u64, String>> {
            let (header, service_id) = (leader.header(), service_id.clone());
            Box::pin(async move {
                let request =
                    pdpb::UpdateServiceGcSafePointRequest { header, service_id, ttl, safe_point };
                let answer = leader.client.update_service_gc_safe_point(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                check_header(answer.header.as_ref())?;
                Ok(answer.min_safe_point)
            })
        };
        self.ask("a service's safe point", ask).await
    }

    /// The address of a store.
    pub(crate) async fn store(&self, store_id: u64) -> Result<String> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<String, String>> {
            let header = leader.header();
            Box::pin(async move {
                let request = pdpb::GetStoreRequest { header, store_id };
                let answer = leader.client.get_store(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                check_header(answer.header.as_ref())?;
                Ok(answer.store.ok_or("it does not know the store")?.address)
            })
        };
        self.ask("a store", ask).await
    }
}
