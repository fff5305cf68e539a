//! Restarting with locks held: by itself, and after a commit that was refused.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{CommitOutcome, Database, Error, LockRequest, LockWait, RetryReason, Transaction};
use std::{sync::Arc, time::Duration};

async fn lock(t: &Transaction, key: &str, wait: LockWait) -> Result<(), Error> {
    let request = LockRequest::keys(vec![key.as_bytes().to_vec()]).wait(wait);
    t.lock(t.next_statement(), request).await.map(drop)
}

/// A transaction that has read `a`, wants to write `b`, and can no longer commit.
async fn doomed(db: &Database) -> Arc<Transaction> {
    let t = serializable(db);
    read(&t, "a").await;
    t.put(t.next_statement(), "b", "late".as_bytes()).unwrap();
    put(db, &[("a", "new")]).await;
    t
}

#[tokio::test]
async fn a_restart_forgets_everything_but_locks() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "old"), ("b", "old"), ("c", "old")]).await;
    let t = doomed(&db).await;
    lock(&t, "c", LockWait::Block).await.unwrap();
    let waiter = serializable(&db);
    let waiting = {
        let waiter = waiter.clone();
        tokio::spawn(async move { lock(&waiter, "c", LockWait::Block).await })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    t.restarts().transaction().unwrap();
    assert_eq!(read(&t, "a").await.as_deref(), Some("new"), "the snapshot is a new one");
    assert_eq!(read(&t, "b").await.as_deref(), Some("old"), "the write is gone");
    assert!(!waiting.is_finished(), "the lock stays");
    t.put(t.next_statement(), "c", "mine".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(read(&waiter, "c").await.as_deref(), Some("mine"));
    assert_eq!(get(&db, "b").await.as_deref(), Some("old"));
}

#[tokio::test]
async fn a_refused_commit_keeps_the_locks_of_its_writes() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "old"), ("b", "old")]).await;
    let t = doomed(&db).await;
    let refused = t.commit_or_restart().await.unwrap();
    assert!(matches!(refused, CommitOutcome::Retry(c) if c.reason == RetryReason::ReadChanged));
    let other = serializable(&db);
    let taken = lock(&other, "b", LockWait::NoWait).await;
    assert!(matches!(taken, Err(Error::LockNotAvailable { .. })), "{taken:?}");
    assert_eq!(read(&t, "a").await.as_deref(), Some("new"));
    t.put(t.next_statement(), "b", "in time".as_bytes()).unwrap();
    assert!(matches!(t.commit_or_restart().await, Ok(CommitOutcome::Committed(_))));
    lock(&other, "b", LockWait::NoWait).await.unwrap();
    assert_eq!(get(&db, "b").await.as_deref(), Some("in time"));
    // Without being asked for, nothing is kept.
    let t = doomed(&db).await;
    other.rollback().await;
    assert!(matches!(t.commit().await, Ok(CommitOutcome::Retry(_))));
    lock(&serializable(&db), "b", LockWait::NoWait).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refusal_that_nobody_hears_frees_the_locks() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "old"), ("b", "old")]).await;
    for round in 0..200 {
        let t = doomed(&db).await;
        let task = tokio::spawn(async move { t.commit_or_restart().await.map(drop) });
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_micros(round)).await;
        }
        task.abort();
        task.await.ok();
        let other = serializable(&db);
        let free =
            tokio::time::timeout(Duration::from_secs(30), lock(&other, "b", LockWait::Block));
        free.await.unwrap_or_else(|_| panic!("round {round}: the lock is held by nobody")).unwrap();
    }
}
