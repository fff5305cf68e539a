//! Reads, writes, commits and restarts, one thing at a time.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{
    CommitOutcome, Error, Isolation, LockRequest, LockStrength, LockTarget, LockWait, Span,
    TxnOptions,
};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore, OpenError};
use std::{fs, sync::Arc, time::Duration};

#[tokio::test]
async fn what_is_committed_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1"), ("b", "2"), ("c", "3")]).await;
    let t = serializable(&db);
    let s = t.next_statement();
    t.delete(s, "b").unwrap();
    t.put(s, "d", "4".as_bytes()).unwrap();
    let first = t.commit_or_error().await.unwrap();
    db.close().await.unwrap();
    drop((t, db));

    let db = open(dir.path());
    let t = serializable(&db);
    let found = all(&t, "a", "z").await;
    assert_eq!(found.into_iter().collect::<Vec<_>>().len(), 3);
    put(&db, &[("e", "5")]).await;
    let t = serializable(&db);
    assert!(t.snapshots().current().await.unwrap() > first);
}

#[tokio::test]
async fn range_deletes_hide_older_values_only_and_are_cleaned_up() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]).await;
    let before = serializable(&db);
    assert_eq!(all(&before, "a", "z").await.len(), 4);
    let t = serializable(&db);
    let s = t.next_statement();
    t.writes().delete_span(s, Span::new("b", "d")).unwrap();
    t.put(s, "c", "2".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(all(&before, "a", "z").await.len(), 4, "an older snapshot sees what it saw");
    let expected = "a1c2d1";
    let text = |m: std::collections::BTreeMap<String, String>| {
        m.into_iter().map(|(k, v)| k + &v).collect::<String>()
    };
    assert_eq!(text(all(&serializable(&db), "a", "z").await), expected);
    drop((before, t));
    for _ in 0..100 {
        if db.store_metrics().tombstones == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(db.store_metrics().tombstones, 0);
    assert_eq!(db.store_metrics().cleaned, 1);
    assert_eq!(text(all(&serializable(&db), "a", "z").await), expected);
    db.close().await.unwrap();
    drop(db);
    let db = open(dir.path());
    assert_eq!(text(all(&serializable(&db), "a", "z").await), expected);
}

/// The cleaner reads a view, and the committer removes what was seen in it: not what came later.
#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_put_while_a_span_is_cleaned_stay() {
    // The index of recent writes says what came later; or it is too small for that.
    for recent_bytes_max in [EmbeddedOptions::default().recent_bytes_max, 10_000] {
        put_while_cleaned(recent_bytes_max).await;
    }
}

async fn put_while_cleaned(recent_bytes_max: usize) {
    const KEYS: u64 = 30_000;
    let dir = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { sync: false, recent_bytes_max, ..EmbeddedOptions::default() };
    let db = open_with(dir.path(), options);
    let key = |n: u64| format!("k{n:05}");
    let t = serializable(&db);
    let s = t.next_statement();
    for n in 0..KEYS {
        t.put(s, key(n), "old".as_bytes()).unwrap();
    }
    t.commit_or_error().await.unwrap();
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("k", "l")).unwrap();
    t.commit_or_error().await.unwrap();
    drop(t);
    let mut again = std::collections::BTreeSet::new();
    while db.store_metrics().tombstones > 0 {
        // Those that are removed now, and next.
        let at = db.store_metrics().cleaned;
        for ahead in [0, 300, 900, 1_500] {
            let key = key((at + ahead + again.len() as u64 % 50) % KEYS);
            put(&db, &[(&key, "new")]).await;
            again.insert(key);
        }
    }
    assert!(again.len() > 100, "the cleaner was too quick: {}", again.len());
    let found = all(&serializable(&db), "k", "l").await;
    assert!(found.values().all(|value| value == "new"));
    assert_eq!(found.into_keys().collect::<std::collections::BTreeSet<_>>(), again);
    db.close().await.unwrap();
}

#[tokio::test]
async fn write_skew_is_a_retry_at_serializable_only() {
    let dir = tempfile::tempdir().unwrap();
    for (isolation, validate, expected) in [
        (Isolation::Serializable, true, true),
        (Isolation::Serializable, false, false),
        (Isolation::RepeatableRead, true, false),
        (Isolation::ReadCommitted, true, false),
    ] {
        let path = dir.path().join(format!("{isolation:?}{validate}"));
        let db = open_with(&path, EmbeddedOptions { validate, ..EmbeddedOptions::default() });
        put(&db, &[("a", "1"), ("b", "1")]).await;
        let (t1, t2) = (begin(&db, isolation), begin(&db, isolation));
        read(&t1, "a").await;
        read(&t2, "b").await;
        t1.put(t1.next_statement(), "b", "2".as_bytes()).unwrap();
        t2.put(t2.next_statement(), "a", "2".as_bytes()).unwrap();
        // Both in one batch of the committer, if it so happens: each must see the other.
        let (r1, r2) = tokio::join!(t1.commit(), t2.commit());
        let retried = [r1, r2].iter().filter(|r| matches!(r, Ok(CommitOutcome::Retry(_)))).count();
        assert_eq!(retried == 1, expected, "{isolation:?}");
    }
}

