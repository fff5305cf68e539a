//! Locks that TiKV has lost although the transaction believes to hold them: each way to notice it,
//! and what happens where nobody has used the gap.

use super::*;
use braid_kv::LockStrength;

/// The outcome of a commit that must not take place because of a lost lock.
fn assert_lost(outcome: &Result<CommitOutcome, Error>, what: &str) {
    let lost = RetryReason::LockLost;
    let is_lost = matches!(outcome, Ok(CommitOutcome::Retry(c)) if c.reason == lost);
    assert!(is_lost, "{what}: {outcome:?}");
}

fn is_lost<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Retry(conflict)) if conflict.reason == RetryReason::LockLost)
}

/// TiKV reports a lost lock as an error of its own, other implementations report the other lock.
#[tokio::test]
async fn a_key_that_another_has_locked_meanwhile_is_no_lost_update() {
    for says_locked in [false, true] {
        let cluster = two_regions();
        let db = cluster.open().await;
        if says_locked {
            cluster.say_locked_for_lost();
        }
        put(&db, &[("n", "0")]).await;
        let (t, other) = (serializable(&db), serializable(&db));
        assert_eq!(lock(&t, "n").await.unwrap().as_deref(), Some("0"));
        cluster.forget_locks();
        assert_eq!(lock(&other, "n").await.unwrap().as_deref(), Some("0"));
        set(&t, "n", "0 + 1");
        set(&other, "n", "0 + 10");
        let commit = tokio::spawn(async move { t.commit().await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        other.commit_or_error().await.unwrap();
        assert_lost(&commit.await.unwrap(), "another has locked and written the key");
        assert_eq!(get(&db, "n").await.as_deref(), Some("0 + 10"));
    }
}

#[tokio::test]
async fn rows_that_are_locked_and_only_read_are_proved_before_the_commit_answers() {
    let cluster = two_regions();
    let db = cluster.open().await;
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    for isolation in levels {
        for strength in [LockStrength::Shared, LockStrength::Exclusive] {
            for used in ["no", "written", "locked"] {
                put(&db, &[("a", "1"), ("z", "1")]).await;
                let t = begin(&db, isolation);
                let request = keys(&["a", "z"]).strength(strength);
                t.lock(t.next_statement(), request).await.unwrap();
                cluster.crash_leader(&full("z"));
                let other = serializable(&db);
                match used {
                    "written" => put(&db, &[("z", "2")]).await,
                    "locked" => drop(lock(&other, "z").await.unwrap()),
                    _ => {}
                }
                let outcome = t.commit().await;
                let what = format!("{isolation:?} {strength:?} {used}");
                match used {
                    "no" => assert!(matches!(outcome, Ok(CommitOutcome::Committed(_))), "{what}"),
                    _ => assert_lost(&outcome, &what),
                }
                other.rollback().await;
            }
        }
    }
}

/// A proof costs one request for each region, and transactions without locks need none.
#[tokio::test]
async fn what_the_proof_of_locks_costs() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("b", "1"), ("z", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    t.lock(t.next_statement(), keys(&["a", "b", "z"])).await.unwrap();
    let before = cluster.count(Rpc::PessimisticLock);
    t.commit_or_error().await.unwrap();
    assert_eq!(cluster.count(Rpc::PessimisticLock) - before, 2);
    let t = serializable(&db);
    read(&t, "a").await;
    t.commit_or_error().await.unwrap();
    assert_eq!(cluster.count(Rpc::PessimisticLock) - before, 2);
}

/// `SELECT … FOR UPDATE` of two rows waits for the second one; the first one is lost meanwhile.
#[tokio::test]
async fn rows_of_one_statement_are_of_one_moment_although_it_has_waited() {
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let cluster = two_regions();
        let db = cluster.open().await;
        put(&db, &[("a", "1"), ("z", "1")]).await;
        let holder = serializable(&db);
        lock(&holder, "z").await.unwrap();
        let t = begin(&db, isolation);
        let waiter = t.clone();
        let both =
            tokio::spawn(
                async move { waiter.lock(waiter.next_statement(), keys(&["a", "z"])).await },
            );
        while cluster.waiter_count() == 0 {
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        cluster.crash_leader(&full("a"));
        put(&db, &[("a", "2")]).await;
        set(&holder, "z", "2");
        holder.commit_or_error().await.unwrap();
        let both = both.await.unwrap();
        assert!(is_lost(&both), "{isolation:?}: {both:?}");
        assert!(
            is_lost(&t.restarts().statement(t.next_statement()).await),
            "others may rely on it"
        );
        // The whole transaction can run again.
        t.restarts().transaction().unwrap();
        let again = t.lock(t.next_statement(), keys(&["a", "z"])).await.unwrap();
        assert!(again.values.iter().all(|value| value.as_deref() == Some(b"2")), "{again:?}");
        t.commit_or_error().await.unwrap();
    }
}

/// A second request for a key would get the lock back, with a newer value than the first one.
#[tokio::test]
async fn a_lost_lock_does_not_come_back_unnoticed() {
    let cluster = two_regions();
    let db = cluster.open().await;
    for writes in [false, true] {
        put(&db, &[("a", "1")]).await;
        let t = begin(&db, Isolation::ReadCommitted);
        let request = keys(&["a"]).strength(LockStrength::Shared);
        t.lock(t.next_statement(), request).await.unwrap();
        cluster.forget_locks();
        put(&db, &[("a", "2")]).await;
        // Stronger than before, so that the answer is not known.
        lock(&t, "a").await.unwrap();
        if writes {
            set(&t, "a", "3");
        }
        assert_lost(&t.commit().await, "locked twice");
        assert_eq!(get(&db, "a").await.as_deref(), Some("2"));
    }
}

/// A lock request whose answer was lost may have been granted at a newer timestamp than the next
/// one of the same snapshot asks for, which then gets the value of its own timestamp.
#[tokio::test]
async fn a_lock_whose_answer_was_lost_is_asked_for_at_a_newer_timestamp() {
    let cluster = two_regions();
    let db = cluster.open_with(hasty()).await;
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let t = serializable(&db);
    lock(&t, "b").await.unwrap();
    put(&db, &[("a", "2")]).await;
    let lost = Rule::next(Rpc::PessimisticLock, Fault::LoseAnswer).key(&full("a"));
    cluster.add(lost.skip(1).times(10_000));
    let unanswered = lock(&t, "a").await;
    assert!(matches!(unanswered, Err(Error::Unreachable(_))), "{unanswered:?}");
    cluster.clear_rules();
    assert_eq!(lock(&t, "a").await.unwrap().as_deref(), Some("2"));
    set(&t, "a", "2 + 1");
    t.commit_or_error().await.unwrap();
}

/// A request that is still under way at the commit must not stand for the lock that was lost.
#[tokio::test]
async fn a_late_request_does_not_stand_for_the_lock_that_was_lost() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("p", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    lock(&t, "p").await.unwrap();
    let (before, after) = (Gate::new(), Gate::new());
    let of_a = |fault| Rule::next(Rpc::PessimisticLock, fault).key(&full("a"));
    cluster.add(of_a(Fault::HoldRequest(before.clone())));
    let late = t.clone();
    let late = tokio::spawn(async move { lock(&late, "a").await });
    before.wait_for(1).await;
    assert_eq!(lock(&t, "a").await.unwrap().as_deref(), Some("1"));
    cluster.forget_locks();
    put(&db, &[("a", "2")]).await;
    // The late request meets the newer version. The next one, at a newer timestamp, is granted.
    cluster.add(of_a(Fault::HoldAnswer(after.clone())));
    before.open();
    after.wait_for(1).await;
    set(&t, "a", "1 + 1");
    assert_lost(&t.commit().await, "the lock is another one than that of the value");
    after.open();
    drop(late.await.unwrap());
    assert_eq!(get(&db, "a").await.as_deref(), Some("2"));
}

/// Others decide by the primary: without it every other lock may be taken away.
#[tokio::test]
async fn a_transaction_without_its_primary_is_told_so_before_it_commits() {
    let cluster = two_regions();
    let options = TikvOptions { lock_ttl: Duration::from_millis(600), ..TikvOptions::default() };
    let db = cluster.open_with(options).await;
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    lock(&t, "a").await.unwrap();
    cluster.forget_locks();
    let since = Instant::now();
    for i in 0.. {
        let next = lock(&t, &format!("other{i}")).await;
        if is_lost(&next) {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "nobody has noticed: {next:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_lost(&t.commit_or_restart().await, "even if it writes nothing");
    assert_eq!(lock(&t, "a").await.unwrap().as_deref(), Some("1"), "begun anew");
    set(&t, "a", "2");
    t.commit_or_error().await.unwrap();
}

/// A gateway is stopped between the prewrites of two regions. Others roll the commit back, and its
/// second prewrite, a blind one, comes after that and is carried out.
#[tokio::test]
async fn an_asynchronous_commit_that_took_long_is_confirmed_by_its_primary() {
    let cluster = two_regions();
    let options = TikvOptions { lock_ttl: Duration::from_millis(600), ..TikvOptions::default() };
    let db = cluster.open_with(options.clone()).await;
    let other = cluster.open_with(options).await;
    put(&db, &[("a", "1"), ("z", "1")]).await;
    for disturbed in [true, false] {
        let t = begin(&db, Isolation::ReadCommitted);
        lock(&t, "a").await.unwrap();
        set(&t, "a", "2");
        set(&t, "z", "2");
        let gate = Gate::new();
        let held = Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone()));
        cluster.add(held.key(&full("z")));
        cluster.add(Rule::next(Rpc::TxnHeartBeat, Fault::LoseRequest).times(10_000));
        let commit = tokio::spawn(async move { t.commit().await });
        gate.wait_for(1).await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        if disturbed {
            assert_eq!(get(&other, "a").await.as_deref(), Some("1"));
        }
        gate.open();
        let outcome = commit.await.unwrap().unwrap();
        cluster.clear_rules();
        let expected = if disturbed { "1" } else { "2" };
        assert_eq!(matches!(outcome, CommitOutcome::Retry(_)), disturbed, "{outcome:?}");
        for key in ["a", "z"] {
            assert_eq!(get(&other, key).await.as_deref(), Some(expected), "{key}, {outcome:?}");
        }
    }
}

/// Of two transactions one has its primary in a region that does not answer heartbeats.
#[tokio::test]
async fn a_region_that_does_not_answer_costs_no_other_transaction_its_locks() {
    let cluster = two_regions();
    let options = TikvOptions { lock_ttl: Duration::from_millis(900), ..TikvOptions::default() };
    let db = cluster.open_with(options).await;
    put(&db, &[("a", "1"), ("z", "1")]).await;
    let gate = Gate::new();
    let held = Rule::next(Rpc::TxnHeartBeat, Fault::HoldRequest(gate.clone()));
    cluster.add(held.key(&full("a")).times(10_000));
    let (stuck, t) = (serializable(&db), serializable(&db));
    lock(&stuck, "a").await.unwrap();
    gate.wait_for(1).await;
    lock(&t, "z").await.unwrap();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let other = serializable(&db);
    let request = keys(&["z"]).wait(LockWait::NoWait);
    let taken = other.lock(other.next_statement(), request).await;
    assert!(matches!(taken, Err(Error::LockNotAvailable { .. })), "{taken:?}");
    gate.open();
    set(&t, "z", "2");
    t.commit_or_error().await.unwrap();
}
