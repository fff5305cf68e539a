//! The rules of transactions over TiKV that are easy to get wrong, each in a test that was seen to
//! fail without its mechanism.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod lost_locks;
mod order;
mod standing_clock;

use crate::common::{Cluster, full, hasty};
use crate::shared::contract::helpers::*;
use braid_kv::{
    CommitOutcome, Database, Error, Isolation, LockRequest, LockWait, RetryReason, ScanRequest,
    Span, Transaction, TxnOptions,
};
use braid_kv_tikv::{OpenError, TikvAddress, TikvOptions, TikvStore};
use braid_testkit::tikv::{Fault, Gate, Rpc, Rule};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

fn keys(keys: &[&str]) -> LockRequest {
    LockRequest::keys(keys.iter().map(|key| key.as_bytes().to_vec()).collect())
}

async fn lock(t: &Transaction, key: &str) -> Result<Option<String>, Error> {
    let locked = t.lock(t.next_statement(), keys(&[key])).await?;
    Ok(locked.values[0].as_ref().map(|v| String::from_utf8(v.to_vec()).unwrap()))
}

fn set(t: &Transaction, key: &str, value: &str) {
    t.put(t.next_statement(), key, value.as_bytes().to_vec()).unwrap();
}

fn insert(t: &Transaction, key: &str, value: &str) {
    t.put_new(t.next_statement(), key, value.as_bytes().to_vec()).unwrap();
}

/// A cluster with a region that ends at `m`.
fn two_regions() -> Cluster {
    let cluster = Cluster::stand_in();
    cluster.split(b"m");
    cluster
}

async fn skew(db: &Database, a: &str, b: &str) -> usize {
    let (t1, t2) = (serializable(db), serializable(db));
    tokio::join!(read(&t1, a), read(&t2, b));
    set(&t1, b, "1");
    set(&t2, a, "1");
    let (r1, r2) = tokio::join!(t1.commit(), t2.commit());
    [r1, r2].iter().filter(|r| matches!(r, Ok(CommitOutcome::Committed(_)))).count()
}

/// Of two that each read what the other writes at most one commits, however they meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_skew_never_passes_unless_validation_is_off() {
    for validate in [true, false] {
        let cluster = two_regions();
        let db = cluster.open_with(TikvOptions { validate, ..TikvOptions::default() }).await;
        let (mut both, mut one) = (0, 0);
        for round in 0..30 {
            match skew(&db, &format!("a{round}"), &format!("z{round}")).await {
                2 => both += 1,
                1 => one += 1,
                _ => {}
            }
        }
        assert_eq!(both == 0, validate, "both have committed {both} times, one {one} times");
        assert!(!validate || one > 0, "progress");
    }
}

/// The same with both in place before either takes its timestamp.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_skew_is_met_by_locks_that_are_already_there() {
    let cluster = two_regions();
    let db = cluster.open().await;
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldAnswer(gate.clone())).times(2));
    let open = tokio::spawn(async move {
        while gate.arrived() < 2 {
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        gate.open();
    });
    assert!(skew(&db, "a", "z").await <= 1);
    open.await.unwrap();
}

/// A key that must not exist is checked in every kind of transaction.
#[tokio::test]
async fn a_key_that_exists_is_a_duplicate_whatever_else_is_locked() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("x", "1")]).await;
    for holds_a_lock in [false, true] {
        for new_is_locked in [false, true] {
            let t = begin(&db, Isolation::ReadCommitted);
            if holds_a_lock {
                lock(&t, "a").await.unwrap();
            }
            if new_is_locked {
                lock(&t, "x").await.unwrap();
            }
            insert(&t, "w", "1");
            insert(&t, "x", "2");
            let outcome = t.commit().await;
            assert!(
                matches!(&outcome, Err(Error::Duplicate { key, .. }) if key == b"x"),
                "{holds_a_lock} {new_is_locked}: {outcome:?}"
            );
            assert_eq!(get(&db, "x").await.as_deref(), Some("1"));
            assert_eq!(get(&db, "w").await, None);
        }
    }
}

/// Of two keys of one statement that exist, the first row's is named, whatever their order.
#[tokio::test]
async fn of_two_keys_that_exist_the_one_that_was_put_first_is_named() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("b", "1"), ("c", "1"), ("x", "1")]).await;
    for rows in [["c", "b", "x"], ["x", "c", "b"], ["b", "x", "c"]] {
        let t = serializable(&db);
        let s = t.next_statement();
        for key in rows {
            t.put_new(s, key, "2").unwrap();
        }
        let outcome = t.commit().await;
        assert!(
            matches!(&outcome, Err(Error::Duplicate { key, .. }) if key == rows[0].as_bytes()),
            "{rows:?}: {outcome:?}"
        );
    }
}

