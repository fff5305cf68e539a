//! Requests for raw keys: those that have no versions and no locks.
//!
//! A store keeps raw keys as they are, while it encodes the keys of transactions. Both are in one
//! order of bytes, so a destroyed range takes the raw keys between its encoded ends along. The
//! stand-in does not check the region of such a request.

use braid_tikv_proto::{errorpb, kvrpcpb};

use super::state::{At, Call, Core, Step};
use crate::tikv::cluster::encode;
use crate::tikv::faults::Rpc;

impl Core {
    /// Removes the raw keys between the encoded ends of a range.
    pub(crate) fn destroy_raw(&mut self, start: &[u8], end: &[u8]) {
        let (start, end) = (encode(start), encode(end));
        self.raw.retain(|key, _| *key < start || *key >= end);
    }
}

impl Call for kvrpcpb::RawGetRequest {
    type Answer = kvrpcpb::RawGetResponse;
    const RPC: Rpc = Rpc::RawGet;
    const HAS_REGION: bool = false;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn run(&self, core: &mut Core, _at: &At) -> Step<Self::Answer> {
        let value = core.raw.get(self.key.as_ref()).cloned();
        let not_found = value.is_none();
        let value = value.unwrap_or_default();
        Step::Done(kvrpcpb::RawGetResponse { value, not_found, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::RawGetResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::RawPutRequest {
    type Answer = kvrpcpb::RawPutResponse;
    const RPC: Rpc = Rpc::RawPut;
    const HAS_REGION: bool = false;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn run(&self, core: &mut Core, _at: &At) -> Step<Self::Answer> {
        core.raw.insert(self.key.to_vec(), self.value.clone());
        Step::Done(Self::Answer::default())
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::RawPutResponse { region_error: Some(error), ..Default::default() }
    }
}
