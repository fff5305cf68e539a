//! PD: who leads it, and questions about regions and stores.
//!
//! Any member that was named can be asked who the leader is; everything else goes to the leader.
//! Any failure makes us look for the leader again.

use crate::{backoff::Backoff, keys};
use braid_kv::{Error, Result};
use braid_tikv_proto::{
    metapb,
    pdpb::{self, pd_client::PdClient},
};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

const ASK_TIMEOUT: Duration = Duration::from_secs(3);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

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
    pub fn header(&self) -> Option<pdpb::RequestHeader> {
        Some(pdpb::RequestHeader { cluster_id: self.cluster_id, ..Default::default() })
    }
}

/// The client of PD.
pub(crate) struct Pd {
    members: Vec<String>,
    leader: Mutex<Option<Leader>>,
    retry_for: Duration,
}

/// A channel that connects when it is first used.
pub(crate) fn channel(address: &str) -> Result<Channel> {
    let url =
        if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let endpoint = Endpoint::from_shared(url)
        .map_err(|error| Error::Storage(format!("address \"{address}\": {error}").into()))?;
    Ok(endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true).connect_lazy())
}

fn header_error(header: Option<&pdpb::ResponseHeader>) -> Option<String> {
    let error = header.and_then(|h| h.error.as_ref())?;
    (error.r#type != pdpb::ErrorType::Ok as i32).then(|| error.message.clone())
}

impl Pd {
    pub fn new(members: Vec<String>, retry_for: Duration) -> Pd {
        Pd { members, leader: Mutex::new(None), retry_for }
    }

    /// The leader, asked for if it is not known.
    pub async fn leader(&self) -> Result<Leader, String> {
        if let Some(leader) = self.leader.lock().clone() {
            return Ok(leader);
        }
        let mut last = "no member of PD was named".to_owned();
        for member in &self.members {
            match self.find_leader(member).await {
                Ok(leader) => {
                    *self.leader.lock() = Some(leader.clone());
                    return Ok(leader);
                }
                Err(error) => last = format!("PD at {member}: {error}"),
            }
        }
        Err(last)
    }

    async fn find_leader(&self, member: &str) -> Result<Leader, String> {
        let mut client = PdClient::new(channel(member).map_err(|e| e.to_string())?);
        let answer = client.get_members(pdpb::GetMembersRequest::default());
        let answer = tokio::time::timeout(ASK_TIMEOUT, answer).await;
        let members = answer
            .map_err(|_| "no answer".to_owned())?
            .map_err(|status| describe(&status))?
            .into_inner();
        if let Some(error) = header_error(members.header.as_ref()) {
            return Err(error);
        }
        let cluster_id = members.header.map_or(0, |h| h.cluster_id);
        let leader = members.leader.ok_or("it knows no leader")?;
        let url = leader.client_urls.first().ok_or("its leader has no address")?;
        let channel = channel(url).map_err(|e| e.to_string())?;
        Ok(Leader { client: PdClient::new(channel), cluster_id })
    }

    /// To be called after any failure: the leader may be another by now.
    pub fn forget_leader(&self) {
        *self.leader.lock() = None;
    }

    /// Asks until there is an answer or the patience is over.
    async fn ask<T>(
        &self,
        what: &str,
        question: impl Fn(Leader) -> BoxFuture<'static, Result<T, String>>,
    ) -> Result<T> {
        let mut backoff = Backoff::new(self.retry_for);
        loop {
            let failure = match self.leader().await {
                Err(failure) => failure,
                Ok(leader) => match tokio::time::timeout(ASK_TIMEOUT, question(leader)).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(failure)) => failure,
                    Err(_) => "no answer".to_owned(),
                },
            };
            self.forget_leader();
            if !backoff.sleep().await {
                let text = format!("PD does not answer ({what}): {failure}");
                return Err(Error::Storage(text.into()));
            }
        }
    }

    /// The region that holds a key, or with `before` the one that ends at it.
    pub async fn region(&self, key: &[u8], before: bool) -> Result<Located> {
        let region_key: bytes::Bytes = keys::encode(key).into();
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
                if let Some(error) = header_error(answer.header.as_ref()) {
                    return Err(error);
                }
                let region = answer.region.ok_or("it knows no region there")?;
                Ok(Located { region, leader: answer.leader })
            })
        };
        self.ask("a region", ask).await
    }

    /// The numbers of the stores that hold data of transactions.
    pub async fn stores(&self) -> Result<Vec<u64>> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<Vec<u64>, String>> {
            let header = leader.header();
            Box::pin(async move {
                let exclude_tombstone_stores = true;
                let request = pdpb::GetAllStoresRequest { header, exclude_tombstone_stores };
                let answer = leader.client.get_all_stores(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                if let Some(error) = header_error(answer.header.as_ref()) {
                    return Err(error);
                }
                let is_column_store = |store: &metapb::Store| {
                    store.labels.iter().any(|l| l.key == "engine" && l.value.contains("tiflash"))
                };
                let stores = answer.stores.iter().filter(|store| !is_column_store(store));
                Ok(stores.map(|store| store.id).collect())
            })
        };
        self.ask("all stores", ask).await
    }

    /// The safe point: what is hidden below it may be gone.
    pub async fn safe_point(&self) -> Result<u64> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<u64, String>> {
            let header = leader.header();
            Box::pin(async move {
                let answer =
                    leader.client.get_gc_safe_point(pdpb::GetGcSafePointRequest { header });
                let answer = answer.await.map_err(|status| describe(&status))?.into_inner();
                match header_error(answer.header.as_ref()) {
                    Some(error) => Err(error),
                    None => Ok(answer.safe_point),
                }
            })
        };
        self.ask("the safe point", ask).await
    }

    /// Moves the safe point, which never goes back; where it is then.
    pub async fn move_safe_point(&self, safe_point: u64) -> Result<u64> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<u64, String>> {
            let header = leader.header();
            Box::pin(async move {
                let request = pdpb::UpdateGcSafePointRequest { header, safe_point };
                let answer = leader.client.update_gc_safe_point(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                match header_error(answer.header.as_ref()) {
                    Some(error) => Err(error),
                    None => Ok(answer.new_safe_point),
                }
            })
        };
        self.ask("a new safe point", ask).await
    }

    /// Says that `service` needs what stands at `safe_point` and above for so many seconds; none
    /// takes it back. The lowest point that is kept then: if it is above `safe_point`, that comes
    /// too late and counts for nothing.
    pub async fn register(&self, service: &str, ttl: i64, safe_point: u64) -> Result<u64> {
        let service_id = bytes::Bytes::copy_from_slice(service.as_bytes());
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<u64, String>> {
            let (header, service_id) = (leader.header(), service_id.clone());
            Box::pin(async move {
                let request =
                    pdpb::UpdateServiceGcSafePointRequest { header, service_id, ttl, safe_point };
                let answer = leader.client.update_service_gc_safe_point(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                match header_error(answer.header.as_ref()) {
                    Some(error) => Err(error),
                    None => Ok(answer.min_safe_point),
                }
            })
        };
        self.ask("a service's safe point", ask).await
    }

    /// The address of a store.
    pub async fn store(&self, store_id: u64) -> Result<String> {
        let ask = |mut leader: Leader| -> BoxFuture<'static, Result<String, String>> {
            let header = leader.header();
            Box::pin(async move {
                let request = pdpb::GetStoreRequest { header, store_id };
                let answer = leader.client.get_store(request).await;
                let answer = answer.map_err(|status| describe(&status))?.into_inner();
                if let Some(error) = header_error(answer.header.as_ref()) {
                    return Err(error);
                }
                Ok(answer.store.ok_or("it does not know the store")?.address)
            })
        };
        self.ask("a store", ask).await
    }
}

/// A gRPC status in a few words.
pub(crate) fn describe(status: &tonic::Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