/// A key that was put after the transaction began, and before its prewrite.
#[tokio::test]
async fn a_key_that_appears_after_the_start_is_a_duplicate_and_one_that_goes_is_none() {
    let cluster = two_regions();
    let db = cluster.open().await;
    for exists_in_the_end in [true, false] {
        let t = begin(&db, Isolation::ReadCommitted);
        lock(&t, "a").await.unwrap();
        put(&db, &[("x", "1")]).await;
        if !exists_in_the_end {
            let other = serializable(&db);
            other.delete(other.next_statement(), "x").unwrap();
            other.commit_or_error().await.unwrap();
        }
        insert(&t, "x", "2");
        let outcome = t.commit().await;
        match exists_in_the_end {
            true => assert!(matches!(outcome, Err(Error::Duplicate { .. })), "{outcome:?}"),
            false => assert!(matches!(outcome, Ok(CommitOutcome::Committed(_))), "{outcome:?}"),
        }
    }
}

/// A lock in memory may be lost with its leader: the commit notices if somebody used the gap.
#[tokio::test]
async fn a_lost_lock_is_noticed_even_if_its_key_is_not_written() {
    for used in [true, false] {
        let cluster = two_regions();
        let db = cluster.open().await;
        put(&db, &[("a", "1")]).await;
        // A commit in one phase takes a timestamp that PD may give out next in the same
        // millisecond, and a lost lock below a version of its own timestamp is not taken for
        // granted.
        tokio::time::sleep(Duration::from_millis(60)).await;
        let t = begin(&db, Isolation::ReadCommitted);
        assert_eq!(lock(&t, "a").await.unwrap().as_deref(), Some("1"));
        cluster.crash_leader(&full("a"));
        if used {
            put(&db, &[("a", "2")]).await;
        }
        set(&t, "z", "seen 1");
        let outcome = t.commit().await.unwrap();
        assert_eq!(matches!(outcome, CommitOutcome::Retry(_)), used, "{outcome:?}");
    }
}

/// Reads of locked keys need no proof, and still nothing changes between.
#[tokio::test]
async fn what_is_locked_and_read_commits_in_one_round_trip() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let t = serializable(&db);
    lock(&t, "a").await.unwrap();
    lock(&t, "b").await.unwrap();
    set(&t, "a", "2");
    let before = (cluster.count(Rpc::Prewrite), cluster.count(Rpc::Commit));
    t.commit_or_error().await.unwrap();
    let after = (cluster.count(Rpc::Prewrite), cluster.count(Rpc::Commit));
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 0), "one phase");
    let gets = cluster.count(Rpc::Get) + cluster.count(Rpc::BatchGet);
    assert_eq!(get(&db, "a").await.as_deref(), Some("2"));
    assert_eq!(cluster.count(Rpc::Get) + cluster.count(Rpc::BatchGet), gets + 1);
}

/// A read at an older snapshot than the lock is no lock's business.
#[tokio::test]
async fn a_lock_does_not_cover_reads_from_before_it() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1")]).await;
    let t = serializable(&db);
    assert_eq!(read(&t, "a").await.as_deref(), Some("1"));
    put(&db, &[("a", "2")]).await;
    let locked = lock(&t, "a").await;
    assert!(matches!(locked, Err(Error::Retry(c)) if c.reason == RetryReason::ReadChanged));
    set(&t, "z", "1");
    assert!(matches!(t.commit().await.unwrap(), CommitOutcome::Retry(_)));
}

/// A commit whose answers are lost is found out about; only if nobody answers it is unknown.
#[tokio::test]
async fn lost_answers_are_asked_for_again_and_else_the_outcome_is_unknown() {
    let cluster = two_regions();
    let db = cluster.open_with(hasty()).await;
    put(&db, &[("a", "1")]).await;
    // One phase, async commit, two phases.
    for (i, (phases, rpc)) in
        [(1, Rpc::Prewrite), (2, Rpc::Prewrite), (3, Rpc::Prewrite), (3, Rpc::Commit)]
            .into_iter()
            .enumerate()
    {
        for fault in [Fault::LoseAnswer, Fault::LoseRequest] {
            let t = serializable(&db);
            let value = format!("{i} {fault:?}");
            if phases == 3 {
                read(&t, "other").await;
            }
            set(&t, "a", &value);
            if phases > 1 {
                set(&t, "z", &value);
            }
            cluster.add(Rule::next(rpc, fault));
            let outcome = t.commit().await.unwrap();
            assert!(matches!(outcome, CommitOutcome::Committed(_)), "{value}: {outcome:?}");
            assert_eq!(get(&db, "a").await, Some(value));
        }
    }
    let t = serializable(&db);
    read(&t, "other").await;
    set(&t, "a", "who knows");
    for rpc in [Rpc::Commit, Rpc::CheckTxnStatus, Rpc::BatchRollback] {
        cluster.add(Rule::next(rpc, Fault::LoseAnswer).times(10_000));
    }
    assert_eq!(t.commit().await.unwrap(), CommitOutcome::Unknown);
    cluster.clear_rules();
    assert_eq!(get(&db, "a").await.as_deref(), Some("who knows"), "it was done");
}

