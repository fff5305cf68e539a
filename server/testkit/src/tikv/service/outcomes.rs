//! The requests of those who ask what has become of a transaction, or end it.

use std::collections::BTreeMap;

use braid_tikv_proto::{errorpb, kvrpcpb};

use super::convert::{key_error, lock_info};
use super::state::{At, Call, Core, Step};
use crate::tikv::engine::{SecondaryStatus, Status, StatusQuery};
use crate::tikv::faults::Rpc;

impl Call for kvrpcpb::CheckTxnStatusRequest {
    type Answer = kvrpcpb::CheckTxnStatusResponse;
    const RPC: Rpc = Rpc::CheckTxnStatus;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.primary_key]
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        use kvrpcpb::Action;
        let query = StatusQuery {
            primary: self.primary_key.to_vec(),
            lock_ts: self.lock_ts,
            caller_ts: self.caller_start_ts,
            current_ts: self.current_ts,
            rolls_back_missing: self.rollback_if_not_exist,
            forces_sync: self.force_sync_commit,
            for_pessimistic: self.resolving_pessimistic_lock,
            verifies_primary: self.verify_is_primary,
        };
        let (engine, max_ts) = core.max_ts(at.store);
        let mut answer = kvrpcpb::CheckTxnStatusResponse::default();
        match engine.check_status(max_ts, &query) {
            Err(error) => answer.error = Some(key_error(error)),
            Ok(Status::Committed(commit_ts)) => answer.commit_version = commit_ts,
            Ok(Status::RolledBack) => answer.set_action(Action::NoAction),
            Ok(Status::Expired) => answer.set_action(Action::TtlExpireRollback),
            Ok(Status::ExpiredPessimistic) => {
                answer.set_action(Action::TtlExpirePessimisticRollback);
            }
            Ok(Status::Missing) => answer.set_action(Action::LockNotExistRollback),
            Ok(Status::MissingUntouched) => answer.set_action(Action::LockNotExistDoNothing),
            Ok(Status::Alive { lock, is_pushed }) => {
                if is_pushed {
                    answer.set_action(Action::MinCommitTsPushed);
                }
                answer.lock_ttl = lock.ttl;
                answer.lock_info = Some(lock_info(lock.info(&lock.primary)));
            }
        }
        Step::Done(answer)
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::CheckTxnStatusResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::CheckSecondaryLocksRequest {
    type Answer = kvrpcpb::CheckSecondaryLocksResponse;
    const RPC: Rpc = Rpc::CheckSecondaryLocks;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let keys: Vec<_> = self.keys.iter().map(|key| key.to_vec()).collect();
        let (engine, max_ts) = core.max_ts(at.store);
        let mut answer = kvrpcpb::CheckSecondaryLocksResponse::default();
        match engine.check_secondaries(max_ts, self.start_version, &keys) {
            SecondaryStatus::Locked(locks) => {
                answer.locks = locks.into_iter().map(lock_info).collect();
            }
            SecondaryStatus::Committed(commit_ts) => answer.commit_ts = commit_ts,
            SecondaryStatus::RolledBack => {}
        }
        Step::Done(answer)
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::CheckSecondaryLocksResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::TxnHeartBeatRequest {
    type Answer = kvrpcpb::TxnHeartBeatResponse;
    const RPC: Rpc = Rpc::TxnHeartBeat;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.primary_lock]
    }

    fn run(&self, core: &mut Core, _at: &At) -> Step<Self::Answer> {
        let key = &self.primary_lock;
        let mut answer = kvrpcpb::TxnHeartBeatResponse::default();
        match core.engine.heart_beat(self.start_version, key, self.advise_lock_ttl) {
            Ok(ttl) => answer.lock_ttl = ttl,
            Err(error) => answer.error = Some(key_error(error)),
        }
        Step::Done(answer)
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::TxnHeartBeatResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::ResolveLockRequest {
    type Answer = kvrpcpb::ResolveLockResponse;
    const RPC: Rpc = Rpc::ResolveLock;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let (start_ts, commit_ts) = (self.start_version, self.commit_version);
        let result = if self.keys.is_empty() {
            let mut outcomes: BTreeMap<_, _> =
                self.txn_infos.iter().map(|info| (info.txn, info.status)).collect();
            if outcomes.is_empty() {
                outcomes.insert(start_ts, commit_ts);
            }
            core.engine.resolve_range(&outcomes, &at.start, &at.end)
        } else {
            let keys: Vec<_> = self.keys.iter().map(|key| key.to_vec()).collect();
            core.engine.resolve_keys(start_ts, commit_ts, &keys)
        };
        let error = result.err().map(key_error);
        Step::Done(kvrpcpb::ResolveLockResponse { error, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::ResolveLockResponse { region_error: Some(error), ..Default::default() }
    }
}
