//! The service of a store: every request goes through [`Shared::handle`].

use std::sync::Arc;

use braid_tikv_proto::kvrpcpb as rpc;
use braid_tikv_proto::tikvpb::tikv_server::Tikv;
use tonic::{Request, Response, Status};

use super::state::{Call, Shared};

/// One store.
#[derive(Debug)]
pub(crate) struct StoreService {
    /// The state of all.
    pub shared: Arc<Shared>,
    /// Which store.
    pub id: u64,
}

impl StoreService {
    /// Goes on when the client hangs up: a task of its own.
    async fn call<C: Call>(&self, request: Request<C>) -> Result<Response<C::Answer>, Status> {
        let task = Arc::clone(&self.shared).handle(self.id, request.into_inner());
        let done = self.shared.runtime.spawn(task).await;
        done.map_err(|error| Status::internal(error.to_string()))?
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Tikv for StoreService {
    async fn kv_get(&self, request: Request<rpc::GetRequest>) -> Answer<rpc::GetResponse> {
        self.call(request).await
    }

    async fn kv_scan(&self, request: Request<rpc::ScanRequest>) -> Answer<rpc::ScanResponse> {
        self.call(request).await
    }

    async fn kv_prewrite(
        &self,
        request: Request<rpc::PrewriteRequest>,
    ) -> Answer<rpc::PrewriteResponse> {
        self.call(request).await
    }

    async fn kv_pessimistic_lock(
        &self,
        request: Request<rpc::PessimisticLockRequest>,
    ) -> Answer<rpc::PessimisticLockResponse> {
        self.call(request).await
    }

    async fn kv_pessimistic_rollback(
        &self,
        request: Request<rpc::PessimisticRollbackRequest>,
    ) -> Answer<rpc::PessimisticRollbackResponse> {
        self.call(request).await
    }

    async fn kv_txn_heart_beat(
        &self,
        request: Request<rpc::TxnHeartBeatRequest>,
    ) -> Answer<rpc::TxnHeartBeatResponse> {
        self.call(request).await
    }

    async fn kv_check_txn_status(
        &self,
        request: Request<rpc::CheckTxnStatusRequest>,
    ) -> Answer<rpc::CheckTxnStatusResponse> {
        self.call(request).await
    }

    async fn kv_check_secondary_locks(
        &self,
        request: Request<rpc::CheckSecondaryLocksRequest>,
    ) -> Answer<rpc::CheckSecondaryLocksResponse> {
        self.call(request).await
    }

    async fn kv_commit(&self, request: Request<rpc::CommitRequest>) -> Answer<rpc::CommitResponse> {
        self.call(request).await
    }

    async fn kv_batch_get(
        &self,
        request: Request<rpc::BatchGetRequest>,
    ) -> Answer<rpc::BatchGetResponse> {
        self.call(request).await
    }

    async fn kv_batch_rollback(
        &self,
        request: Request<rpc::BatchRollbackRequest>,
    ) -> Answer<rpc::BatchRollbackResponse> {
        self.call(request).await
    }

    async fn kv_scan_lock(
        &self,
        request: Request<rpc::ScanLockRequest>,
    ) -> Answer<rpc::ScanLockResponse> {
        self.call(request).await
    }

    async fn kv_resolve_lock(
        &self,
        request: Request<rpc::ResolveLockRequest>,
    ) -> Answer<rpc::ResolveLockResponse> {
        self.call(request).await
    }

    /// As in a real store: the safe point of PD is what counts.
    async fn kv_gc(&self, _request: Request<rpc::GcRequest>) -> Answer<rpc::GcResponse> {
        Err(Status::unimplemented(""))
    }

    async fn kv_delete_range(
        &self,
        _request: Request<rpc::DeleteRangeRequest>,
    ) -> Answer<rpc::DeleteRangeResponse> {
        Err(Status::unimplemented("not in the stand-in"))
    }

    async fn raw_get(&self, request: Request<rpc::RawGetRequest>) -> Answer<rpc::RawGetResponse> {
        self.call(request).await
    }

    async fn raw_put(&self, request: Request<rpc::RawPutRequest>) -> Answer<rpc::RawPutResponse> {
        self.call(request).await
    }

    async fn unsafe_destroy_range(
        &self,
        request: Request<rpc::UnsafeDestroyRangeRequest>,
    ) -> Answer<rpc::UnsafeDestroyRangeResponse> {
        self.call(request).await
    }

    async fn split_region(
        &self,
        request: Request<rpc::SplitRegionRequest>,
    ) -> Answer<rpc::SplitRegionResponse> {
        self.call(request).await
    }

    async fn mvcc_get_by_key(
        &self,
        _request: Request<rpc::MvccGetByKeyRequest>,
    ) -> Answer<rpc::MvccGetByKeyResponse> {
        Err(Status::unimplemented("not in the stand-in"))
    }
}
