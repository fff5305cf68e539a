//! Old versions over TiKV: the safe point moves, never past anybody who still reads, and what was
//! dropped is destroyed.

#![allow(clippy::unwrap_used)]

use crate::common::{Cluster, full, hasty};
use crate::shared::contract::helpers::*;
#[allow(dead_code)]
use braid_kv::{Database, DatabaseOptions, Error, LockRequest, Span, StoreValue, Transaction};
use braid_kv_tikv::{TikvAddress, TikvOptions, TikvStore};
use braid_testkit::tikv::{Fault, Gate, Rpc, Rule, TikvStandIn};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(20);
/// As long as versions live here, and a little more.
const LIFE: Duration = Duration::from_millis(1200);

/// A gateway of a database whose versions live for a second.
async fn gateway(cluster: &TikvStandIn, prefix: &str, options: TikvOptions) -> Database {
    let url = format!("{}?prefix={prefix}&gc_life_time=1s", cluster.store_url());
    let address = TikvAddress::parse(&url).unwrap();
    let store = TikvStore::open(&address, options).await.unwrap();
    Database::new(Arc::new(store), DatabaseOptions::default())
}

async fn open(cluster: &TikvStandIn) -> Database {
    gateway(cluster, TikvAddress::PREFIX, TikvOptions::default()).await
}

async fn collect(db: &Database) -> u64 {
    db.store().garbage().unwrap().collect().await.unwrap().0
}

