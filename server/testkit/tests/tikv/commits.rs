//! Prewrite, commit and what becomes of transactions.

use std::time::Duration;

use braid_tikv_proto::kvrpcpb::prewrite_request::PessimisticAction;
use braid_tikv_proto::kvrpcpb::write_conflict::Reason;
use braid_tikv_proto::kvrpcpb::{self as rpc, Action, Op};

use crate::client::{Client, LONG_MS, send};

fn reason(answer: &rpc::PrewriteResponse) -> i32 {
    let conflict = answer.errors[0].conflict.as_ref();
    conflict.unwrap_or_else(|| panic!("no conflict: {answer:?}")).reason
}

pub(crate) async fn must_not_exist_needs_the_constraint_action(client: &mut Client) {
    let early = client.ts().await;
    client.write(Op::Put, "k").await;
    let start = client.ts().await;
    let insert = |client: &Client, action, start| {
        let request = client.prewrite_of(Op::Insert, "k", start);
        let pessimistic_actions = vec![action as i32];
        rpc::PrewriteRequest { for_update_ts: start, pessimistic_actions, ..request }
    };
    let request = insert(client, PessimisticAction::DoConstraintCheck, start);
    assert!(client.prewrite(request).await.errors[0].already_exist.is_some());
    // A row that came after the start is a conflict.
    let request = insert(client, PessimisticAction::DoConstraintCheck, early);
    assert_eq!(reason(&client.prewrite(request).await), Reason::LazyUniquenessCheck as i32);
    // Without the action the check is passed over in silence.
    let request = insert(client, PessimisticAction::SkipPessimisticCheck, start);
    assert_eq!(client.prewrite(request).await.errors, []);
    assert!(client.rollback("k", start).await.error.is_none());
    // An optimistic transaction needs no action.
    let start = client.ts().await;
    let request = client.prewrite_of(Op::Insert, "k", start);
    assert!(client.prewrite(request).await.errors[0].already_exist.is_some());
    client.write(Op::Del, "k").await;
    let start = client.ts().await;
    let request = insert(client, PessimisticAction::DoConstraintCheck, start);
    assert_eq!(client.prewrite(request).await.errors, []);
    assert!(client.rollback("k", start).await.error.is_none());
}

pub(crate) async fn a_reader_pushes_a_commit_above_itself(client: &mut Client) {
    client.write(Op::Put, "k").await;
    let start = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", start);
    let request = rpc::PrewriteRequest { min_commit_ts: start + 1, ..request };
    assert_eq!(client.prewrite(request).await.errors, []);
    let reader = client.ts().await;
    let status = client.status(client.status_of("k", start, reader)).await;
    assert_eq!(status.action, Action::MinCommitTsPushed as i32);
    assert!(status.lock_ttl > 0);
    let pushed = status.lock_info.expect("a lock").min_commit_ts;
    assert!(pushed > reader);
    let expired = client.commit("k", start, reader).await.error.expect("an error");
    let expired = expired.commit_ts_expired.expect("too early");
    assert_eq!((expired.attempted_commit_ts, expired.min_commit_ts), (reader, pushed));
    assert!(client.value("k", reader).await.is_some(), "passed over");
    let commit = client.ts().await.max(pushed);
    assert_eq!(client.commit("k", start, commit).await.error, None);
    let now = client.ts().await;
    let status = client.status(client.status_of("k", start, now)).await;
    assert_eq!(status.commit_version, commit);
    // Without a lower limit it cannot be pushed.
    let start = client.ts().await;
    assert_eq!(client.prewrite(client.prewrite_of(Op::Put, "k", start)).await.errors, []);
    let reader = client.ts().await;
    let status = client.status(client.status_of("k", start, reader)).await;
    assert_eq!(status.action, Action::NoAction as i32);
    assert!(client.rollback("k", start).await.error.is_none());
}

