//! The requests of writers: locks, prewrite, commit, rollback.

use std::time::Duration;

use braid_tikv_proto::kvrpcpb::prewrite_request::PessimisticAction;
use braid_tikv_proto::{errorpb, kvrpcpb};
use bytes::Bytes;

use super::convert::{key_error, region_error};
use super::state::{At, Call, Core, Step, Wait};
use crate::tikv::cluster::RegionError;
use crate::tikv::engine::{
    Abort, Acquire, Acquired, Action, KeyError, LockInfo, Mutation, Op, Prewrite,
};
use crate::tikv::faults::Rpc;
use crate::tikv::waits::Asker;

impl Call for kvrpcpb::PrewriteRequest {
    type Answer = kvrpcpb::PrewriteResponse;
    const RPC: Rpc = Rpc::Prewrite;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.mutations.iter().map(|mutation| mutation.key.as_ref()).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let computes_ts = self.use_async_commit || self.try_one_pc;
        if computes_ts && !core.is_synced(at.region) {
            return Step::Done(Self::refuse(region_error(RegionError::MaxTimestampNotSynced)));
        }
        let (engine, max_ts) = core.max_ts(at.store);
        let result = prewrite(self).and_then(|request| engine.prewrite(max_ts, &request));
        let mut answer = kvrpcpb::PrewriteResponse::default();
        match result {
            Ok(done) => {
                let locked = |info: LockInfo| key_error(KeyError::Locked(Box::new(info)));
                answer.errors = done.locks.into_iter().map(locked).collect();
                answer.min_commit_ts = done.min_commit_ts;
                answer.one_pc_commit_ts = done.one_pc_commit_ts;
            }
            Err(error) => answer.errors = vec![key_error(error)],
        }
        Step::Done(answer)
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::PrewriteResponse { region_error: Some(error), ..Default::default() }
    }

    fn abort(error: kvrpcpb::KeyError) -> Self::Answer {
        kvrpcpb::PrewriteResponse { errors: vec![error], ..Default::default() }
    }
}

fn prewrite(request: &kvrpcpb::PrewriteRequest) -> Result<Prewrite, KeyError> {
    let is_pessimistic = request.for_update_ts > 0;
    if is_pessimistic && request.pessimistic_actions.len() != request.mutations.len() {
        // A real store would silently leave out the mutations without an action.
        let text = "a pessimistic prewrite needs an action for each mutation";
        return Err(KeyError::Abort(Abort::Other(text)));
    }
    let mut mutations = Vec::with_capacity(request.mutations.len());
    for (at, mutation) in request.mutations.iter().enumerate() {
        let action = match request.pessimistic_actions.get(at).copied() {
            Some(action) if action == PessimisticAction::DoPessimisticCheck as i32 => {
                Action::Pessimistic
            }
            Some(action) if action == PessimisticAction::DoConstraintCheck as i32 => {
                Action::Constraint
            }
            _ => Action::Skip,
        };
        let op = match mutation.op() {
            kvrpcpb::Op::Put => Op::Put,
            kvrpcpb::Op::Del => Op::Delete,
            kvrpcpb::Op::Lock => Op::Lock,
            kvrpcpb::Op::Insert => Op::Insert,
            kvrpcpb::Op::CheckNotExists => Op::CheckNotExists,
            _ => return Err(KeyError::Abort(Abort::Other("mismatch Op in prewrite mutations"))),
        };
        mutations.push(Mutation {
            op,
            key: mutation.key.to_vec(),
            value: Bytes::copy_from_slice(&mutation.value),
            action,
            expected_for_update_ts: None,
        });
    }
    for constraint in &request.for_update_ts_constraints {
        let Some(mutation) = mutations.get_mut(constraint.index as usize) else {
            return Err(KeyError::Abort(Abort::Other("prewrite request invalid: index")));
        };
        mutation.expected_for_update_ts = Some(constraint.expected_for_update_ts);
    }
    let secondaries = request.secondaries.iter().map(|key| key.to_vec()).collect();
    Ok(Prewrite {
        mutations,
        primary: request.primary_lock.to_vec(),
        start_ts: request.start_version,
        ttl: request.lock_ttl,
        txn_size: request.txn_size,
        for_update_ts: request.for_update_ts,
        min_commit_ts: request.min_commit_ts,
        max_commit_ts: request.max_commit_ts,
        secondaries: request.use_async_commit.then_some(secondaries),
        one_pc: request.try_one_pc,
        is_retry: request.context.as_ref().is_some_and(|context| context.is_retry_request),
        skips_checks: request.skip_constraint_check,
    })
}

