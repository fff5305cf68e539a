//! A client that sends what it is told to the right store, and does nothing else: no transactions,
//! no resolving. It goes on after errors about regions, as every client has to.

use std::collections::HashMap;
use std::time::Duration;

use braid_tikv_proto::kvrpcpb::{self as rpc, Op};
use braid_tikv_proto::pdpb::pd_client::PdClient;
use braid_tikv_proto::tikvpb::tikv_client::TikvClient;
use braid_tikv_proto::{metapb, pdpb};
use bytes::Bytes;
use tonic::transport::Channel;

/// A time to live that no test reaches the end of.
pub(crate) const LONG_MS: u64 = 60_000;

/// Attempts of a request that fails with region errors.
const ATTEMPTS_MAX: usize = 200;

pub(crate) struct Client {
    pub header: Option<pdpb::RequestHeader>,
    pub pd: PdClient<Channel>,
    stores: HashMap<u64, TikvClient<Channel>>,
    /// Of all keys.
    prefix: String,
}

/// Sends a request to the leader of a key's region, again and again while the region is the
/// trouble.
macro_rules! send {
    ($client:expr, $key:expr, $method:ident, $request:expr) => {{
        let key: bytes::Bytes = $key.clone();
        let mut attempts = 0;
        loop {
            let (context, mut store) = $client.place(&key).await;
            let mut request = $request.clone();
            request.context = Some($crate::client::merged(request.context, context));
            let answer = store.$method(request).await.expect("an answer").into_inner();
            match answer.region_error {
                None => break answer,
                Some(error) => {
                    attempts += 1;
                    assert!(attempts < $crate::client::attempts_max(), "{error:?}");
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            }
        }
    }};
}
pub(crate) use send;

pub(crate) fn attempts_max() -> usize {
    ATTEMPTS_MAX
}

/// The region of `place` with what else the request says.
pub(crate) fn merged(own: Option<rpc::Context>, place: rpc::Context) -> rpc::Context {
    let mut context = own.unwrap_or_default();
    context.region_id = place.region_id;
    context.region_epoch = place.region_epoch;
    context.peer = place.peer;
    context
}

impl Client {
    /// Connects to a cluster by one of its PD members.
    pub(crate) async fn connect(pd: &str, prefix: String) -> Self {
        let connect = |url: String| async move {
            let channel = tonic::transport::Endpoint::from_shared(url).expect("a URL");
            PdClient::new(channel.connect().await.expect("a PD"))
        };
        let mut any = connect(format!("http://{pd}")).await;
        let members = any.get_members(pdpb::GetMembersRequest::default()).await;
        let members = members.expect("members").into_inner();
        let cluster_id = members.header.expect("a header").cluster_id;
        let header = Some(pdpb::RequestHeader { cluster_id, ..Default::default() });
        let leader = members.leader.expect("a leader").client_urls.remove(0);
        Client { header, pd: connect(leader).await, stores: HashMap::new(), prefix }
    }

    /// The key of that name.
    pub(crate) fn key(&self, name: &str) -> Bytes {
        Bytes::from(format!("{}{name}", self.prefix))
    }

    /// A new timestamp.
    pub(crate) async fn ts(&mut self) -> u64 {
        let request =
            pdpb::TsoRequest { header: self.header.clone(), count: 1, ..Default::default() };
        let stream = futures_util::stream::iter([request]);
        let answers = self.pd.tso(stream).await.expect("a stream");
        let answer = answers.into_inner().message().await.expect("an answer").expect("one");
        let pdpb::Timestamp { physical, logical, .. } = answer.timestamp.expect("a timestamp");
        ((physical as u64) << 18) + logical as u64
    }

    /// Where a key is, and the store that leads there.
    pub(crate) async fn place(&mut self, key: &[u8]) -> (rpc::Context, TikvClient<Channel>) {
        let region_key = Bytes::from(encode(key));
        for _ in 0..ATTEMPTS_MAX {
            let header = self.header.clone();
            let region_key = region_key.clone();
            let request = pdpb::GetRegionRequest { header, region_key, ..Default::default() };
            let found = self.pd.get_region(request).await.expect("a region").into_inner();
            let region = found.region.expect("a region");
            if let Some(peer) = found.leader.filter(|peer| peer.store_id != 0) {
                let store = self.store(peer.store_id).await;
                let context = rpc::Context {
                    region_id: region.id,
                    region_epoch: region.region_epoch,
                    peer: Some(peer),
                    ..Default::default()
                };
                return (context, store);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no leader");
    }

    pub(crate) async fn store(&mut self, id: u64) -> TikvClient<Channel> {
        if let Some(store) = self.stores.get(&id) {
            return store.clone();
        }
        let request = pdpb::GetStoreRequest { header: self.header.clone(), store_id: id };
        let store = self.pd.get_store(request).await.expect("a store").into_inner();
        let url = format!("http://{}", store.store.expect("a store").address);
        let channel = tonic::transport::Endpoint::from_shared(url).expect("a URL");
        let client = TikvClient::new(channel.connect().await.expect("a store"));
        self.stores.insert(id, client.clone());
        client
    }

    pub(crate) async fn all_stores(&mut self) -> Vec<metapb::Store> {
        let header = self.header.clone();
        let request = pdpb::GetAllStoresRequest { header, exclude_tombstone_stores: true };
        self.pd.get_all_stores(request).await.expect("stores").into_inner().stores
    }

    pub(crate) async fn get(&mut self, name: &str, version: u64) -> rpc::GetResponse {
        self.get_with(name, version, rpc::Context::default()).await
    }

    pub(crate) async fn get_with(
        &mut self,
        name: &str,
        version: u64,
        context: rpc::Context,
    ) -> rpc::GetResponse {
        let key = self.key(name);
        let context = Some(context);
        let request = rpc::GetRequest { context, key: key.clone(), version, need_commit_ts: false };
        send!(self, key, kv_get, request)
    }

    /// The value of a key, which nothing is in the way of.
    pub(crate) async fn value(&mut self, name: &str, version: u64) -> Option<String> {
        let answer = self.get(name, version).await;
        assert_eq!(answer.error, None, "{name}");
        let value = String::from_utf8_lossy(&answer.value).into_owned();
        (!answer.not_found).then_some(value)
    }

    /// A prewrite of one key, which is its own primary.
    pub(crate) fn prewrite_of(
        &self,
        op: Op,
        name: &str,
        start_version: u64,
    ) -> rpc::PrewriteRequest {
        let key = self.key(name);
        let mut mutation = rpc::Mutation { key: key.clone(), ..Default::default() };
        mutation.set_op(op);
        if matches!(op, Op::Put | Op::Insert) {
            mutation.value = Bytes::from(format!("{name}@{start_version}"));
        }
        rpc::PrewriteRequest {
            mutations: vec![mutation],
            primary_lock: key,
            start_version,
            lock_ttl: LONG_MS,
            txn_size: 1,
            ..Default::default()
        }
    }

    pub(crate) async fn prewrite(
        &mut self,
        request: rpc::PrewriteRequest,
    ) -> rpc::PrewriteResponse {
        let key = request.mutations[0].key.clone();
        send!(self, key, kv_prewrite, request)
    }

    pub(crate) async fn commit(
        &mut self,
        name: &str,
        start: u64,
        commit: u64,
    ) -> rpc::CommitResponse {
        let key = self.key(name);
        let request = rpc::CommitRequest {
            start_version: start,
            keys: vec![key.clone()],
            commit_version: commit,
            ..Default::default()
        };
        send!(self, key, kv_commit, request)
    }

    pub(crate) async fn rollback(&mut self, name: &str, start: u64) -> rpc::BatchRollbackResponse {
        let key = self.key(name);
        let keys = vec![key.clone()];
        let request =
            rpc::BatchRollbackRequest { start_version: start, keys, ..Default::default() };
        send!(self, key, kv_batch_rollback, request)
    }

    /// Writes a key from start to commit; both timestamps.
    pub(crate) async fn write(&mut self, op: Op, name: &str) -> (u64, u64) {
        let start = self.ts().await;
        let prewritten = self.prewrite(self.prewrite_of(op, name, start)).await;
        assert_eq!(prewritten.errors, []);
        let commit = self.ts().await;
        assert_eq!(self.commit(name, start, commit).await.error, None);
        (start, commit)
    }

    /// A request for one lock, with its value.
    pub(crate) fn lock_of(
        &self,
        name: &str,
        start: u64,
        for_update_ts: u64,
    ) -> rpc::PessimisticLockRequest {
        let key = self.key(name);
        let mut mutation = rpc::Mutation { key: key.clone(), ..Default::default() };
        mutation.set_op(Op::PessimisticLock);
        rpc::PessimisticLockRequest {
            mutations: vec![mutation],
            primary_lock: key,
            start_version: start,
            lock_ttl: LONG_MS,
            for_update_ts,
            is_first_lock: true,
            wait_timeout: -1,
            return_values: true,
            ..Default::default()
        }
    }

    pub(crate) async fn lock(
        &mut self,
        request: rpc::PessimisticLockRequest,
    ) -> rpc::PessimisticLockResponse {
        let key = request.mutations[0].key.clone();
        send!(self, key, kv_pessimistic_lock, request)
    }

    /// Sends the lock request from a task of its own.
    pub(crate) async fn lock_later(
        &mut self,
        request: rpc::PessimisticLockRequest,
    ) -> tokio::task::JoinHandle<rpc::PessimisticLockResponse> {
        let (context, mut store) = self.place(&request.mutations[0].key).await;
        let request = rpc::PessimisticLockRequest { context: Some(context), ..request };
        tokio::spawn(async move {
            store.kv_pessimistic_lock(request).await.expect("an answer").into_inner()
        })
    }

    pub(crate) async fn unlock(&mut self, name: &str, start: u64, for_update_ts: u64) {
        let key = self.key(name);
        let request = rpc::PessimisticRollbackRequest {
            start_version: start,
            for_update_ts,
            keys: vec![key.clone()],
            ..Default::default()
        };
        assert_eq!(send!(self, key, kv_pessimistic_rollback, request).errors, []);
    }

    pub(crate) async fn status(
        &mut self,
        request: rpc::CheckTxnStatusRequest,
    ) -> rpc::CheckTxnStatusResponse {
        let key = request.primary_key.clone();
        send!(self, key, kv_check_txn_status, request)
    }

    /// A question about the transaction whose primary is that key.
    pub(crate) fn status_of(
        &self,
        name: &str,
        lock_ts: u64,
        now: u64,
    ) -> rpc::CheckTxnStatusRequest {
        rpc::CheckTxnStatusRequest {
            primary_key: self.key(name),
            lock_ts,
            caller_start_ts: now,
            current_ts: now,
            rollback_if_not_exist: true,
            ..Default::default()
        }
    }

    pub(crate) async fn scan(&mut self, request: rpc::ScanRequest, at: &str) -> Vec<rpc::KvPair> {
        let key = self.key(at);
        send!(self, key, kv_scan, request).pairs
    }
}

/// A key as the border of a region.
pub(crate) fn encode(key: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for at in (0..=key.len()).step_by(8) {
        let group = &key[at..key.len().min(at + 8)];
        encoded.extend_from_slice(group);
        encoded.resize(encoded.len() + 8 - group.len(), 0);
        encoded.push(255 - (8 - group.len()) as u8);
    }
    encoded
}
