//! Between the engine's types and those of the protocol.

use braid_tikv_proto::{deadlock, errorpb, kvrpcpb, metapb};
use bytes::Bytes;

use crate::tikv::cluster::{Place, Region, RegionError, Store};
use crate::tikv::engine::{KeyError, LockInfo, LockKind, Reason, View};

/// What a request says about where it thinks to be.
pub(super) fn place(context: &kvrpcpb::Context) -> Place {
    Place {
        store: context.peer.as_ref().map_or(0, |peer| peer.store_id),
        region: context.region_id,
        version: context.region_epoch.as_ref().map_or(0, |epoch| epoch.version),
        term: context.term,
    }
}

/// From where a request reads.
pub(super) fn view(context: Option<&kvrpcpb::Context>, ts: u64) -> View {
    let context = context.cloned().unwrap_or_default();
    View {
        ts,
        ignores_locks: context.isolation_level == kvrpcpb::IsolationLevel::Rc as i32,
        refuses_locks: context.isolation_level == kvrpcpb::IsolationLevel::RcCheckTs as i32,
        passed: context.resolved_locks,
        committed: context.committed_locks,
    }
}

pub(super) fn peer((id, store_id): (u64, u64)) -> metapb::Peer {
    metapb::Peer { id, store_id, ..metapb::Peer::default() }
}

pub(super) fn region(region: &Region) -> metapb::Region {
    metapb::Region {
        id: region.id,
        start_key: Bytes::copy_from_slice(&region.start),
        end_key: Bytes::copy_from_slice(&region.end),
        region_epoch: Some(metapb::RegionEpoch {
            conf_ver: region.conf_ver,
            version: region.version,
        }),
        peers: region.peers.iter().copied().map(peer).collect(),
        ..metapb::Region::default()
    }
}

pub(super) fn store(store: &Store) -> metapb::Store {
    metapb::Store {
        id: store.id,
        address: store.address.clone(),
        state: metapb::StoreState::Up as i32,
        version: "9.0.0-standin".to_owned(),
        node_state: metapb::NodeState::Serving as i32,
        ..metapb::Store::default()
    }
}

pub(super) fn region_error(error: RegionError) -> errorpb::Error {
    let message = format!("{error:?}");
    let mut answer = errorpb::Error { message, ..errorpb::Error::default() };
    match error {
        RegionError::NotLeader { region, leader } => {
            let leader = leader.map(peer);
            answer.not_leader = Some(errorpb::NotLeader { region_id: region, leader });
        }
        RegionError::RegionNotFound(region_id) => {
            answer.region_not_found = Some(errorpb::RegionNotFound { region_id });
        }
        RegionError::EpochNotMatch(current) => {
            let current_regions = current.iter().map(region).collect();
            answer.epoch_not_match = Some(errorpb::EpochNotMatch { current_regions });
        }
        // A real store has a kind for it, and does not use it where requests name keys.
        RegionError::KeyNotInRegion => {}
        RegionError::ServerIsBusy => {
            let reason = "injected".to_owned();
            let busy = errorpb::ServerIsBusy { reason, ..errorpb::ServerIsBusy::default() };
            answer.server_is_busy = Some(busy);
        }
        RegionError::StaleCommand => answer.stale_command = Some(errorpb::StaleCommand {}),
        RegionError::StoreNotMatch { asked, actual } => {
            answer.store_not_match =
                Some(errorpb::StoreNotMatch { request_store_id: asked, actual_store_id: actual });
        }
        RegionError::Undetermined => {
            let message = "injected".to_owned();
            answer.undetermined_result = Some(errorpb::UndeterminedResult { message });
        }
        RegionError::MaxTimestampNotSynced => {
            answer.max_timestamp_not_synced = Some(errorpb::MaxTimestampNotSynced {});
        }
    }
    answer
}

pub(super) fn lock_info(info: LockInfo) -> kvrpcpb::LockInfo {
    let LockInfo { key, lock } = info;
    kvrpcpb::LockInfo {
        primary_lock: lock.primary.into(),
        lock_version: lock.start_ts,
        key: key.into(),
        lock_ttl: lock.ttl,
        txn_size: lock.txn_size,
        lock_type: op(lock.kind) as i32,
        lock_for_update_ts: lock.for_update_ts,
        use_async_commit: lock.async_commit,
        min_commit_ts: lock.min_commit_ts,
        secondaries: lock.secondaries.into_iter().map(Bytes::from).collect(),
        ..kvrpcpb::LockInfo::default()
    }
}