impl Call for kvrpcpb::PessimisticLockRequest {
    type Answer = kvrpcpb::PessimisticLockResponse;
    const RPC: Rpc = Rpc::PessimisticLock;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.mutations.iter().map(|mutation| mutation.key.as_ref()).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let request = match acquire(self) {
            Ok(request) => request,
            Err(error) => return Step::Done(lock_failed(self, error)),
        };
        let (engine, max_ts) = core.max_ts(at.store);
        let locked = match engine.acquire(max_ts, &request) {
            Ok(results) => {
                // Others that wait here wait for this transaction from now on.
                for (key, _) in &request.keys {
                    core.waits.holder_changed(&core.engine, key);
                }
                return Step::Done(lock_done(&request, results));
            }
            Err(KeyError::Locked(info)) if self.wait_timeout >= 0 => info,
            // A conflict of a request that may lock with conflicts is told of as a whole.
            Err(error) => return Step::Done(lock_failed(self, error)),
        };
        let asker = Asker {
            start_ts: request.start_ts,
            primary: &request.primary,
            is_first_lock: self.is_first_lock,
            allows_conflict: request.allows_conflict,
        };
        let holder = locked.lock.start_ts;
        match core.waits.enqueue(&core.engine, asker, &locked.key, holder) {
            Err(error) => Step::Done(lock_failed(self, error)),
            Ok((number, woken)) => {
                let asked = u64::try_from(self.wait_timeout).unwrap_or_default();
                let patience = match asked {
                    0 => core.delays.lock_wait_max,
                    _ => Duration::from_millis(asked).min(core.delays.lock_wait_max),
                };
                let this = self.clone();
                Step::Wait(Wait {
                    key: locked.key.clone(),
                    number,
                    woken,
                    patience,
                    locked: KeyError::Locked(locked),
                    refuse: Box::new(move |error| lock_failed(&this, error)),
                })
            }
        }
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::PessimisticLockResponse { region_error: Some(error), ..Default::default() }
    }

    fn abort(error: kvrpcpb::KeyError) -> Self::Answer {
        kvrpcpb::PessimisticLockResponse { errors: vec![error], ..Default::default() }
    }
}

fn is_forced(request: &kvrpcpb::PessimisticLockRequest) -> bool {
    request.wake_up_mode() == kvrpcpb::PessimisticLockWakeUpMode::WakeUpModeForceLock
}

fn acquire(request: &kvrpcpb::PessimisticLockRequest) -> Result<Acquire, KeyError> {
    let mut keys = Vec::with_capacity(request.mutations.len());
    for mutation in &request.mutations {
        if mutation.op() != kvrpcpb::Op::PessimisticLock {
            let text = "mismatch Op in pessimistic lock mutations";
            return Err(KeyError::Abort(Abort::Other(text)));
        }
        let must_not_exist = mutation.assertion() == kvrpcpb::Assertion::NotExist;
        keys.push((mutation.key.to_vec(), must_not_exist));
    }
    Ok(Acquire {
        keys,
        primary: request.primary_lock.to_vec(),
        start_ts: request.start_version,
        ttl: request.lock_ttl,
        for_update_ts: request.for_update_ts,
        min_commit_ts: request.min_commit_ts,
        returns_values: request.return_values,
        checks_existence: request.check_existence,
        only_if_exists: request.lock_only_if_exists,
        allows_conflict: is_forced(request),
    })
}