pub(crate) async fn an_expired_transaction_is_rolled_back(client: &mut Client) {
    let start = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", start);
    let request = rpc::PrewriteRequest { lock_ttl: 50, ..request };
    assert_eq!(client.prewrite(request.clone()).await.errors, []);
    let mut lock = client.lock_of("p", start, start);
    lock.lock_ttl = 50;
    assert_eq!(client.lock(lock).await.errors, []);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let now = client.ts().await;
    let status = client.status(client.status_of("k", start, now)).await;
    assert_eq!((status.action, status.lock_ttl), (Action::TtlExpireRollback as i32, 0));
    let again = client.status(client.status_of("k", start, now)).await;
    assert_eq!((again.action, again.commit_version), (Action::NoAction as i32, 0));
    assert!(client.commit("k", start, now).await.error.expect("gone").txn_lock_not_found.is_some());
    assert_eq!(reason(&client.prewrite(request).await), Reason::SelfRolledBack as i32);
    // A pessimistic lock, met by a lock request: it is gone, and may be taken again.
    let mut query = client.status_of("p", start, now);
    query.resolving_pessimistic_lock = true;
    let status = client.status(query.clone()).await;
    assert_eq!(status.action, Action::TtlExpirePessimisticRollback as i32);
    let again = client.status(query).await;
    assert_eq!(again.action, Action::LockNotExistDoNothing as i32);
    assert_eq!(client.lock(client.lock_of("p", start, now)).await.errors, []);
    client.unlock("p", start, now).await;
    // What never was: rolled back on demand.
    let mut query = client.status_of("n", start, now);
    query.rollback_if_not_exist = false;
    assert!(client.status(query.clone()).await.error.expect("none").txn_not_found.is_some());
    query.rollback_if_not_exist = true;
    let status = client.status(query).await;
    assert_eq!(status.action, Action::LockNotExistRollback as i32);
}

pub(crate) async fn a_heartbeat_keeps_a_transaction_alive(client: &mut Client) {
    let start = client.ts().await;
    let mut lock = client.lock_of("k", start, start);
    lock.lock_ttl = 100;
    assert_eq!(client.lock(lock).await.errors, []);
    let key = client.key("k");
    let mut beat = rpc::TxnHeartBeatRequest {
        primary_lock: key.clone(),
        start_version: start,
        advise_lock_ttl: 60_000,
        ..Default::default()
    };
    assert_eq!(send!(client, key, kv_txn_heart_beat, beat).lock_ttl, 60_000);
    beat.advise_lock_ttl = 1;
    assert_eq!(send!(client, key, kv_txn_heart_beat, beat).lock_ttl, 60_000);
    tokio::time::sleep(Duration::from_millis(150)).await;
    let now = client.ts().await;
    assert_eq!(client.status(client.status_of("k", start, now)).await.lock_ttl, 60_000);
    client.unlock("k", start, start).await;
    let gone = send!(client, key, kv_txn_heart_beat, beat);
    assert!(gone.error.expect("gone").txn_not_found.is_some());
}

pub(crate) async fn an_async_commit_is_above_every_read(client: &mut Client) {
    let start = client.ts().await;
    let reader = client.ts().await;
    assert_eq!(client.value("k", reader).await, None);
    let request = client.prewrite_of(Op::Put, "k", start);
    let mut request = rpc::PrewriteRequest { use_async_commit: true, ..request };
    let answer = client.prewrite(request.clone()).await;
    assert_eq!(answer.errors, []);
    assert!(answer.min_commit_ts > reader);
    // Nobody pushes it.
    let now = client.ts().await;
    let status = client.status(client.status_of("k", start, now)).await;
    assert_eq!(status.action, Action::NoAction as i32);
    assert!(status.lock_info.expect("a lock").use_async_commit);
    assert!(client.commit("k", start, answer.min_commit_ts - 1).await.error.is_some());
    assert_eq!(client.commit("k", start, answer.min_commit_ts).await.error, None);
    // Above the client's limit: two phases.
    let start = client.ts().await;
    let reader = client.ts().await;
    assert!(client.value("k", reader).await.is_some());
    request.start_version = start;
    request.max_commit_ts = reader;
    let answer = client.prewrite(request).await;
    assert_eq!((answer.errors.len(), answer.min_commit_ts), (0, 0));
    let status = client.status(client.status_of("k", start, reader)).await;
    assert!(!status.lock_info.expect("a lock").use_async_commit);
    assert!(client.rollback("k", start).await.error.is_none());
}