/// What is reported as failed does not come about later.
#[tokio::test]
async fn a_prewrite_that_nobody_answers_is_taken_back() {
    let cluster = two_regions();
    let db = cluster.open_with(hasty()).await;
    put(&db, &[("a", "1")]).await;
    let t = serializable(&db);
    set(&t, "a", "2");
    cluster.add(Rule::next(Rpc::Prewrite, Fault::LoseRequest).times(10_000));
    let outcome = t.commit().await;
    assert!(matches!(outcome, Err(Error::Unreachable(_))), "{outcome:?}");
    cluster.clear_rules();
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));
    put(&db, &[("a", "3")]).await;
}

/// And what was carried out is not reported as failed.
#[tokio::test]
async fn a_commit_in_one_phase_whose_answers_are_lost_is_found_out_about() {
    let cluster = two_regions();
    let db = cluster.open_with(hasty()).await;
    for more in [None, Some("z")] {
        let t = serializable(&db);
        set(&t, "a", "2");
        if let Some(key) = more {
            set(&t, key, "2");
        }
        cluster.add(Rule::next(Rpc::Prewrite, Fault::LoseAnswer).times(10_000));
        let outcome = t.commit().await;
        cluster.clear_rules();
        assert!(matches!(outcome, Ok(CommitOutcome::Committed(_))), "{outcome:?}");
        assert_eq!(get(&db, "a").await.as_deref(), Some("2"));
        put(&db, &[("a", "1"), ("z", "1")]).await;
    }
}

/// The lock of an asynchronous commit cannot be pushed: its transaction may be committed below the
/// timestamp of who validates, so that one waits for its fate.
#[tokio::test]
async fn validation_waits_for_asynchronous_commits() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("z", "1")]).await;
    let reader = serializable(&db);
    assert_eq!(read(&reader, "a").await.as_deref(), Some("1"));
    set(&reader, "b", "a was 1");
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldAnswer(gate.clone())).key(&full("z")));
    let writer = tokio::spawn({
        let db = db.clone();
        async move { put(&db, &[("a", "2"), ("z", "2")]).await }
    });
    while gate.arrived() == 0 || cluster.lock_count() < 2 {
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    let commit = tokio::spawn(async move { reader.commit().await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!commit.is_finished());
    gate.open();
    writer.await.unwrap();
    let outcome = commit.await.unwrap().unwrap();
    assert!(matches!(outcome, CommitOutcome::Retry(_)), "{outcome:?}");
}

/// A gateway dies between the prewrites of its regions: its locks stay no longer than their time,
/// and what it has left is taken back, even if the last prewrite comes late.
#[test]
fn a_dead_gateway_stops_nobody_for_longer_than_its_locks_live() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let options = TikvOptions { lock_ttl: Duration::from_millis(700), ..TikvOptions::default() };
    for reads in [false, true] {
        let cluster = two_regions();
        let (dying, living) = (runtime(), runtime());
        let dead = dying.block_on(cluster.open_with(options.clone()));
        let db = living.block_on(cluster.open_with(options.clone()));
        living.block_on(put(&db, &[("a", "1"), ("z", "1")]));
        while cluster.lock_count() > 0 {
            std::thread::sleep(Duration::from_millis(60));
        }
        let gate = Gate::new();
        let held = Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone()));
        cluster.add(held.key(&full("z")));
        dying.spawn(async move {
            let t = serializable(&dead);
            if reads {
                read(&t, "other").await;
            }
            set(&t, "a", "2");
            set(&t, "z", "2");
            t.commit().await
        });
        while gate.arrived() == 0 || cluster.lock_count() == 0 {
            std::thread::sleep(Duration::from_millis(60));
        }
        dying.shutdown_background();
        let since = Instant::now();
        assert_eq!(living.block_on(get(&db, "a")).as_deref(), Some("1"));
        assert!(since.elapsed() < Duration::from_secs(10), "far longer than a lock lives");
        gate.open();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(living.block_on(get(&db, "z")).as_deref(), Some("1"));
        living.block_on(put(&db, &[("a", "3"), ("z", "3")]));
    }
}