/// A number of the store's own.
fn metric(db: &Database, name: &str) -> u64 {
    let all = db.store().own_metrics();
    match all.iter().find(|metric| metric.name == name).map(|metric| &metric.value) {
        Some(StoreValue::Counter(value) | StoreValue::Gauge(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

/// Collects until the safe point has come to `ts`.
async fn collect_until(db: &Database, ts: u64) {
    let deadline = Instant::now() + PATIENCE;
    while collect(db).await < ts {
        assert!(Instant::now() < deadline, "the safe point does not move");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_versions_go_and_the_newest_stay() {
    let cluster = Cluster::stand_in();
    let db = open(&cluster).await;
    for round in 0..10 {
        put(&db, &[("a", &round.to_string()), ("b", "b")]).await;
    }
    let (keys, versions) = cluster.size();
    let written = cluster.pd().timestamp();
    collect_until(&db, written).await;
    assert!(cluster.pd().safe_point() >= written);
    // The upper bits are milliseconds of Unix time.
    let seconds = metric(&db, "braid_tikv_safe_point_seconds");
    assert_eq!(seconds, (cluster.pd().safe_point() >> 18) / 1000);
    let (keys_after, versions_after) = cluster.size();
    assert!(keys_after <= keys && versions_after + 15 < versions, "{versions_after} {versions}");
    assert_eq!(get(&db, "a").await.as_deref(), Some("9"));
    assert_eq!(cluster.pd().reads_below_safe_point(), 0);
}

/// Switched off (nothing is registered with PD), the safe point passes the reader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_snapshot_of_any_gateway_holds_the_safe_point() {
    let cluster = Cluster::stand_in();
    let (reader, collector) = (open(&cluster).await, open(&cluster).await);
    put(&reader, &[("a", "old"), ("b", "old")]).await;
    let t = serializable(&reader);
    assert_eq!(read(&t, "a").await.as_deref(), Some("old"));
    let since = t.snapshots().current().await.unwrap().0;
    put(&collector, &[("a", "new"), ("b", "new")]).await;
    let until = Instant::now() + LIFE * 3;
    while Instant::now() < until {
        assert!(collect(&collector).await <= since);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(all(&t, "a", "c").await.into_values().collect::<Vec<_>>(), ["old", "old"]);
    assert_eq!(read(&t, "b").await.as_deref(), Some("old"));
    assert_eq!(cluster.pd().reads_below_safe_point(), 0);
    t.rollback().await;
    drop(t);
    collect_until(&collector, since + 1).await;
}

/// A transaction that writes starts at a timestamp; its snapshot may be newer by the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_start_of_a_writer_holds_the_safe_point() {
    let cluster = Cluster::stand_in();
    let (writer, collector) = (open(&cluster).await, open(&cluster).await);
    let t = serializable(&writer);
    t.lock(t.next_statement(), LockRequest::keys(vec![b"k".to_vec()])).await.unwrap();
    let start = cluster.pd().timestamp();
    tokio::time::sleep(LIFE * 2).await;
    assert!(collect(&collector).await < start);
    t.put(t.next_statement(), "k", b"v".to_vec()).unwrap();
    t.commit_or_error().await.unwrap();
    // What it has read goes with the handle.
    drop(t);
    collect_until(&collector, start).await;
    assert_eq!(get(&collector, "k").await.as_deref(), Some("v"));
}

/// The record of a commit goes only when no key waits for it any more. Switched off (locks are not
/// settled), the value of `z` is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_settled_before_the_safe_point_passes_them() {
    let cluster = Cluster::stand_in();
    cluster.split(b"m");
    let options = TikvOptions { one_trip_commits: false, ..hasty() };
    let writer = gateway(&cluster, TikvAddress::PREFIX, options).await;
    let rule = Rule::next(Rpc::Commit, Fault::LoseRequest).key(&full("z")).times(u32::MAX);
    cluster.add(rule);
    put(&writer, &[("a", "1"), ("z", "1")]).await;
    assert_eq!(cluster.lock_count(), 1, "z waits for its commit");
    let (collector, written) = (open(&cluster).await, cluster.pd().timestamp());
    // It gives up, as if it had been killed.
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster.clear_rules();
    let t = serializable(&collector);
    t.delete(t.next_statement(), "a").unwrap();
    t.commit_or_error().await.unwrap();
    drop(t);
    let deleted = cluster.pd().timestamp();
    collect_until(&collector, deleted).await;
    assert!(deleted > written);
    assert_eq!(get(&collector, "z").await.as_deref(), Some("1"));
    assert_eq!(cluster.lock_count(), 0);
}

/// A lock that lives holds the safe point up even if nobody speaks for its gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_living_lock_holds_the_safe_point() {
    let cluster = Cluster::stand_in();
    let options = TikvOptions {
        lock_ttl: Duration::from_secs(6),
        snapshot_promise: Duration::from_secs(1),
        ..TikvOptions::default()
    };
    let writer = gateway(&cluster, TikvAddress::PREFIX, options).await;
    let collector = open(&cluster).await;
    let t = serializable(&writer);
    t.lock(t.next_statement(), LockRequest::keys(vec![b"k".to_vec()])).await.unwrap();
    let start = cluster.pd().timestamp();
    cluster.pd().forget_services();
    assert!(collect(&collector).await < start);
    tokio::time::sleep(LIFE).await;
    cluster.pd().forget_services();
    assert!(collect(&collector).await < start);
    t.rollback().await;
}

/// A gateway that was stopped for longer than PD's promise: what it reads may be gone, and it says
/// so. Switched off (nobody asks), it sees an empty table.
#[test]
fn a_gateway_that_was_stopped_does_not_trust_its_snapshot() {
    let cluster = Cluster::stand_in();
    let one = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (paused, other) = (one(), one());
    let options = TikvOptions { snapshot_promise: Duration::from_secs(2), ..hasty() };
    let reader = paused.block_on(gateway(&cluster, TikvAddress::PREFIX, options));
    let t = serializable(&reader);
    paused.block_on(async {
        put(&reader, &[("a", "old")]).await;
        assert_eq!(read(&t, "a").await.as_deref(), Some("old"));
    });
    // Nothing runs on that thread while the other gateway works.
    other.block_on(async {
        let collector = open(&cluster).await;
        put(&collector, &[("a", "new")]).await;
        let written = cluster.pd().timestamp();
        collect_until(&collector, written).await;
    });
    paused.block_on(async {
        let s = t.next_statement();
        assert_eq!(t.get(s, b"a").await, Err(Error::SnapshotTooOld));
        assert_eq!(get(&reader, "a").await.as_deref(), Some("new"));
    });
}

/// A commit is being prewritten: of its keys one has its value, the primary only a lock of before,
/// whose time is over. The lock that the collector takes away decides nothing about the other key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settling_locks_does_not_tear_a_commit_that_is_being_prewritten() {
    let cluster = Cluster::stand_in();
    cluster.split(b"m");
    let options = TikvOptions { lock_ttl: Duration::from_millis(600), ..TikvOptions::default() };
    let writer = gateway(&cluster, TikvAddress::PREFIX, options).await;
    let collector = open(&cluster).await;
    put(&writer, &[("a", "1"), ("n", "1"), ("z", "1")]).await;
    cluster.add(Rule::next(Rpc::TxnHeartBeat, Fault::LoseRequest).times(10_000));
    let t = in_two_phases(&writer).await;
    tokio::time::sleep(LIFE).await;
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone())).key(&full("a")));
    let commit = tokio::spawn(async move { t.commit().await });
    gate.wait_for(1).await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    collect(&collector).await;
    gate.open();
    let outcome = commit.await.unwrap();
    cluster.clear_rules();
    assert_eq!(get(&collector, "a").await, get(&collector, "z").await, "{outcome:?}");
}