/// Who says that it goes on in two phases is pushed as such a one.
pub(crate) async fn an_async_commit_is_pushed_by_force(client: &mut Client) {
    let start = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", start);
    let request = rpc::PrewriteRequest { use_async_commit: true, ..request };
    assert!(client.prewrite(request.clone()).await.min_commit_ts > start);
    let key = client.key("k");
    let beat = rpc::TxnHeartBeatRequest {
        primary_lock: key.clone(),
        start_version: start,
        advise_lock_ttl: LONG_MS + 1,
        ..Default::default()
    };
    assert_eq!(send!(client, key, kv_txn_heart_beat, beat).lock_ttl, LONG_MS + 1);
    let reader = client.ts().await;
    let query = client.status_of("k", start, reader);
    let status = client.status(query.clone()).await;
    assert_eq!((status.action, status.lock_ttl), (Action::NoAction as i32, LONG_MS + 1));
    let query = rpc::CheckTxnStatusRequest { force_sync_commit: true, ..query };
    let status = client.status(query).await;
    assert_eq!(status.action, Action::MinCommitTsPushed as i32);
    let late = client.prewrite(request).await;
    assert!(late.errors.is_empty() && late.min_commit_ts > reader, "it is pushed, and there");
    let early = client.commit("k", start, reader).await;
    assert!(early.error.expect("pushed").commit_ts_expired.is_some());
    let commit = client.ts().await.max(late.min_commit_ts);
    assert_eq!(client.commit("k", start, commit).await.error, None);
}

pub(crate) async fn an_async_commit_is_decided_by_its_secondaries(client: &mut Client) {
    for all_there in [true, false] {
        let names = [format!("p{all_there}"), format!("s{all_there}"), format!("t{all_there}")];
        let keys = [client.key(&names[1]), client.key(&names[2])];
        let start = client.ts().await;
        let mut largest = 0;
        for name in &names[..if all_there { 3 } else { 2 }] {
            let mut request = client.prewrite_of(Op::Put, name, start);
            request.primary_lock = client.key(&names[0]);
            request.use_async_commit = true;
            if *name == names[0] {
                request.secondaries = keys.to_vec();
            }
            largest = client.prewrite(request).await.min_commit_ts.max(largest);
        }
        let now = client.ts().await;
        let status = client.status(client.status_of(&names[0], start, now)).await;
        assert_eq!(status.lock_info.expect("a lock").secondaries, keys);
        let request = rpc::CheckSecondaryLocksRequest {
            keys: keys.to_vec(),
            start_version: start,
            ..Default::default()
        };
        let answer = send!(client, keys[0], kv_check_secondary_locks, request);
        if all_there {
            let told = answer.locks.iter().map(|lock| lock.min_commit_ts).max();
            assert_eq!((answer.locks.len(), told), (2, Some(largest)));
            for name in &names {
                assert_eq!(client.commit(name, start, largest).await.error, None);
            }
            let answer = send!(client, keys[0], kv_check_secondary_locks, request);
            assert_eq!(answer.commit_ts, largest);
        } else {
            assert_eq!((answer.locks.len(), answer.commit_ts), (0, 0));
            let mut late = client.prewrite_of(Op::Put, &names[2], start);
            late.primary_lock = client.key(&names[0]);
            assert_eq!(reason(&client.prewrite(late).await), Reason::SelfRolledBack as i32);
            for name in &names {
                assert!(client.rollback(name, start).await.error.is_none());
            }
        }
    }
}