/// What others put into a range while it is being deleted is deleted too, or the commit is retried.
#[tokio::test]
async fn a_range_delete_leaves_nothing_behind() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("r1", "1"), ("r2", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    t.writes().delete_span(t.next_statement(), Span::new("r", "s")).unwrap();
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone())));
    let commit = tokio::spawn({
        let t = t.clone();
        async move { t.commit().await }
    });
    while gate.arrived() == 0 {
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    put(&db, &[("r3", "1")]).await;
    gate.open();
    let outcome = commit.await.unwrap().unwrap();
    let left = all(&serializable(&db), "r", "s").await.len();
    match outcome {
        CommitOutcome::Committed(_) => assert_eq!(left, 0),
        outcome => assert_eq!(left, 3, "{outcome:?}"),
    }
}

/// A span that was locked is what it was at the commit, at every isolation level.
#[tokio::test]
async fn what_comes_into_a_locked_span_is_noticed() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("r1", "1")]).await;
    for disturbed in [true, false] {
        let t = begin(&db, Isolation::ReadCommitted);
        let s = t.next_statement();
        t.lock(s, LockRequest::spans(vec![Span::new("r", "s")])).await.unwrap();
        if disturbed {
            put(&db, &[("r2", "1")]).await;
        }
        t.writes().delete_span(s, Span::new("r", "s")).unwrap();
        let outcome = t.commit().await.unwrap();
        assert_eq!(matches!(outcome, CommitOutcome::Retry(_)), disturbed, "{outcome:?}");
    }
}

