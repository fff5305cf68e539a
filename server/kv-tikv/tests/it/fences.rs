//! Commits that are bound to a point of time ([`braid_kv::CommitFence`]): they take place before
//! it or not at all, in one phase, asynchronously and in two phases.

#![allow(clippy::unwrap_used)]

use crate::common::{Cluster, hasty};
use crate::shared::contract::helpers::*;
#[allow(dead_code)]
use braid_kv::{
    CommitFence, CommitOutcome, Database, RetryReason, SchemaLease, Timestamp, Transaction,
};
use braid_testkit::tikv::{Fault, Gate, Rpc, Rule};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// A point of time that a test moves.
struct Fence(AtomicU64);

impl Fence {
    fn at(before: Timestamp) -> Arc<Fence> {
        Arc::new(Fence(AtomicU64::new(before.0)))
    }
}

impl CommitFence for Fence {
    fn before(&self) -> Timestamp {
        Timestamp(self.0.load(Relaxed))
    }
}

async fn now(db: &Database) -> Timestamp {
    db.store().snapshot().await.unwrap().timestamp()
}

fn later(db: &Database, at: Timestamp, millis: u64) -> Timestamp {
    db.store().clock().unwrap().after(at, Duration::from_millis(millis))
}

/// A transaction that commits in one phase, asynchronously, or in two phases.
async fn writer(db: &Database, phases: usize, value: &str) -> Arc<Transaction> {
    let t = serializable(db);
    if phases == 3 {
        read(&t, "other").await;
    }
    let keys = if phases > 1 { vec!["a", "z"] } else { vec!["a"] };
    for key in keys {
        t.put(t.next_statement(), key, value.as_bytes().to_vec()).unwrap();
    }
    t
}

fn is_refused(outcome: &CommitOutcome) -> bool {
    matches!(outcome, CommitOutcome::Retry(c) if c.reason == RetryReason::SchemaChanged)
}

#[tokio::test]
async fn a_commit_after_its_fence_does_not_take_place() {
    let cluster = Cluster::start();
    cluster.split(b"m");
    let db = cluster.open().await;
    for phases in 1..=3 {
        put(&db, &[("a", "before")]).await;
        let t = writer(&db, phases, "after").await;
        t.commit_terms().set_fence(Fence::at(now(&db).await));
        let outcome = t.commit().await.unwrap();
        assert!(is_refused(&outcome), "{phases}: {outcome:?}");
        assert_eq!(get(&db, "a").await.as_deref(), Some("before"));
        let t = writer(&db, phases, "in time").await;
        let before = later(&db, now(&db).await, 60_000);
        t.commit_terms().set_fence(Fence::at(before));
        let outcome = t.commit().await.unwrap();
        assert!(
            matches!(outcome, CommitOutcome::Committed(at) if at < before),
            "{phases}: {outcome:?}"
        );
        assert_eq!(get(&db, "a").await.as_deref(), Some("in time"));
    }
}

/// Time passes between the prewrite and the commit, as when the gateway is paused there; unless
/// the fence has moved on as well.
#[tokio::test]
async fn the_fence_counts_when_the_commit_takes_its_timestamp() {
    let cluster = Cluster::stand_in();
    cluster.split(b"m");
    let db = cluster.open().await;
    for moves_on in [false, true] {
        let t = writer(&db, 3, "value").await;
        let fence = Fence::at(later(&db, now(&db).await, 200));
        t.commit_terms().set_fence(fence.clone());
        let gate = Gate::new();
        cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldAnswer(gate.clone())));
        let commit = tokio::spawn(async move { t.commit().await.unwrap() });
        tokio::time::sleep(Duration::from_millis(400)).await;
        if moves_on {
            fence.0.store(later(&db, now(&db).await, 60_000).0, Relaxed);
        }
        gate.open();
        assert_eq!(is_refused(&commit.await.unwrap()), !moves_on);
        assert_eq!(get(&db, "a").await.is_some(), moves_on);
    }
}

/// While nobody knows what became of a commit, it may still take place: its fence is kept until
/// time has passed it.
#[tokio::test]
async fn the_fence_of_an_unknown_commit_is_kept_until_time_has_passed_it() {
    let cluster = Cluster::stand_in();
    let db = cluster.open_with(hasty()).await;
    let t = writer(&db, 3, "who knows").await;
    for rpc in [Rpc::Commit, Rpc::CheckTxnStatus, Rpc::BatchRollback] {
        cluster.add(Rule::next(rpc, Fault::LoseAnswer).times(10_000));
    }
    let fence = Fence::at(later(&db, now(&db).await, 12_000));
    t.commit_terms().set_fence(fence.clone());
    assert_eq!(t.commit().await.unwrap(), CommitOutcome::Unknown);
    cluster.clear_rules();
    while Arc::strong_count(&fence) > 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(now(&db).await >= fence.before());
}

struct Lease {
    since: Timestamp,
    fence: Arc<Fence>,
}

impl SchemaLease for Lease {
    fn enter(&self, since: Timestamp) -> Option<Arc<dyn CommitFence>> {
        (since >= self.since).then(|| self.fence.clone() as Arc<dyn CommitFence>)
    }
}

/// A lease stands for the proofs of the schema, of snapshots that it covers.
#[tokio::test]
async fn a_lease_spares_the_proof_of_the_schema() {
    let cluster = Cluster::start();
    let db = cluster.open().await;
    put(&db, &[("schema", "1")]).await;
    let old = serializable(&db);
    old.snapshots().current().await.unwrap();
    let fence = Fence::at(later(&db, now(&db).await, 60_000));
    db.set_schema_lease(Arc::new(Lease { since: now(&db).await, fence }));
    let new = serializable(&db);
    new.snapshots().current().await.unwrap();
    put(&db, &[("schema", "2")]).await;
    for (t, is_covered) in [(old, false), (new, true)] {
        t.commit_terms().require_unchanged(b"schema".to_vec());
        t.put(t.next_statement(), "a", b"1".to_vec()).unwrap();
        let outcome = t.commit().await.unwrap();
        assert_eq!(is_refused(&outcome), !is_covered, "{outcome:?}");
    }
}