pub(crate) async fn one_phase_is_enough_for_one_region_or_falls_back(client: &mut Client) {
    let reader = client.ts().await;
    assert_eq!(client.value("k", reader).await, None);
    let start = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", start);
    let mut request = rpc::PrewriteRequest { try_one_pc: true, ..request };
    let answer = client.prewrite(request.clone()).await;
    assert!(answer.one_pc_commit_ts > start && answer.errors.is_empty());
    let now = client.ts().await.max(answer.one_pc_commit_ts);
    assert_eq!(client.value("k", now).await, Some(format!("k@{start}")));
    assert_eq!(client.value("k", answer.one_pc_commit_ts - 1).await, None);
    let start = client.ts().await;
    request.start_version = start;
    let reader = client.ts().await;
    assert!(client.value("k", reader).await.is_some());
    request.max_commit_ts = reader;
    let answer = client.prewrite(request).await;
    assert_eq!((answer.errors.len(), answer.one_pc_commit_ts), (0, 0));
    let commit = client.ts().await;
    assert_eq!(client.commit("k", start, commit).await.error, None);
}

pub(crate) async fn a_repeated_prewrite_reports_the_commit(client: &mut Client) {
    let start = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", start);
    let mut request = rpc::PrewriteRequest { use_async_commit: true, ..request };
    let first = client.prewrite(request.clone()).await;
    let second = client.prewrite(request.clone()).await;
    assert_eq!(first.min_commit_ts, second.min_commit_ts);
    assert_eq!(client.commit("k", start, first.min_commit_ts).await.error, None);
    request.context = Some(rpc::Context { is_retry_request: true, ..Default::default() });
    let late = client.prewrite(request.clone()).await;
    assert_eq!((late.errors.len(), late.min_commit_ts), (0, first.min_commit_ts));
    // The same in a pessimistic transaction, for a key that nothing is checked of.
    request.for_update_ts = start;
    request.pessimistic_actions = vec![PessimisticAction::SkipPessimisticCheck as i32];
    let late = client.prewrite(request).await;
    assert_eq!((late.errors.len(), late.min_commit_ts), (0, first.min_commit_ts));
    let now = client.ts().await;
    assert!(client.value("k", now).await.is_some(), "no lock is left");
}

pub(crate) async fn a_prewrite_after_the_rollback_fails(client: &mut Client) {
    let start = client.ts().await;
    assert!(client.rollback("k", start).await.error.is_none());
    let answer = client.prewrite(client.prewrite_of(Op::Put, "k", start)).await;
    assert_eq!(reason(&answer), Reason::SelfRolledBack as i32);
    let answer = client.lock(client.lock_of("k", start, start)).await;
    assert!(answer.errors[0].abort.contains("PessimisticLockRolledBack"), "{answer:?}");
    // An older optimistic transaction conflicts even with a rollback.
    let old = client.ts().await;
    let young = client.ts().await;
    assert!(client.rollback("k", young).await.error.is_none());
    let answer = client.prewrite(client.prewrite_of(Op::Put, "k", old)).await;
    assert_eq!(reason(&answer), Reason::Optimistic as i32);
}

pub(crate) async fn commits_and_rollbacks_come_twice_and_too_late(client: &mut Client) {
    let (start, commit) = client.write(Op::Put, "k").await;
    assert_eq!(client.commit("k", start, commit).await.error, None, "twice");
    let late = client.rollback("k", start).await.error.expect("too late");
    assert!(late.abort.contains("Committed"), "{late:?}");
    let start = client.ts().await;
    assert!(client.rollback("k", start).await.error.is_none());
    assert!(client.rollback("k", start).await.error.is_none(), "twice");
    let commit = client.ts().await;
    let late = client.commit("k", start, commit).await.error.expect("too late");
    assert!(late.txn_lock_not_found.is_some(), "{late:?}");
}
