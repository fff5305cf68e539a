//! The requests of readers, and those of nobody in particular.

use braid_tikv_proto::{errorpb, kvrpcpb};
use bytes::Bytes;

use super::convert::{self, key_error, lock_info, region};
use super::state::{At, Call, Core, Step};
use crate::tikv::engine::{Pair, Scan, View};
use crate::tikv::faults::Rpc;

impl Core {
    fn view(&mut self, context: Option<&kvrpcpb::Context>, ts: u64) -> View {
        self.reads_below_safe_point += u64::from(ts < self.pd.safe_points.collected());
        convert::view(context, ts)
    }

    /// A lock of an async commit that has only just been written is still in memory when it is met,
    /// and then the answer as a whole is the error. Here that is so every other time.
    fn error_as_a_whole(&mut self, pairs: &mut Vec<kvrpcpb::KvPair>) -> Option<kvrpcpb::KeyError> {
        let is_async = |error: &&kvrpcpb::KeyError| {
            error.locked.as_ref().is_some_and(|lock| lock.use_async_commit)
        };
        let met = pairs.iter().find_map(|pair| pair.error.as_ref().filter(is_async)).cloned();
        let error = met.filter(|_| self.faults.coin())?;
        let told = kvrpcpb::KvPair { error: Some(error.clone()), ..Default::default() };
        *pairs = vec![told];
        Some(error)
    }
}

impl Call for kvrpcpb::GetRequest {
    type Answer = kvrpcpb::GetResponse;
    const RPC: Rpc = Rpc::Get;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.key]
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let view = core.view(self.context.as_ref(), self.version);
        let (engine, max_ts) = core.max_ts(at.store);
        let mut answer = kvrpcpb::GetResponse::default();
        match engine.get(max_ts, &view, &self.key) {
            Ok(Some((value, commit_ts))) => {
                answer.value = value;
                answer.commit_ts = if self.need_commit_ts { commit_ts } else { 0 };
            }
            Ok(None) => answer.not_found = true,
            Err(error) => answer.error = Some(key_error(error)),
        }
        Step::Done(answer)
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::GetResponse { region_error: Some(error), ..Default::default() }
    }

    fn abort(error: kvrpcpb::KeyError) -> Self::Answer {
        kvrpcpb::GetResponse { error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::BatchGetRequest {
    type Answer = kvrpcpb::BatchGetResponse;
    const RPC: Rpc = Rpc::BatchGet;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let view = core.view(self.context.as_ref(), self.version);
        let (engine, max_ts) = core.max_ts(at.store);
        let mut pairs = Vec::new();
        // Keys without a value are left out.
        for key in &self.keys {
            match engine.get(max_ts, &view, key) {
                Ok(None) => {}
                Ok(Some((value, commit_ts))) => pairs.push(kvrpcpb::KvPair {
                    error: None,
                    key: key.clone(),
                    value,
                    commit_ts: if self.need_commit_ts { commit_ts } else { 0 },
                }),
                Err(error) => pairs.push(pair(Err(error))),
            }
        }
        let error = core.error_as_a_whole(&mut pairs);
        Step::Done(kvrpcpb::BatchGetResponse { pairs, error, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::BatchGetResponse { region_error: Some(error), ..Default::default() }
    }

    fn abort(error: kvrpcpb::KeyError) -> Self::Answer {
        kvrpcpb::BatchGetResponse { error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::ScanRequest {
    type Answer = kvrpcpb::ScanResponse;
    const RPC: Rpc = Rpc::Scan;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    /// A range may go beyond the region; the part beyond is not read.
    fn keys(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let view = core.view(self.context.as_ref(), self.version);
        let (engine, max_ts) = core.max_ts(at.store);
        let (start, end) = match self.reverse {
            true => (&self.end_key, &self.start_key),
            false => (&self.start_key, &self.end_key),
        };
        // Backwards, an upper border is always meant, even an empty one.
        let limit = if self.reverse && end.is_empty() { 0 } else { self.limit as usize };
        let (start, end) = within(at, start, end);
        let scan = Scan { start, end, limit, keys_only: self.key_only, is_reverse: self.reverse };
        let mut pairs: Vec<_> = engine.scan(max_ts, &view, &scan).into_iter().map(pair).collect();
        core.scanned += pairs.len() as u64;
        let error = core.error_as_a_whole(&mut pairs);
        Step::Done(kvrpcpb::ScanResponse { pairs, error, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::ScanResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::ScanLockRequest {
    type Answer = kvrpcpb::ScanLockResponse;
    const RPC: Rpc = Rpc::ScanLock;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let (engine, max_ts) = core.max_ts(at.store);
        let (start, end) = within(at, &self.start_key, &self.end_key);
        let locks = engine.scan_locks(max_ts, self.max_version, start, end, self.limit as usize);
        let locks = locks.into_iter().map(lock_info).collect();
        Step::Done(kvrpcpb::ScanLockResponse { locks, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::ScanLockResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::UnsafeDestroyRangeRequest {
    type Answer = kvrpcpb::UnsafeDestroyRangeResponse;
    const RPC: Rpc = Rpc::DestroyRange;

    /// It goes to every store. The keys are gone when the last one was asked.
    const HAS_REGION: bool = false;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        None
    }

    fn keys(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let range = (self.start_key.to_vec(), self.end_key.to_vec());
        let asked = core.destroyed.entry(range.clone()).or_default();
        asked.insert(at.store);
        if core.cluster.stores().all(|store| asked.contains(&store.id)) {
            core.destroyed.remove(&range);
            core.engine.table.destroy_range(&self.start_key, &self.end_key);
            core.destroy_raw(&self.start_key, &self.end_key);
        }
        Step::Done(Self::Answer::default())
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::UnsafeDestroyRangeResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::SplitRegionRequest {
    type Answer = kvrpcpb::SplitRegionResponse;
    const RPC: Rpc = Rpc::SplitRegion;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.split_keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let mut parts = Vec::new();
        for key in &self.split_keys {
            parts.extend(core.cluster.split(key));
        }
        parts.push(at.region);
        let parts = parts.into_iter().filter_map(|id| core.cluster.regions().get(id));
        let regions = parts.map(region).collect();
        Step::Done(kvrpcpb::SplitRegionResponse { regions, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::SplitRegionResponse { region_error: Some(error), ..Default::default() }
    }
}

/// The part of a range that is in the region.
pub(super) fn within<'a>(at: &'a At, start: &'a [u8], end: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = start.max(&at.start);
    let end = match (end, at.end.as_slice()) {
        ([], end) | (end, []) => end,
        (a, b) => a.min(b),
    };
    (start, end)
}

fn pair(pair: Pair) -> kvrpcpb::KvPair {
    match pair {
        Ok((key, value)) => kvrpcpb::KvPair { key: Bytes::from(key), value, ..Default::default() },
        Err(error) => kvrpcpb::KvPair { error: Some(key_error(error)), ..Default::default() },
    }
}