#[tokio::test]
async fn nowait_skip_locked_timeouts_and_waits_beyond_a_second() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("b", "1"), ("z", "1")]).await;
    let holder = serializable(&db);
    lock(&holder, "b").await.unwrap();
    let t = db.begin(TxnOptions {
        lock_timeout: Some(Duration::from_millis(50)),
        ..TxnOptions::default()
    });
    let s = t.next_statement();
    let all = ["a", "b", "z"];
    let nowait = t.lock(s, keys(&all).wait(LockWait::NoWait)).await;
    assert!(matches!(&nowait, Err(Error::LockNotAvailable { key }) if key == b"b"), "{nowait:?}");
    let wait = t.lock(s, keys(&all)).await;
    assert!(matches!(&wait, Err(Error::LockTimeout { key }) if key == b"b"), "{wait:?}");
    let skip = t.lock(s, keys(&["b", "z", "a"]).wait(LockWait::SkipLocked)).await.unwrap();
    assert_eq!(skip.granted, [false, true, true]);
    t.rollback().await;
    let waiter = serializable(&db);
    let waiting = tokio::spawn(async move { lock(&waiter, "b").await });
    tokio::time::sleep(Duration::from_millis(1600)).await;
    assert!(!waiting.is_finished(), "queued again after a second");
    set(&holder, "b", "2");
    holder.commit_or_error().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn deadlocks_are_found_between_locks_and_commits_too() {
    for second_is_a_commit in [false, true] {
        let cluster = two_regions();
        let db = cluster.open().await;
        let (t1, t2) = (begin(&db, Isolation::ReadCommitted), begin(&db, Isolation::ReadCommitted));
        lock(&t1, "a").await.unwrap();
        lock(&t2, "z").await.unwrap();
        let first = tokio::spawn({
            let t1 = t1.clone();
            async move { lock(&t1, "z").await.map(drop) }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let second = match second_is_a_commit {
            false => lock(&t2, "a").await.map(drop),
            true => {
                set(&t2, "a", "2");
                t2.commit().await.map(drop)
            }
        };
        let Err(Error::Deadlock { cycle }) = second else { panic!("{second:?}") };
        assert_eq!(cycle[0].waiter, t2.id());
        t2.rollback().await;
        first.await.unwrap().unwrap();
    }
}

/// What comes with the primary in one request makes everybody wait who asks about the primary.
#[tokio::test]
async fn a_large_commit_goes_in_parts() {
    let cluster = Cluster::stand_in();
    let db = cluster.open().await;
    let t = serializable(&db);
    (0..5_000).for_each(|i| set(&t, &format!("{i:05}"), "1"));
    t.commit_or_error().await.unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while cluster.lock_count() > 0 {
        assert!(Instant::now() < until, "locks stay");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(cluster.count(Rpc::Commit) >= 5, "{} requests", cluster.count(Rpc::Commit));
}

/// Each has read all rows and writes one of them: they push each other in their proofs, which take
/// longer than the commit after them. The oldest one gets through, and the others know after two
/// tries each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_push_each_other_come_to_an_end() {
    let cluster = Cluster::stand_in();
    let db = cluster.open().await;
    let rows: Vec<String> = (0..8_000).map(|row| format!("{row:05}")).collect();
    put(&db, &rows.iter().map(|row| (row.as_str(), "1")).collect::<Vec<_>>()).await;
    cluster.set_latency(Duration::from_millis(4), Duration::ZERO);
    let mut transactions = Vec::new();
    for row in ["00001", "00002", "00003", "00004", "00005", "00006"] {
        let t = serializable(&db);
        assert_eq!(all(&t, "0", "9").await.len(), rows.len());
        // Of several statements: it is not run again behind the client's back.
        lock(&t, row).await.unwrap();
        set(&t, row, "2");
        transactions.push(t);
    }
    let before = cluster.count(Rpc::Commit);
    let commits: Vec<_> =
        transactions.into_iter().map(|t| tokio::spawn(async move { t.commit().await })).collect();
    let mut committed = 0;
    for commit in commits {
        match commit.await.unwrap() {
            Ok(CommitOutcome::Committed(_)) => committed += 1,
            Ok(CommitOutcome::Retry(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    let tries = cluster.count(Rpc::Commit) - before;
    assert!(committed == 1 && tries <= 24, "{committed} committed, {tries} tries");
}

/// Its task has not begun yet when the transaction ends.
#[tokio::test]
async fn a_lock_request_that_was_given_up_leaves_nothing() {
    let cluster = Cluster::start();
    let db = cluster.open().await;
    let t = serializable(&db);
    assert_eq!(read(&t, "b").await, None);
    let mut request = Box::pin(lock(&t, "a"));
    assert!(futures_util::poll!(&mut request).is_pending());
    drop(request);
    t.rollback().await;
    let other = serializable(&db);
    let locked = tokio::time::timeout(Duration::from_secs(4), lock(&other, "a")).await;
    assert_eq!(locked.unwrap().unwrap(), None);
    other.rollback().await;
    assert_eq!(db.store().locks(), []);
}

/// A commit that has to wait for somebody's lock keeps no reader waiting and no other commit, also
/// of another gateway, whether it holds locks itself or not, and wherever its primary is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_waits_for_a_lock_keeps_no_reader_waiting() {
    let soon = Duration::from_secs(10);
    for holds_a_lock in [false, true] {
        for (free, taken) in [("a", "z"), ("z", "a")] {
            let cluster = two_regions();
            let long = TikvOptions { lock_ttl: 3 * soon, ..TikvOptions::default() };
            let (db, other) =
                (cluster.open_with(long.clone()).await, cluster.open_with(long).await);
            put(&db, &[("a", "1"), ("z", "1")]).await;
            let holder = serializable(&db);
            lock(&holder, taken).await.unwrap();
            let writer = begin(&db, Isolation::ReadCommitted);
            if holds_a_lock {
                lock(&writer, "y").await.unwrap();
            }
            set(&writer, free, "2");
            set(&writer, taken, "2");
            let commit = tokio::spawn(async move { writer.commit().await });
            tokio::time::sleep(Duration::from_millis(300)).await;
            let meanwhile = async {
                for db in [&db, &other] {
                    assert_eq!(get(db, free).await.as_deref(), Some("1"));
                    let reader = serializable(db);
                    assert_eq!(read(&reader, free).await.as_deref(), Some("1"));
                    set(&reader, "b", "1");
                    reader.commit_or_error().await.unwrap();
                }
                set(&holder, taken, "3");
                holder.commit_or_error().await.unwrap();
            };
            let meanwhile = tokio::time::timeout(soon, meanwhile).await;
            meanwhile.unwrap_or_else(|_| panic!("locks: {holds_a_lock}, free: {free}"));
            let outcome = commit.await.unwrap();
            assert!(matches!(outcome, Ok(CommitOutcome::Committed(_))), "{outcome:?}");
            for key in ["a", "z"] {
                assert_eq!(get(&other, key).await.as_deref(), Some("2"));
            }
        }
    }
}

/// A read without a snapshot is one of the transaction's like any other: what comes after it has to
/// fit, and what is written has to rest on it.
#[tokio::test]
async fn a_first_read_without_a_snapshot_is_proved_by_what_follows() {
    for changes in [false, true] {
        let cluster = two_regions();
        let db = cluster.open().await;
        put(&db, &[("a", "1"), ("z", "1")]).await;
        let begun = |isolation| {
            let t = begin(&db, isolation);
            assert!(t.reads().expect_single_read());
            t
        };
        let all = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
        let readers = all.map(begun);
        let (writer, locker) = (begun(Isolation::Serializable), begun(Isolation::Serializable));
        for t in readers.iter().chain([&writer, &locker]) {
            assert_eq!(read(t, "a").await.as_deref(), Some("1"));
        }
        if changes {
            put(&db, &[("a", "2"), ("z", "2")]).await;
        }
        for t in readers {
            let seq = t.next_statement();
            let value = t.get(seq, b"z").await;
            let is_refused = matches!(&value, Err(Error::Retry(_)));
            let is_bound = t.isolation() != Isolation::ReadCommitted;
            assert_eq!(is_refused, changes && is_bound, "{:?}: {value:?}", t.isolation());
            if is_refused {
                // Only the whole transaction can begin again.
                assert!(t.restarts().statement(seq).await.is_err(), "{:?}", t.isolation());
            }
        }
        set(&writer, "y", "1");
        let outcome = writer.commit().await;
        let is_refused = matches!(&outcome, Ok(CommitOutcome::Retry(_)) | Err(Error::Retry(_)));
        assert_eq!(is_refused, changes, "{outcome:?}");
        assert_eq!(lock(&locker, "z").await.is_err(), changes);
    }
}

/// It shows what was acknowledged before it, whatever kind of commit that was, and is not kept
/// waiting by what is only locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_without_a_snapshot_shows_what_was_acknowledged() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "0"), ("z", "0")]).await;
    for round in 1..60 {
        let value = round.to_string();
        let t = serializable(&db);
        // In one phase, asynchronous, in two phases because of a read.
        set(&t, "z", &value);
        if round % 3 > 0 {
            set(&t, "a", &value);
        }
        if round % 3 > 1 {
            read(&t, "b").await;
        }
        let holder = serializable(&db);
        t.commit_or_error().await.unwrap();
        lock(&holder, "z").await.unwrap();
        let reader = serializable(&db);
        assert!(reader.reads().expect_single_read());
        assert_eq!(read(&reader, "z").await, Some(value));
        assert_eq!(reader.round_trips().count(), 1);
        holder.rollback().await;
    }
}

/// Of thousands of locks that a commit has left behind one is asked about, and all go at once.
#[tokio::test]
async fn locks_of_one_transaction_are_cleared_together() {
    let cluster = two_regions();
    let (db, other) = (cluster.open().await, cluster.open().await);
    let set_all = |t: &Transaction, value: &str| {
        set(t, "a", value);
        (0..2_000).for_each(|i| set(t, &format!("z{i:04}"), value));
    };
    let gate = Gate::new();
    let held = Fault::HoldRequest(gate.clone());
    cluster.add(Rule::next(Rpc::Commit, held).key(&full("z0000")));
    let first = serializable(&db);
    set_all(&first, "1");
    first.commit_or_error().await.unwrap();
    gate.wait_for(1).await;
    let before = [Rpc::CheckTxnStatus, Rpc::ResolveLock].map(|rpc| cluster.count(rpc));
    let second = serializable(&other);
    set_all(&second, "2");
    second.commit_or_error().await.unwrap();
    let after = [Rpc::CheckTxnStatus, Rpc::ResolveLock].map(|rpc| cluster.count(rpc));
    assert!(after[0] - before[0] <= 4 && after[1] - before[1] <= 4, "{before:?} {after:?}");
    gate.open();
    assert_eq!(get(&db, "z1999").await.as_deref(), Some("2"));
}

/// A store that is too slow for a request gets smaller ones, whether or not it has carried out the
/// large one; many keys go in several requests at once.
#[tokio::test]
async fn a_request_that_is_late_is_cut() {
    let faults = || {
        let later = Fault::Delay(Duration::from_millis(700));
        [None, Some(later), Some(Fault::HoldAnswer(Gate::new())), Some(Fault::LoseAnswer)]
    };
    for (count, requests) in [(3_000, 1), (5_000, 5)] {
        for fault in faults() {
            let cluster = two_regions();
            let db = cluster.open_with(hasty()).await;
            let t = serializable(&db);
            (0..count).for_each(|i| insert(&t, &format!("z{i:04}"), "1"));
            let is_late = matches!(fault, Some(Fault::Delay(_) | Fault::HoldAnswer(_)));
            if let Some(fault) = fault {
                cluster.add(Rule::next(Rpc::Prewrite, fault).key(&full("z0000")));
            }
            let before = cluster.count(Rpc::Prewrite);
            t.commit_or_error().await.unwrap();
            let sent = cluster.count(Rpc::Prewrite) - before;
            assert!(!is_late || sent == requests + 2, "{sent} requests of {count} keys");
            let reader = serializable(&db);
            let scan = ScanRequest::new(Span::new(b"z".to_vec(), b"zz".to_vec()));
            let mut rows = 0;
            let mut scanner = reader.scanner(reader.next_statement(), scan);
            while let Some(batch) = scanner.next_batch().await.unwrap() {
                rows += batch.len();
            }
            assert_eq!(rows, count);
        }
    }
}

/// The locks of two statements of one transaction are one wait, though the first names the primary;
/// if that one is not to be had at once, the other does not stay without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_beside_the_first_one_do_not_wait_for_it() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("z", "1")]).await;
    let begun = |key: &'static str, t: &Arc<Transaction>| {
        let t = t.clone();
        tokio::spawn(async move { lock(&t, key).await })
    };
    let t = serializable(&db);
    read(&t, "other").await;
    let gate = Gate::new();
    let held = Rule::next(Rpc::PessimisticLock, Fault::HoldRequest(gate.clone()));
    cluster.add(held.key(&full("a")));
    let first = begun("a", &t);
    gate.wait_for(1).await;
    let before = cluster.lock_count();
    let second = begun("z", &t);
    while cluster.lock_count() == before {
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert!(!first.is_finished() && !second.is_finished());
    gate.open();
    assert_eq!(first.await.unwrap().unwrap().as_deref(), Some("1"));
    assert_eq!(second.await.unwrap().unwrap().as_deref(), Some("1"));
    for key in ["a", "z"] {
        set(&t, key, "2");
    }
    t.commit_or_error().await.unwrap();

    // Somebody has the first one for long, or for longer than is waited.
    for waits in [true, false] {
        let holder = serializable(&db);
        lock(&holder, "a").await.unwrap();
        let t = db.begin(TxnOptions {
            lock_timeout: (!waits).then_some(Duration::from_millis(1500)),
            isolation: Isolation::ReadCommitted,
            ..TxnOptions::default()
        });
        let first = begun("a", &t);
        while cluster.waiter_count() == 0 {
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        let second = begun("z", &t);
        let other = serializable(&db);
        let free = tokio::time::timeout(Duration::from_secs(10), lock(&other, "z")).await;
        assert_eq!(free.expect("is given back").unwrap().as_deref(), Some("2"), "{waits}");
        set(&other, "z", "3");
        other.commit_or_error().await.unwrap();
        if waits {
            holder.rollback().await;
            first.await.unwrap().unwrap();
        } else {
            assert!(matches!(first.await.unwrap(), Err(Error::LockTimeout { .. })));
            holder.rollback().await;
        }
        assert_eq!(second.await.unwrap().unwrap().as_deref(), Some("3"), "{waits}");
        set(&t, "z", "2");
        t.commit_or_error().await.unwrap();
        assert_eq!(get(&db, "z").await.as_deref(), Some("2"));
    }
}

/// Two that lock the same keys, each of them at once, do not wait for each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_beside_each_other_are_no_deadlock() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "0"), ("z", "0")]).await;
    cluster.set_latency(Duration::from_millis(60), Duration::ZERO);
    let mut both = Vec::new();
    for _ in 0..2 {
        let db = db.clone();
        both.push(tokio::spawn(async move {
            for _ in 0..15 {
                let t = begin(&db, Isolation::ReadCommitted);
                t.snapshots().current().await.unwrap();
                let later = async {
                    // On a busy machine the other request is not sent at once. Were this one sent
                    // first, the two would lock in different orders, which is a deadlock.
                    tokio::time::sleep(Duration::from_millis(40)).await;
                    lock(&t, "z").await
                };
                let (a, z) = tokio::join!(lock(&t, "a"), later);
                for (key, value) in [("a", a), ("z", z)] {
                    let value: u32 = value.unwrap().unwrap().parse().unwrap();
                    set(&t, key, &(value + 1).to_string());
                }
                t.commit_or_error().await.unwrap();
            }
        }));
    }
    for one in both {
        one.await.unwrap();
    }
    for key in ["a", "z"] {
        assert_eq!(get(&db, key).await.as_deref(), Some("30"));
    }
}

/// Who was told that a transaction is over finds its locks free, also if he does not wait.
#[tokio::test]
async fn no_lock_is_met_once_the_end_is_told() {
    let slow = Fault::Delay(Duration::from_millis(100));
    for (rpc, commits) in
        [(Rpc::PessimisticRollback, false), (Rpc::PessimisticRollback, true), (Rpc::Commit, true)]
    {
        let cluster = two_regions();
        let db = cluster.open().await;
        let holder = serializable(&db);
        for key in ["a", "z"] {
            lock(&holder, key).await.unwrap();
            if rpc == Rpc::Commit {
                set(&holder, key, "1");
            }
        }
        cluster.add(Rule::next(rpc, slow.clone()).times(2));
        match commits {
            true => drop(holder.commit_or_error().await.unwrap()),
            false => holder.rollback().await,
        }
        let other = serializable(&db);
        let nowait = other.lock(other.next_statement(), keys(&["a", "z"]).wait(LockWait::NoWait));
        let nowait = nowait.await;
        assert!(nowait.is_ok(), "{rpc:?} {commits}: {nowait:?}");
    }
}

#[tokio::test]
async fn a_waiter_that_goes_away_leaves_no_lock() {
    let cluster = two_regions();
    let db = cluster.open().await;
    let holder = serializable(&db);
    lock(&holder, "a").await.unwrap();
    let waiter = serializable(&db);
    let waiting = tokio::spawn(async move { lock(&waiter, "a").await.map(drop) });
    tokio::time::sleep(Duration::from_millis(100)).await;
    waiting.abort();
    holder.rollback().await;
    let since = Instant::now();
    while cluster.lock_count() > 0 || !db.store().locks().is_empty() {
        assert!(since.elapsed() < Duration::from_secs(4), "before the lock's time is over");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A statement that is cancelled waits no longer, even if its transaction goes on.
#[tokio::test]
async fn a_cancelled_statement_leaves_the_queue() {
    let cluster = two_regions();
    let db = cluster.open().await;
    let (holder, waiter, other) = (serializable(&db), serializable(&db), serializable(&db));
    lock(&holder, "a").await.unwrap();
    let waiting = tokio::spawn({
        let waiter = waiter.clone();
        async move { lock(&waiter, "a").await.map(drop) }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    waiting.abort();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    holder.rollback().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let nowait = other.lock(other.next_statement(), keys(&["a"]).wait(LockWait::NoWait)).await;
    assert!(nowait.is_ok(), "{nowait:?}");
}

/// Signs of life keep the locks of a transaction that lasts.
#[tokio::test]
async fn a_long_transaction_keeps_its_locks() {
    let cluster = two_regions();
    let options = TikvOptions { lock_ttl: Duration::from_millis(600), ..TikvOptions::default() };
    let db = cluster.open_with(options).await;
    put(&db, &[("a", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    lock(&t, "a").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1800)).await;
    let other = begin(&db, Isolation::ReadCommitted);
    let nowait = other.lock(other.next_statement(), keys(&["a"]).wait(LockWait::NoWait)).await;
    assert!(matches!(nowait, Err(Error::LockNotAvailable { .. })), "{nowait:?}");
    set(&t, "a", "2");
    t.commit_or_error().await.unwrap();
}

#[tokio::test]
async fn databases_share_a_cluster_and_foreign_keys_are_refused() {
    let cluster = Cluster::stand_in();
    let open = async |prefix: &str| {
        let address = TikvAddress { prefix: prefix.to_owned(), ..cluster.address.clone() };
        let store = TikvStore::open(&address, TikvOptions::default()).await;
        store.map(|store| Database::new(Arc::new(store), Default::default()))
    };
    let (one, two) = (open("one/").await.unwrap(), open("two/").await.unwrap());
    put(&one, &[("a", "1")]).await;
    assert_eq!(get(&two, "a").await, None);
    assert_eq!(get(&open("one/").await.unwrap(), "a").await.as_deref(), Some("1"));
    // Under "one" lie keys that begin with "d" only if they are written so.
    put(&open("x").await.unwrap(), &[("d/key", "1")]).await;
    let foreign = open("xd").await;
    assert!(matches!(foreign, Err(OpenError::Foreign { .. })));
    put(&open("y").await.unwrap(), &[("mformat", "other 7")]).await;
    let format = open("yd").await;
    assert!(matches!(format, Err(OpenError::Format { found, .. }) if found == "other 7"));
}

#[tokio::test]
async fn a_cluster_that_is_away_is_an_error_and_comes_back() {
    let cluster = two_regions();
    let db = cluster.open_with(hasty()).await;
    put(&db, &[("a", "1")]).await;
    cluster.pd().set_down(true);
    let t = serializable(&db);
    let failed = t.get(t.next_statement(), b"a").await;
    assert!(matches!(failed, Err(Error::Unreachable(_))), "{failed:?}");
    assert!(db.store().trouble().is_some());
    cluster.pd().set_down(false);
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));
    assert_eq!(db.store().trouble(), None);
}
