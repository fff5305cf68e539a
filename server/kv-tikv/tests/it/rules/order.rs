//! The order of transactions is that of their answers, and a commit that is seen shows with it what
//! its transaction has seen.

use super::*;

/// A transaction holds a lock of an old timestamp. Somebody writes a key that it writes as well
/// without a lock, and is answered; then a third one reads, without a timestamp, that the
/// transaction is not there yet.
#[tokio::test]
async fn a_blind_write_beside_a_lock_does_not_come_before_what_was_answered() {
    for with_timestamp in [true, false] {
        for far in [false, true] {
            let cluster = two_regions();
            let db = cluster.open().await;
            put(&db, &[("a", "1"), ("b", "0"), ("c", "0")]).await;
            tokio::time::sleep(Duration::from_millis(60)).await;
            let (b, c) = if far { ("y", "z") } else { ("b", "c") };
            let slow = serializable(&db);
            lock(&slow, "a").await.unwrap();
            // Time goes on.
            tokio::time::sleep(Duration::from_millis(60)).await;
            put(&db, &[(b, "quick")]).await;
            let reader = serializable(&db);
            if !with_timestamp {
                assert!(reader.reads().expect_single_read());
            }
            assert_ne!(read(&reader, c).await.as_deref(), Some("slow"));
            assert!(matches!(reader.commit().await, Ok(CommitOutcome::Committed(_))));
            set(&slow, b, "slow");
            set(&slow, c, "slow");
            let outcome = slow.commit().await.unwrap();
            let is_committed = matches!(outcome, CommitOutcome::Committed(_));
            let last = (get(&db, b).await, get(&db, c).await);
            if is_committed {
                assert_eq!(last, (Some("slow".into()), Some("slow".into())));
            }
        }
    }
}

/// A transaction has locked a key at an old timestamp and writes another one that it has not read.
/// Meanwhile somebody has locked that other key, read it, and committed later than the timestamp
/// that its store would choose now. Who writes last wins.
#[tokio::test]
async fn a_blind_write_beside_a_lock_comes_after_what_was_committed_before_it() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("n", "1"), ("z", "1")]).await;
    // Another store leads the first region, so that reads there say nothing to the second one.
    cluster.move_leader(&full("a"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));
    let slow = serializable(&db);
    lock(&slow, "n").await.unwrap();

    let quick = serializable(&db);
    assert_eq!(lock(&quick, "z").await.unwrap().as_deref(), Some("1"));
    read(&quick, "a").await;
    set(&quick, "z", "1 + 1");
    tokio::time::sleep(Duration::from_millis(60)).await;
    let at = quick.commit().await.unwrap();

    set(&slow, "z", "7");
    let outcome = slow.commit().await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    assert_eq!(get(&db, "z").await.as_deref(), Some("7"), "{at:?} {outcome:?}");
}

/// A transaction that reads at an imported snapshot has begun later than that snapshot. It must not
/// take the snapshot's timestamp for its start: it would commit before what was answered before it
/// began, and a third transaction could see it without that.
#[tokio::test]
async fn a_transaction_with_an_imported_snapshot_comes_after_what_was_answered_before_it_began() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("b", "1"), ("c", "1")]).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    let exporter = serializable(&db);
    let shared = exporter.snapshots().export(exporter.next_statement()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let between = serializable(&db);
    between.snapshots().current().await.unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;

    put(&db, &[("b", "2")]).await;
    let late = serializable(&db);
    late.snapshots().import(&shared).unwrap();
    lock(&late, "a").await.unwrap();
    set(&late, "c", "2");
    let outcome = late.commit().await.unwrap();

    let seen = (read(&between, "b").await, read(&between, "c").await);
    assert!(matches!(between.commit().await, Ok(CommitOutcome::Committed(_))));
    assert_ne!(seen, (Some("1".into()), Some("2".into())), "{outcome:?}");
}

/// A commit in one round trip is on its way. Its timestamp will be chosen by the store, above every
/// timestamp that was read there. A read without a timestamp finds nothing of it and is answered;
/// a change was answered before. A later read of the commit must see that change as well.
#[tokio::test]
async fn a_read_without_a_timestamp_keeps_later_commits_above_what_was_answered() {
    for without_timestamp in [false, true] {
        for keys in [["z", "z"], ["y", "z"]] {
            let cluster = two_regions();
            let db = cluster.open().await;
            put(&db, &[("a", "1")]).await;
            tokio::time::sleep(Duration::from_millis(60)).await;
            let slow = serializable(&db);
            for key in keys {
                set(&slow, key, "slow");
            }
            let gate = Gate::new();
            cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone())));
            let commit = tokio::spawn(async move { slow.commit().await });
            gate.wait_for(1).await;
            let between = serializable(&db);
            between.snapshots().current().await.unwrap();
            tokio::time::sleep(Duration::from_millis(60)).await;

            put(&db, &[("a", "2")]).await;
            let reader = serializable(&db);
            if without_timestamp {
                assert!(reader.reads().expect_single_read());
            }
            assert_eq!(read(&reader, "z").await, None);
            assert!(matches!(reader.commit().await, Ok(CommitOutcome::Committed(_))));

            gate.open();
            let outcome = commit.await.unwrap().unwrap();
            assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
            let seen = (read(&between, "z").await, read(&between, "a").await);
            assert!(matches!(between.commit().await, Ok(CommitOutcome::Committed(_))));
            // change < reader < slow < between < change.
            let is_circle = seen == (Some("slow".into()), Some("1".into()));
            assert!(!is_circle, "{without_timestamp} {keys:?}: {outcome:?}");
        }
    }
}

