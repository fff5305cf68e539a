//! Locks taken before the prewrite.

use std::time::{Duration, Instant};

use braid_tikv_proto::kvrpcpb::prewrite_request::PessimisticAction;
use braid_tikv_proto::kvrpcpb::write_conflict::Reason;
use braid_tikv_proto::kvrpcpb::{self as rpc, Op, PessimisticLockKeyResultType as Type};

use crate::client::Client;

/// Long enough for a request to have come to its queue.
const ARRIVAL: Duration = Duration::from_millis(100);

fn conflict(errors: &[rpc::KeyError]) -> &rpc::WriteConflict {
    errors[0].conflict.as_ref().unwrap_or_else(|| panic!("no conflict: {errors:?}"))
}

fn pessimistic(
    client: &Client,
    op: Op,
    action: PessimisticAction,
    name: &str,
    start: u64,
) -> rpc::PrewriteRequest {
    let request = client.prewrite_of(op, name, start);
    let pessimistic_actions = vec![action as i32];
    rpc::PrewriteRequest { for_update_ts: start, pessimistic_actions, ..request }
}

pub(crate) async fn a_lock_request_brings_the_value(client: &mut Client) {
    let (old, _) = client.write(Op::Put, "k").await;
    let start = client.ts().await;
    let answer = client.lock(client.lock_of("k", start, start)).await;
    assert_eq!(answer.errors, []);
    assert_eq!((answer.values, answer.not_founds), (vec![format!("k@{old}").into()], vec![false]));
    let answer = client.lock(client.lock_of("none", start, start)).await;
    assert_eq!(answer.not_founds, [true]);
    // Only if there is a value.
    let request = client.lock_of("empty", start, start);
    let request = rpc::PessimisticLockRequest { lock_only_if_exists: true, ..request };
    assert_eq!(client.lock(request).await.not_founds, [true]);
    let later = client.ts().await;
    assert_eq!(client.lock(client.lock_of("empty", later, later)).await.errors, []);
    // Existence alone.
    let mut request = client.lock_of("k", start, start);
    (request.return_values, request.check_existence) = (false, true);
    let answer = client.lock(request).await;
    assert_eq!((answer.values.len(), answer.not_founds), (0, vec![false]));
    // No value may be there.
    let mut request = client.lock_of("k", start, start);
    request.mutations[0].set_assertion(rpc::Assertion::NotExist);
    assert!(client.lock(request).await.errors[0].already_exist.is_some());
    for name in ["k", "none"] {
        client.unlock(name, start, start).await;
    }
    client.unlock("empty", later, later).await;
}

