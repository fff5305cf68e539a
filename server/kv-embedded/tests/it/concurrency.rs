//! Many transactions at once. Each test fails when its mechanism is switched off or taken out.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{CommitOutcome, Error, Isolation, LockRequest, LockStrength, Span, Transaction};
use braid_kv_embedded::EmbeddedOptions;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

fn fast() -> EmbeddedOptions {
    EmbeddedOptions { sync: false, ..EmbeddedOptions::default() }
}

fn number(value: Option<braid_kv::Value>) -> u64 {
    value.map_or(0, |v| String::from_utf8(v.to_vec()).unwrap().parse().unwrap())
}

async fn increment_blindly(t: &Transaction) -> Result<bool, Error> {
    let s = t.next_statement();
    let n = number(t.get(s, b"n").await?);
    tokio::task::yield_now().await;
    t.put(s, "n", (n + 1).to_string())?;
    Ok(matches!(t.commit().await?, CommitOutcome::Committed(_)))
}

/// Increments without locks, run again until they commit. Returns what the counter is short of.
async fn lost_increments(options: EmbeddedOptions) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    while !increment_blindly(&serializable(&db)).await.unwrap() {}
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    400 - get(&db, "n").await.unwrap().parse::<u64>().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_increment_is_lost_unless_validation_is_off() {
    assert_eq!(lost_increments(fast()).await, 0);
    let tiny = EmbeddedOptions { recent_bytes_max: 0, ..fast() };
    assert_eq!(lost_increments(tiny).await, 0, "with an index that forgets at once");
    let off = EmbeddedOptions { validate: false, ..fast() };
    assert!(lost_increments(off).await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn locked_increments_never_have_to_be_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), fast());
    for isolation in [Isolation::Serializable, Isolation::ReadCommitted] {
        put(&db, &[("n", "0")]).await;
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let db = db.clone();
                tokio::spawn(async move {
                    for _ in 0..40 {
                        let t = begin(&db, isolation);
                        let s = t.next_statement();
                        let locked = LockRequest::keys(vec![b"n".to_vec()]);
                        let n = number(t.lock(s, locked).await.unwrap().values[0].clone());
                        t.put(s, "n", (n + 1).to_string()).unwrap();
                        t.commit_or_error().await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(get(&db, "n").await.as_deref(), Some("640"));
    }
}

#[tokio::test]
async fn waiters_are_served_in_order_of_arrival() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), fast());
    let holder = serializable(&db);
    let request = || LockRequest::keys(vec![b"k".to_vec()]);
    holder.lock(holder.next_statement(), request()).await.unwrap();
    let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for i in 0..64 {
        let (t, order) = (serializable(&db), order.clone());
        tasks.push(tokio::spawn(async move {
            t.lock(t.next_statement(), request()).await.unwrap();
            order.lock().push(i);
            t.commit_or_error().await.unwrap();
        }));
        while db.store_metrics().lock_waiters <= i {
            tokio::task::yield_now().await;
        }
    }
    holder.commit_or_error().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock(), (0..64).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_youngest_of_a_deadlock_is_its_victim() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), fast());
    let lock = |t: Arc<Transaction>, k: &'static str| async move {
        t.lock(t.next_statement(), LockRequest::keys(vec![k.as_bytes().to_vec()])).await
    };
    for younger_closes in [false, true] {
        let (old, young) = (serializable(&db), serializable(&db));
        lock(old.clone(), "a").await.unwrap();
        lock(young.clone(), "b").await.unwrap();
        let (first, second) = if younger_closes {
            ((&old, "b"), (&young, "a"))
        } else {
            ((&young, "a"), (&old, "b"))
        };
        let waits = tokio::spawn(lock(first.0.clone(), first.1));
        tokio::time::sleep(Duration::from_millis(20)).await;
        let closes = tokio::spawn(lock(second.0.clone(), second.1));
        let (young_wait, old_wait) = if younger_closes { (closes, waits) } else { (waits, closes) };
        let Err(Error::Deadlock { cycle }) = young_wait.await.unwrap() else {
            panic!("the younger one is the victim")
        };
        assert_eq!(cycle.len(), 2);
        assert_eq!((cycle[0].waiter, cycle[0].holder), (young.id(), old.id()));
        assert_eq!(cycle[0].key, b"a");
        young.rollback().await;
        old_wait.await.unwrap().unwrap();
        old.rollback().await;
    }
    assert_eq!(db.store_metrics().deadlocks, 2);
}

#[tokio::test]
async fn holders_upgrade_ahead_of_the_queue_and_two_upgraders_are_a_deadlock() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), fast());
    let lock = |t: &Arc<Transaction>, strength| {
        let t = t.clone();
        async move {
            let request = LockRequest::keys(vec![b"k".to_vec()]).strength(strength);
            t.lock(t.next_statement(), request).await
        }
    };
    let (t1, t2, t3) = (serializable(&db), serializable(&db), serializable(&db));
    lock(&t1, LockStrength::Shared).await.unwrap();
    lock(&t2, LockStrength::Shared).await.unwrap();
    let queued = tokio::spawn(lock(&t3, LockStrength::Exclusive));
    tokio::time::sleep(Duration::from_millis(20)).await;
    let upgrade = tokio::spawn(lock(&t1, LockStrength::Exclusive));
    tokio::time::sleep(Duration::from_millis(20)).await;
    let second = lock(&t2, LockStrength::Exclusive).await;
    assert!(matches!(second, Err(Error::Deadlock { .. })));
    t2.rollback().await;
    upgrade.await.unwrap().unwrap();
    assert!(!queued.is_finished());
    t1.rollback().await;
    queued.await.unwrap().unwrap();
    t3.rollback().await;
    assert_eq!(db.store_metrics().locks_held, 0);
}

#[tokio::test]
async fn a_canceled_waiter_leaves_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), fast());
    let (holder, waiter, next) = (serializable(&db), serializable(&db), serializable(&db));
    let span = || LockRequest::spans(vec![Span::new("a", "c")]);
    let key = || LockRequest::keys(vec![b"b".to_vec()]).strength(LockStrength::Shared);
    holder.lock(holder.next_statement(), key()).await.unwrap();
    let waiting = tokio::spawn({
        let waiter = waiter.clone();
        async move { waiter.lock(waiter.next_statement(), span()).await.map(drop) }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let behind = tokio::spawn({
        let next = next.clone();
        async move { next.lock(next.next_statement(), key()).await.map(drop) }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!behind.is_finished(), "asked after the exclusive span");
    waiting.abort();
    behind.await.unwrap().unwrap();
    drop((holder, waiter, next));
    assert_eq!(db.store_metrics().locks_held, 0);
}

/// Commits that wait for each other's sync share one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_are_grouped() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let done = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..32)
        .map(|i| {
            let (db, done) = (db.clone(), done.clone());
            tokio::spawn(async move {
                for j in 0..10 {
                    let key = format!("{i}-{j}");
                    put(&db, &[(&key, "v")]).await;
                    done.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let metrics = db.store_metrics();
    assert_eq!(metrics.commits, 320);
    assert!(metrics.syncs < 320 && metrics.commit_batch_max > 1, "{metrics:?}");
}
