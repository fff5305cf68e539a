//! The requests that stores know, under one trait, and the connections to the stores.

use super::pd::Pd;
use braid_kv::{Error, Result};
use braid_tikv_proto::{errorpb, kvrpcpb, tikvpb::tikv_client::TikvClient};
use parking_lot::Mutex;
use std::{collections::HashMap, future::Future};
use tonic::{Response, Status, transport::Channel};

/// Bytes of the largest answer or batch.
const ANSWER_BYTES_MAX: usize = 512 << 20;

pub(crate) type Client = TikvClient<Channel>;

/// A request to the leader of a region.
pub(crate) trait Request: Clone + Send + Sync + 'static {
    type Answer: Answer;
    const NAME: &'static str;
    fn set_context(&mut self, context: kvrpcpb::Context);
    fn send(
        self,
        client: Client,
    ) -> impl Future<Output = Result<Response<Self::Answer>, Status>> + Send;
}

/// An answer, which may be that the region is not there.
pub(crate) trait Answer: Send + 'static {
    fn take_region_error(&mut self) -> Option<errorpb::Error>;
}

macro_rules! request {
    ($request:ident, $answer:ident, $method:ident) => {
        impl Request for kvrpcpb::$request {
            type Answer = kvrpcpb::$answer;
            const NAME: &'static str = stringify!($method);
            fn set_context(&mut self, context: kvrpcpb::Context) {
                self.context = Some(context);
            }
            async fn send(self, mut client: Client) -> Result<Response<Self::Answer>, Status> {
                client.$method(self).await
            }
        }
        impl Answer for kvrpcpb::$answer {
            fn take_region_error(&mut self) -> Option<errorpb::Error> {
                self.region_error.take()
            }
        }
    };
}

request!(GetRequest, GetResponse, kv_get);
request!(BatchGetRequest, BatchGetResponse, kv_batch_get);
request!(ScanRequest, ScanResponse, kv_scan);
request!(ScanLockRequest, ScanLockResponse, kv_scan_lock);
request!(PessimisticLockRequest, PessimisticLockResponse, kv_pessimistic_lock);
request!(PessimisticRollbackRequest, PessimisticRollbackResponse, kv_pessimistic_rollback);
request!(PrewriteRequest, PrewriteResponse, kv_prewrite);
request!(CommitRequest, CommitResponse, kv_commit);
request!(BatchRollbackRequest, BatchRollbackResponse, kv_batch_rollback);
request!(TxnHeartBeatRequest, TxnHeartBeatResponse, kv_txn_heart_beat);
request!(CheckTxnStatusRequest, CheckTxnStatusResponse, kv_check_txn_status);
request!(CheckSecondaryLocksRequest, CheckSecondaryLocksResponse, kv_check_secondary_locks);
request!(ResolveLockRequest, ResolveLockResponse, kv_resolve_lock);
request!(UnsafeDestroyRangeRequest, UnsafeDestroyRangeResponse, unsafe_destroy_range);

/// Connections to stores, by their number.
#[derive(Default)]
pub(crate) struct Stores {
    clients: Mutex<HashMap<u64, Client>>,
}

impl Stores {
    /// A client of the store; PD says where it is.
    pub(super) async fn client(&self, pd: &Pd, store: u64) -> Result<Client> {
        if let Some(client) = self.clients.lock().get(&store) {
            return Ok(client.clone());
        }
        let address = pd.store(store).await?;
        let wrong = |why: String| Error::Unreachable(format!("store {store}: {why}").into());
        let channel = pd.dialer.channel(&address).map_err(wrong)?;
        let client = TikvClient::new(channel)
            .max_decoding_message_size(ANSWER_BYTES_MAX)
            .max_encoding_message_size(ANSWER_BYTES_MAX);
        Ok(self.clients.lock().entry(store).or_insert(client).clone())
    }

    /// To be called when the store could not be reached: it may have moved.
    pub(super) fn forget(&self, store: u64) {
        self.clients.lock().remove(&store);
    }
}