#[tokio::test]
async fn nowait_skip_locked_and_timeouts() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let holder = serializable(&db);
    let key = |k: &str| k.as_bytes().to_vec();
    holder.lock(holder.next_statement(), LockRequest::keys(vec![key("a")])).await.unwrap();
    let t = db.begin(TxnOptions {
        lock_timeout: Some(Duration::from_millis(20)),
        ..TxnOptions::default()
    });
    let s = t.next_statement();
    let nowait = t.lock(s, LockRequest::keys(vec![key("a")]).wait(LockWait::NoWait)).await;
    assert!(matches!(nowait, Err(Error::LockNotAvailable { .. })));
    let wait = t.lock(s, LockRequest::keys(vec![key("a")])).await;
    assert!(matches!(wait, Err(Error::LockTimeout { .. })));
    let skip = LockRequest::keys(vec![key("b"), key("a")]).wait(LockWait::SkipLocked);
    let locked = t.lock(s, skip).await.unwrap();
    assert_eq!(locked.granted, [true, false]);
    assert_eq!(locked.values[0].as_deref(), Some(b"1".as_slice()));
    let span = LockRequest::spans(vec![Span::new("0", "b")]).wait(LockWait::NoWait);
    assert!(matches!(t.lock(s, span).await, Err(Error::LockNotAvailable { .. })));
}

#[tokio::test]
async fn limits_have_names() {
    let dir = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { locks_max: 10, ..EmbeddedOptions::default() };
    let db = open_with(dir.path(), options);
    let t = db.begin(TxnOptions { buffer_bytes_max: Some(1000), ..TxnOptions::default() });
    let s = t.next_statement();
    let full = (0..100).find_map(|i| t.put(s, format!("{i}"), vec![0; 50]).err()).unwrap();
    assert!(matches!(full, Error::LimitExceeded { name: "transaction_buffer_bytes", .. }));
    let keys = (0..20u8).map(|i| vec![i]).collect();
    let full = t.lock(s, LockRequest::keys(keys)).await.unwrap_err();
    assert!(matches!(full, Error::LimitExceeded { name: "locks_max", .. }));
    let read_only = db.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    assert_eq!(read_only.put(s, "a", vec![]), Err(Error::ReadOnly));
}

#[tokio::test]
async fn a_full_disk_refuses_the_commit_and_keeps_serving() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1")]).await;
    db.close().await.unwrap();
    drop(db);
    let options = EmbeddedOptions { disk_reserve_bytes: u64::MAX, ..EmbeddedOptions::default() };
    let db = open_with(dir.path(), options);
    let t = serializable(&db);
    t.put(t.next_statement(), "a", "2".as_bytes()).unwrap();
    assert!(matches!(t.commit().await, Err(Error::DiskFull(_))));
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));
    assert!(db.store().locks().is_empty());
}

#[tokio::test]
async fn folders_that_are_not_ours_are_refused_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path| EmbeddedStore::open(path, EmbeddedOptions::default());
    let list = |path: &std::path::Path| {
        let mut names: Vec<_> =
            fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let foreign = dir.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("holiday.jpg"), "beach").unwrap();
    assert!(matches!(open(foreign.clone()), Err(OpenError::Foreign { .. })));
    assert_eq!(list(&foreign), ["holiday.jpg"]);

    let ours = dir.path().join("ours");
    let store = open(ours.clone()).unwrap();
    assert!(matches!(open(ours.clone()), Err(OpenError::Locked { .. })));
    drop(store);
    let format = fs::read_to_string(ours.join("FORMAT")).unwrap();
    fs::write(ours.join("FORMAT"), format.replace("version 1", "version 99")).unwrap();
    assert!(matches!(open(ours.clone()), Err(OpenError::Version { found, .. }) if found == "99"));
    fs::write(ours.join("FORMAT"), "something else\n").unwrap();
    assert!(matches!(open(ours.clone()), Err(OpenError::Foreign { .. })));
    fs::write(ours.join("FORMAT"), &format).unwrap();
    drop(open(ours.clone()).unwrap());
    fs::rename(ours.join("store"), dir.path().join("away")).unwrap();
    assert!(matches!(open(ours.clone()), Err(OpenError::Corrupt { .. })));
}

#[tokio::test]
async fn a_dropped_transaction_frees_its_locks() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let t = serializable(&db);
    t.lock(
        t.next_statement(),
        LockRequest {
            target: LockTarget::Spans(vec![Span::new("a", "b")]),
            strength: LockStrength::Exclusive,
            wait: LockWait::Block,
            values: false,
            remembered: false,
        },
    )
    .await
    .unwrap();
    let waiter = serializable(&db);
    let waiting = tokio::spawn({
        let waiter: Arc<_> = waiter.clone();
        async move {
            waiter.lock(waiter.next_statement(), LockRequest::keys(vec![b"aa".to_vec()])).await
        }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(db.store_metrics().lock_waiters, 1);
    drop(t);
    waiting.await.unwrap().unwrap();
    waiter.rollback().await;
    assert_eq!(db.store_metrics().locks_held, 0);
}