fn op(kind: LockKind) -> kvrpcpb::Op {
    match kind {
        LockKind::Put => kvrpcpb::Op::Put,
        LockKind::Delete => kvrpcpb::Op::Del,
        LockKind::Lock => kvrpcpb::Op::Lock,
        LockKind::Pessimistic => kvrpcpb::Op::PessimisticLock,
    }
}

/// As TiKV puts it: a field where there is one, and text that clients search.
pub(super) fn key_error(error: KeyError) -> kvrpcpb::KeyError {
    let text = |error: &dyn std::fmt::Debug| format!("Error(Txn(Error(Mvcc(Error({error:?})))))");
    let mut answer = kvrpcpb::KeyError::default();
    match error {
        KeyError::Locked(info) => answer.locked = Some(lock_info(*info)),
        KeyError::WriteConflict { .. } | KeyError::LockNotFound { .. } => {
            answer.retryable = text(&error);
            conflict(&mut answer, error);
        }
        KeyError::AlreadyExist { key } => {
            answer.already_exist = Some(kvrpcpb::AlreadyExist { key: key.into() });
        }
        KeyError::Deadlock { lock_ts, key, chain } => {
            let entry = |(txn, wait_for_txn, key): (u64, u64, Vec<u8>)| deadlock::WaitForEntry {
                txn,
                wait_for_txn,
                key: key.into(),
                ..deadlock::WaitForEntry::default()
            };
            answer.deadlock = Some(kvrpcpb::Deadlock {
                lock_ts,
                lock_key: key.clone().into(),
                deadlock_key: key.into(),
                wait_chain: chain.into_iter().map(entry).collect(),
                ..kvrpcpb::Deadlock::default()
            });
        }
        KeyError::CommitTsExpired { start_ts, attempted, key, min_commit_ts } => {
            answer.commit_ts_expired = Some(kvrpcpb::CommitTsExpired {
                start_ts,
                attempted_commit_ts: attempted,
                key: key.into(),
                min_commit_ts,
            });
        }
        KeyError::CommitTsTooLarge(commit_ts) => {
            answer.commit_ts_too_large = Some(kvrpcpb::CommitTsTooLarge { commit_ts });
        }
        KeyError::TxnNotFound { start_ts, key } => {
            let primary_key = key.into();
            answer.txn_not_found = Some(kvrpcpb::TxnNotFound { start_ts, primary_key });
        }
        KeyError::PrimaryMismatch(info) => {
            let lock_info = Some(lock_info(*info));
            answer.primary_mismatch = Some(kvrpcpb::PrimaryMismatch { lock_info });
        }
        KeyError::Abort(abort) => answer.abort = text(&abort),
    }
    answer
}

fn conflict(answer: &mut kvrpcpb::KeyError, error: KeyError) {
    use kvrpcpb::write_conflict::Reason as Told;
    match error {
        KeyError::WriteConflict {
            start_ts,
            conflict_start_ts,
            conflict_commit_ts,
            key,
            primary,
            reason,
        } => {
            let reason = match reason {
                Reason::Optimistic => Told::Optimistic,
                Reason::PessimisticRetry => Told::PessimisticRetry,
                Reason::SelfRolledBack => Told::SelfRolledBack,
                Reason::LazyUniquenessCheck => Told::LazyUniquenessCheck,
                Reason::RcCheckTs => Told::RcCheckTs,
            };
            answer.conflict = Some(kvrpcpb::WriteConflict {
                start_ts,
                conflict_ts: conflict_start_ts,
                key: key.into(),
                primary: primary.into(),
                conflict_commit_ts,
                reason: reason as i32,
            });
        }
        KeyError::LockNotFound { key, .. } => {
            answer.txn_lock_not_found = Some(kvrpcpb::TxnLockNotFound { key: key.into() });
        }
        _ => {}
    }
}