/// In the older form values stand side by side, in the newer one each key has a result.
fn lock_done(request: &Acquire, results: Vec<Acquired>) -> kvrpcpb::PessimisticLockResponse {
    use kvrpcpb::PessimisticLockKeyResultType as Type;
    let mut answer = kvrpcpb::PessimisticLockResponse::default();
    for result in results {
        let mut told = kvrpcpb::PessimisticLockKeyResult::default();
        match result {
            Acquired::Empty => {}
            Acquired::Existence(exists) => {
                answer.not_founds.push(!exists);
                told.existence = exists;
            }
            Acquired::Value(value) => {
                answer.not_founds.push(value.is_none());
                told.existence = value.is_some();
                told.value = value.unwrap_or_default();
                answer.values.push(told.value.clone());
            }
            Acquired::WithConflict { value, ts } => {
                told.set_type(Type::LockResultLockedWithConflict);
                told.existence = value.is_some();
                told.value = value.unwrap_or_default();
                told.locked_with_conflict_ts = ts;
            }
        }
        if request.allows_conflict {
            answer.results.push(told);
        }
    }
    if request.allows_conflict {
        answer.values.clear();
        answer.not_founds.clear();
    }
    answer
}

fn lock_failed(
    request: &kvrpcpb::PessimisticLockRequest,
    error: KeyError,
) -> kvrpcpb::PessimisticLockResponse {
    let mut answer = kvrpcpb::PessimisticLockResponse::default();
    if is_forced(request) && matches!(error, KeyError::Locked(_) | KeyError::Deadlock { .. }) {
        let mut told = kvrpcpb::PessimisticLockKeyResult::default();
        told.set_type(kvrpcpb::PessimisticLockKeyResultType::LockResultFailed);
        answer.results.push(told);
    }
    answer.errors.push(key_error(error));
    answer
}

impl Call for kvrpcpb::PessimisticRollbackRequest {
    type Answer = kvrpcpb::PessimisticRollbackResponse;
    const RPC: Rpc = Rpc::PessimisticRollback;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, at: &At) -> Step<Self::Answer> {
        let mut keys: Vec<_> = self.keys.iter().map(|key| key.to_vec()).collect();
        if keys.is_empty() {
            // All of the transaction in this region.
            let mut nobody_reads = 0;
            let until = self.start_version;
            let found = core.engine.scan_locks(&mut nobody_reads, until, &at.start, &at.end, 0);
            keys.extend(found.into_iter().map(|info| info.key));
        }
        core.engine.release(self.start_version, self.for_update_ts, &keys);
        Step::Done(Self::Answer::default())
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::PessimisticRollbackResponse { region_error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::CommitRequest {
    type Answer = kvrpcpb::CommitResponse;
    const RPC: Rpc = Rpc::Commit;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, _at: &At) -> Step<Self::Answer> {
        let keys: Vec<_> = self.keys.iter().map(|key| key.to_vec()).collect();
        let mut answer = kvrpcpb::CommitResponse::default();
        match core.engine.commit(self.start_version, self.commit_version, &keys) {
            Ok(()) => answer.commit_version = self.commit_version,
            Err(error) => answer.error = Some(key_error(error)),
        }
        Step::Done(answer)
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::CommitResponse { region_error: Some(error), ..Default::default() }
    }

    fn abort(error: kvrpcpb::KeyError) -> Self::Answer {
        kvrpcpb::CommitResponse { error: Some(error), ..Default::default() }
    }
}

impl Call for kvrpcpb::BatchRollbackRequest {
    type Answer = kvrpcpb::BatchRollbackResponse;
    const RPC: Rpc = Rpc::BatchRollback;

    fn context(&self) -> Option<&kvrpcpb::Context> {
        self.context.as_ref()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(AsRef::as_ref).collect()
    }

    fn run(&self, core: &mut Core, _at: &At) -> Step<Self::Answer> {
        let keys: Vec<_> = self.keys.iter().map(|key| key.to_vec()).collect();
        let error = core.engine.rollback(self.start_version, &keys).err().map(key_error);
        Step::Done(kvrpcpb::BatchRollbackResponse { error, ..Default::default() })
    }

    fn refuse(error: errorpb::Error) -> Self::Answer {
        kvrpcpb::BatchRollbackResponse { region_error: Some(error), ..Default::default() }
    }
}