/// At READ COMMITTED a later statement sees more than the first one's lock. What it writes must not
/// be seen by somebody who does not see what it has read.
#[tokio::test]
async fn a_commit_comes_after_what_its_last_statement_has_read() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("y", "1"), ("z", "1")]).await;
    // Another store leads the first region, so that reads there say nothing to the second one.
    cluster.move_leader(&full("a"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));
    let writer = begin(&db, Isolation::ReadCommitted);
    lock(&writer, "y").await.unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let between = serializable(&db);
    between.snapshots().current().await.unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;

    put(&db, &[("a", "2")]).await;
    assert_eq!(read(&writer, "a").await.as_deref(), Some("2"));
    set(&writer, "y", "a was 2");
    let outcome = writer.commit().await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");

    let seen = (read(&between, "y").await, read(&between, "a").await);
    assert_ne!(seen, (Some("a was 2".into()), Some("1".into())), "{outcome:?}");
}

/// A commit has proved its reads and is about to be made. Somebody changes what it has read, and is
/// answered. A read that begins afterwards, even without a timestamp, must not come before a commit
/// that comes before the change.
#[tokio::test]
async fn the_order_of_transactions_is_that_of_their_answers() {
    for written in [["z", "zz"], ["y", "z"]] {
        let cluster = two_regions();
        let db = cluster.open().await;
        put(&db, &[("a", "1")]).await;
        let slow = serializable(&db);
        assert_eq!(read(&slow, "a").await.as_deref(), Some("1"));
        for key in written {
            set(&slow, key, "a was 1");
        }
        let gate = Gate::new();
        let primary = full(written[0]);
        cluster.add(Rule::next(Rpc::Commit, Fault::HoldRequest(gate.clone())).key(&primary));
        let commit = tokio::spawn(async move { slow.commit().await });
        gate.wait_for(1).await;

        put(&db, &[("a", "2")]).await;
        let reader = serializable(&db);
        assert!(reader.reads().expect_single_read());
        let seen = read(&reader, "z").await;
        assert!(matches!(reader.commit().await, Ok(CommitOutcome::Committed(_))));

        gate.open();
        let outcome = commit.await.unwrap().unwrap();
        let is_committed = matches!(outcome, CommitOutcome::Committed(_));
        assert_eq!(is_committed, seen.is_some(), "{written:?}: {seen:?}, {outcome:?}");
    }
}

/// A commit of two keys in two regions: the lock on one stands, and the prewrite of the other one
/// waits for the gate.
async fn half_a_commit(cluster: &Cluster, db: &Database, stands: &str, held: &str) -> Gate {
    let writer = serializable(db);
    read(&writer, stands).await;
    set(&writer, stands, "2");
    set(&writer, held, "2");
    let gate = Gate::new();
    let hold = Fault::HoldRequest(gate.clone());
    cluster.add(Rule::next(Rpc::Prewrite, hold).key(&full(held)));
    tokio::spawn(async move { writer.commit().await });
    gate.wait_for(1).await;
    // Timestamps from now on are above that of the lock.
    tokio::time::sleep(Duration::from_millis(60)).await;
    gate
}

fn open_later(gate: Gate) {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        gate.open();
    });
}

/// A scan may go on longer than any wait for a lock may last. A lock that it meets then is waited
/// for all the same, also if it has waited for another one before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_that_has_lasted_long_still_waits_for_a_lock() {
    for has_waited in [false, true] {
        let cluster = two_regions();
        let (ours, theirs) = (cluster.open_with(hasty()).await, cluster.open().await);
        put(&ours, &[("a", "1"), ("y", "1"), ("z", "1")]).await;
        let late = half_a_commit(&cluster, &theirs, "z", "b").await;
        if has_waited {
            open_later(half_a_commit(&cluster, &theirs, "a", "x").await);
        }
        let reader = begin(&ours, Isolation::RepeatableRead);
        let request = ScanRequest::new(Span::new("a", "zz")).first_rows(1);
        let mut scan = reader.scanner(reader.next_statement(), request);
        let first = scan.next_batch().await.unwrap().unwrap();
        assert_eq!(first.len(), 1);
        tokio::time::sleep(hasty().retry_for).await;

        open_later(late);
        let began = Instant::now();
        let mut found = 1;
        while let Some(batch) = scan.next_batch().await.unwrap() {
            found += batch.len();
        }
        assert!(began.elapsed() > Duration::from_millis(200), "the lock was not in the way");
        assert!(found >= 3, "{found}");
    }
}