pub(crate) async fn a_newer_version_is_a_conflict_or_comes_along(client: &mut Client) {
    let start = client.ts().await;
    let (writer, commit) = client.write(Op::Put, "k").await;
    let answer = client.lock(client.lock_of("k", start, start)).await;
    let told = conflict(&answer.errors);
    assert_eq!(told.reason, Reason::PessimisticRetry as i32);
    assert_eq!((told.conflict_ts, told.conflict_commit_ts), (writer, commit));
    // At a newer timestamp it is none.
    let now = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", start, now)).await.errors, []);
    client.unlock("k", start, now).await;
    // Or the lock is taken all the same, and the value comes along.
    let mut request = client.lock_of("k", start, start);
    request.set_wake_up_mode(rpc::PessimisticLockWakeUpMode::WakeUpModeForceLock);
    let answer = client.lock(request.clone()).await;
    assert_eq!(answer.errors, []);
    let result = &answer.results[0];
    assert_eq!(result.r#type, Type::LockResultLockedWithConflict as i32);
    assert_eq!((&result.value[..], result.existence), (format!("k@{writer}").as_bytes(), true));
    assert_eq!(result.locked_with_conflict_ts, commit);
    // One key at a time.
    let other = client.lock_of("other", start, start).mutations.remove(0);
    request.mutations.push(other);
    assert!(!client.lock(request).await.errors[0].abort.is_empty());
    client.unlock("k", start, commit).await;
}

pub(crate) async fn a_held_lock_is_told_at_once_or_after_the_wait(client: &mut Client) {
    let holder = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", holder, holder)).await.errors, []);
    let asker = client.ts().await;
    let mut request = client.lock_of("k", asker, asker);
    for wait_ms in [-1, 300] {
        request.wait_timeout = wait_ms;
        let before = Instant::now();
        let answer = client.lock(request.clone()).await;
        let locked = answer.errors[0].locked.as_ref().expect("a lock");
        assert_eq!((locked.lock_version, locked.lock_ttl), (holder, crate::client::LONG_MS));
        assert_eq!(locked.lock_type, Op::PessimisticLock as i32);
        assert!(wait_ms < 0 || before.elapsed() >= Duration::from_millis(290));
    }
    client.unlock("k", holder, holder).await;
}

pub(crate) async fn a_wait_is_cut(client: &mut Client) {
    let holder = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", holder, holder)).await.errors, []);
    let asker = client.ts().await;
    let mut request = client.lock_of("k", asker, asker);
    request.wait_timeout = 60_000;
    let before = Instant::now();
    assert!(client.lock(request).await.errors[0].locked.is_some());
    let waited = before.elapsed();
    assert!(waited > Duration::from_millis(900), "{waited:?}");
    assert!(waited < Duration::from_secs(30), "{waited:?}");
    client.unlock("k", holder, holder).await;
}

pub(crate) async fn the_waiter_that_started_first_is_woken_and_has_to_ask_again(
    client: &mut Client,
) {
    let holder = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", holder, holder)).await.errors, []);
    let (first, second) = (client.ts().await, client.ts().await);
    let mut waiters = Vec::new();
    // The younger one comes first.
    for start in [second, first] {
        let request = client.lock_of("k", start, start);
        let request = rpc::PessimisticLockRequest { wait_timeout: 1_000, ..request };
        waiters.push(client.lock_later(request).await);
        tokio::time::sleep(ARRIVAL).await;
    }
    client.unlock("k", holder, holder).await;
    let (old, young) = (waiters.pop().expect("two"), waiters.pop().expect("two"));
    let answer = old.await.expect("an answer");
    let told = conflict(&answer.errors);
    assert_eq!(told.reason, Reason::PessimisticRetry as i32);
    assert_eq!((told.conflict_ts, told.conflict_commit_ts), (holder, 0));
    assert_eq!(client.lock(client.lock_of("k", first, first)).await.errors, [], "again");
    // The other one is told the same a moment later.
    let answer = young.await.expect("an answer");
    assert_eq!(conflict(&answer.errors).conflict_ts, holder);
    client.unlock("k", first, first).await;
}

pub(crate) async fn a_waiter_that_may_lock_with_conflicts_gets_the_lock(client: &mut Client) {
    let holder = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", holder, holder)).await.errors, []);
    let (asker, younger) = (client.ts().await, client.ts().await);
    let mut waiters = Vec::new();
    // The younger one comes first, and is not the first to be served.
    for start in [younger, asker] {
        let mut request = client.lock_of("k", start, start);
        request.set_wake_up_mode(rpc::PessimisticLockWakeUpMode::WakeUpModeForceLock);
        request.wait_timeout = 1_000;
        waiters.push(client.lock_later(request).await);
        tokio::time::sleep(ARRIVAL).await;
    }
    let action = PessimisticAction::DoPessimisticCheck;
    let request = pessimistic(client, Op::Put, action, "k", holder);
    assert_eq!(client.prewrite(request).await.errors, []);
    let commit = client.ts().await;
    assert_eq!(client.commit("k", holder, commit).await.error, None);
    let (first, second) = (waiters.pop().expect("two"), waiters.pop().expect("two"));
    let answer = first.await.expect("an answer");
    assert_eq!(answer.errors, []);
    assert_eq!(answer.results[0].locked_with_conflict_ts, commit);
    assert_eq!(answer.results[0].value, format!("k@{holder}"));
    let answer = second.await.expect("an answer");
    assert_eq!(answer.results[0].r#type, Type::LockResultFailed as i32);
    assert_eq!(answer.errors[0].locked.as_ref().expect("a lock").lock_version, asker);
    client.unlock("k", asker, commit).await;
}

pub(crate) async fn the_request_that_closes_a_circle_is_the_victim(client: &mut Client) {
    let (one, two) = (client.ts().await, client.ts().await);
    assert_eq!(client.lock(client.lock_of("a", one, one)).await.errors, []);
    assert_eq!(client.lock(client.lock_of("b", two, two)).await.errors, []);
    let second_lock = |request| rpc::PessimisticLockRequest {
        wait_timeout: 1_000,
        is_first_lock: false,
        ..request
    };
    let waiter = client.lock_later(second_lock(client.lock_of("b", one, one))).await;
    tokio::time::sleep(ARRIVAL).await;
    // The older one waits already; the younger one closes the circle.
    let answer = client.lock(second_lock(client.lock_of("a", two, two))).await;
    let deadlock = answer.errors[0].deadlock.as_ref();
    let deadlock = deadlock.unwrap_or_else(|| panic!("no deadlock: {answer:?}"));
    assert_eq!((deadlock.lock_ts, &deadlock.lock_key), (one, &client.key("a")));
    client.unlock("b", two, two).await;
    assert!(waiter.await.expect("an answer").errors[0].conflict.is_some());
    client.unlock("a", one, one).await;
}

pub(crate) async fn a_lost_lock_is_made_good_if_nothing_was_written(client: &mut Client) {
    let action = PessimisticAction::DoPessimisticCheck;
    client.write(Op::Put, "k").await;
    // Never taken: the same to a store as lost.
    let start = client.ts().await;
    let request = pessimistic(client, Op::Put, action, "k", start);
    assert_eq!(client.prewrite(request).await.errors, []);
    assert!(client.rollback("k", start).await.error.is_none());
    let start = client.ts().await;
    client.write(Op::Put, "k").await;
    let answer = client.prewrite(pessimistic(client, Op::Put, action, "k", start)).await;
    assert!(answer.errors[0].abort.contains("PessimisticLockNotFound"), "{answer:?}");
}

pub(crate) async fn a_foreign_lock_in_a_pessimistic_prewrite_has_no_time_to_live(
    client: &mut Client,
) {
    let holder = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", holder, holder)).await.errors, []);
    let start = client.ts().await;
    for action in [PessimisticAction::SkipPessimisticCheck, PessimisticAction::DoConstraintCheck] {
        let answer = client.prewrite(pessimistic(client, Op::Put, action, "k", start)).await;
        let locked = answer.errors[0].locked.as_ref().expect("a lock");
        assert_eq!((locked.lock_version, locked.lock_ttl), (holder, 0));
    }
    let action = PessimisticAction::DoPessimisticCheck;
    let answer = client.prewrite(pessimistic(client, Op::Put, action, "k", start)).await;
    assert!(answer.errors[0].abort.contains("PessimisticLockNotFound"), "{answer:?}");
    client.unlock("k", holder, holder).await;
}