/// A transaction with a lock of `a`, a read that it has to prove, and new values of `a` and `z`.
async fn in_two_phases(db: &Database) -> Arc<Transaction> {
    // PD's time goes on, so that it begins above all versions.
    tokio::time::sleep(Duration::from_millis(60)).await;
    let t = serializable(db);
    t.lock(t.next_statement(), LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    read(&t, "n").await;
    for key in ["a", "z"] {
        t.put(t.next_statement(), key, b"2".to_vec()).unwrap();
    }
    t
}

/// A gateway stands still while its commit is being prewritten, for longer than PD's promise and
/// the life of old versions. Others have rolled it back, and that record is collected as well.
#[test]
fn a_commit_that_stood_still_for_too_long_is_none() {
    let cluster = Cluster::stand_in();
    cluster.split(b"m");
    let one = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (paused, other) = (one(), one());
    let options = TikvOptions {
        snapshot_promise: Duration::from_secs(1),
        lock_ttl: Duration::from_secs(1),
        request_timeout: Duration::from_secs(60),
        retry_for: Duration::from_secs(60),
        ..TikvOptions::default()
    };
    let gate = Gate::new();
    let writer = paused.block_on(gateway(&cluster, TikvAddress::PREFIX, options));
    let t = paused.block_on(async {
        put(&writer, &[("a", "1"), ("n", "1"), ("z", "1")]).await;
        in_two_phases(&writer).await
    });
    let commit = paused.spawn(async move { t.commit().await });
    paused.block_on(async {
        cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone())).key(&full("a")));
        gate.wait_for(1).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    });
    other.block_on(async {
        let collector = open(&cluster).await;
        let begun = cluster.pd().timestamp();
        collect_until(&collector, begun).await;
    });
    gate.open();
    let outcome = paused.block_on(commit).unwrap();
    other.block_on(async {
        let reader = open(&cluster).await;
        assert_eq!(get(&reader, "a").await, get(&reader, "z").await, "{outcome:?}");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_is_destroyed_under_its_own_prefix_and_without_a_scan() {
    let cluster = Cluster::stand_in();
    let one = gateway(&cluster, "one/", TikvOptions::default()).await;
    let two = gateway(&cluster, "two/", TikvOptions::default()).await;
    for db in [&one, &two] {
        put(db, &[("a", "a"), ("t1", "x"), ("t2", "y"), ("u", "u")]).await;
    }
    let count = |rpcs: &[Rpc]| rpcs.iter().map(|rpc| cluster.count(*rpc)).sum::<u64>();
    let before = count(&[Rpc::Scan, Rpc::Get, Rpc::BatchGet, Rpc::Prewrite]);
    let spans = [Span::prefix(b"t".to_vec())];
    one.store().garbage().unwrap().destroy(&spans).await.unwrap();
    assert_eq!(cluster.count(Rpc::DestroyRange), cluster.stores().len() as u64);
    assert_eq!(count(&[Rpc::Scan, Rpc::Get, Rpc::BatchGet, Rpc::Prewrite]), before);
    assert_eq!(cluster.keys_in(b"one/dt", b"one/du"), 0);
    let left = |db: Database| async move {
        all(&serializable(&db), "a", "z").await.into_keys().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(left(one).await, "a u");
    assert_eq!(left(two).await, "a t1 t2 u");
}

/// A store that cannot be reached keeps its keys: that is an error, and done again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_is_destroyed_by_every_store_or_not_at_all() {
    let cluster = Cluster::stand_in();
    let db = gateway(&cluster, TikvAddress::PREFIX, hasty()).await;
    put(&db, &[("a", "a"), ("t1", "x"), ("t2", "y")]).await;
    let spans = [Span::prefix(b"t".to_vec())];
    cluster.add(Rule::next(Rpc::DestroyRange, Fault::LoseRequest));
    let failed = db.store().garbage().unwrap().destroy(&spans).await;
    assert!(matches!(failed, Err(Error::Storage(_))), "{failed:?}");
    assert_eq!(metric(&db, "braid_tikv_ranges_destroyed_total"), 0);
    db.store().garbage().unwrap().destroy(&spans).await.unwrap();
    assert_eq!(metric(&db, "braid_tikv_ranges_destroyed_total"), 1);
    assert_eq!(cluster.keys_in(&full("t"), &full("u")), 0);
    assert_eq!(get(&db, "a").await.as_deref(), Some("a"));
}
