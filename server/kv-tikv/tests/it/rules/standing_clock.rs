//! PD's clock stands: its timestamps grow by one for each request, as they do for 50 ms in a real
//! PD. Stores choose commit timestamps that are above PD's meanwhile.

use super::*;

/// Time stands from here on.
fn stop_clock(cluster: &Cluster) {
    cluster.pd().jump_clock(-60_000);
}

/// Commits at the timestamp after PD's, and reads there: its store chooses later ones next.
async fn push_store_above_pd(db: &Database, key: &str) {
    let helper = serializable(db);
    lock(&helper, key).await.unwrap();
    set(&helper, key, "1");
    helper.commit_or_error().await.unwrap();
    let reader = serializable(db);
    assert!(reader.reads().expect_single_read());
    read(&reader, key).await;
}

/// Transactions that hold locks commit one after the other, each at a timestamp that its store
/// chooses.
/// Every reader after an answer sees what was committed, at this gateway and at another one.
#[tokio::test]
async fn what_was_answered_is_seen_although_the_clock_of_pd_stands() {
    for keys in [["a", "b"], ["a", "z"]] {
        let cluster = two_regions();
        let (db, other) = (cluster.open().await, cluster.open().await);
        stop_clock(&cluster);
        let mut writers = Vec::new();
        for number in 0..10 {
            let writer = serializable(&db);
            let keys = keys.map(|key| format!("{key}{number}"));
            lock(&writer, &keys[0]).await.unwrap();
            set(&writer, &keys[0], "1");
            set(&writer, &keys[number % 2], "1");
            writers.push((writer, keys));
        }
        for (number, (writer, keys)) in writers.into_iter().enumerate() {
            let at = writer.commit().await.unwrap();
            assert!(matches!(at, CommitOutcome::Committed(_)), "{at:?}");
            // A read without a timestamp, which leaves its own at the store.
            let reader = serializable(&db);
            assert!(reader.reads().expect_single_read());
            assert_eq!(read(&reader, &keys[0]).await.as_deref(), Some("1"));
            let db = if number % 2 == 0 { &db } else { &other };
            if number > 5 {
                let reader = serializable(db);
                assert_eq!(read(&reader, &keys[0]).await.as_deref(), Some("1"), "{at:?}");
            }
        }
    }
}

/// A commit in two phases writes a key that it has not locked. A store has chosen a timestamp
/// for the writer before, which is above the one that PD gives now. The later write is not lost.
#[tokio::test]
async fn a_blind_write_in_two_phases_comes_after_what_was_committed_before_it() {
    let cluster = two_regions();
    let db = cluster.open().await;
    put(&db, &[("a", "1"), ("n", "1"), ("z", "1")]).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    stop_clock(&cluster);
    let slow = serializable(&db);
    lock(&slow, "n").await.unwrap();
    // What was read has to be proved: two phases.
    read(&slow, "a").await;
    let quick = serializable(&db);
    assert_eq!(lock(&quick, "z").await.unwrap().as_deref(), Some("1"));
    push_store_above_pd(&db, "b").await;
    set(&quick, "z", "1 + 1");
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldAnswer(gate.clone())));
    let quick = tokio::spawn(async move { quick.commit().await });
    gate.wait_for(1).await;
    set(&slow, "z", "7");
    let one = slow.commit().await.unwrap();
    gate.open();
    let two = quick.await.unwrap().unwrap();
    assert!(matches!((&one, &two), (CommitOutcome::Committed(_), CommitOutcome::Committed(_))));
    assert_eq!(get(&db, "z").await.as_deref(), Some("7"), "{one:?} {two:?}");
}

/// The same at an equal timestamp: the record of the first commit must stay, for the keys that wait
/// for it.
#[tokio::test]
async fn a_blind_write_does_not_take_the_place_of_a_commit_record() {
    let cluster = two_regions();
    let options = TikvOptions { lock_ttl: Duration::from_secs(1), ..hasty() };
    let db = cluster.open_with(options).await;
    put(&db, &[("a", "1"), ("b", "0"), ("n", "1"), ("z", "1")]).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    stop_clock(&cluster);
    let slow = serializable(&db);
    lock(&slow, "n").await.unwrap();
    read(&slow, "a").await;
    let quick = serializable(&db);
    lock(&quick, "z").await.unwrap();
    set(&quick, "z", "quick");
    set(&quick, "b", "quick");
    let lost = Rule::next(Rpc::Commit, Fault::LoseRequest).key(&full("b")).times(u32::MAX);
    cluster.add(lost);
    quick.commit_or_error().await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    while cluster.lock_count() != 2 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    set(&slow, "z", "slow");
    let outcome = slow.commit().await;
    cluster.pd().jump_clock(60_000);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    cluster.clear_rules();
    let other = cluster.open().await;
    assert_eq!(get(&other, "b").await.as_deref(), Some("quick"), "{outcome:?}");
}

/// An asynchronous commit goes on in two phases. One of its locks may be committed above PD's
/// timestamp only.
#[tokio::test]
async fn a_commit_that_falls_back_to_two_phases_is_above_all_of_its_locks() {
    let cluster = two_regions();
    cluster.split(b"t");
    let db = cluster.open().await;
    stop_clock(&cluster);
    let (t, other) = (serializable(&db), serializable(&db));
    lock(&t, "a").await.unwrap();
    lock(&other, "b").await.unwrap();
    for key in ["a", "b", "n", "z"] {
        set(&t, key, "1");
    }
    let gate = Gate::new();
    let held = Fault::HoldRequest(gate.clone());
    cluster.add(Rule::next(Rpc::Prewrite, held).key(&full("z")));
    let commit = tokio::spawn(async move { t.commit().await });
    gate.wait_for(1).await;
    // It has waited for long enough to let readers push it.
    tokio::time::sleep(Duration::from_millis(200)).await;
    other.rollback().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    push_store_above_pd(&db, "c").await;
    gate.open();
    assert!(matches!(commit.await.unwrap().unwrap(), CommitOutcome::Committed(_)));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(cluster.lock_count(), 0);
    put(&db, &[("z", "2")]).await;
}
