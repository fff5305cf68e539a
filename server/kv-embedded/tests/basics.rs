//! Reads, writes, commits and restarts, one thing at a time.

#![allow(clippy::unwrap_used)]

mod common;

use braid_kv::{
    CommitOutcome, Error, Isolation, LockRequest, LockStrength, LockTarget, LockWait, RetryReason,
    ScanRequest, Span, TxnOptions,
};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore, OpenError};
use common::*;
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
    assert!(t.snapshot().await.unwrap() > first);
}

#[tokio::test]
async fn a_statement_sees_lower_numbers_and_its_check_phase_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "0")]).await;
    let t = serializable(&db);
    let s1 = t.next_statement();
    t.put(s1, "a", "1".as_bytes()).unwrap();
    assert_eq!(t.get(s1, b"a").await.unwrap().as_deref(), Some(b"0".as_slice()));
    assert_eq!(t.get(s1.after(), b"a").await.unwrap().as_deref(), Some(b"1".as_slice()));
    let s2 = t.next_statement();
    assert_eq!(t.get(s2, b"a").await.unwrap().as_deref(), Some(b"1".as_slice()));
}

#[tokio::test]
async fn scans_merge_own_writes_in_both_directions_and_respect_limits() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1"), ("b", "1"), ("d", "1"), ("e", "1")]).await;
    let t = serializable(&db);
    let s = t.next_statement();
    t.put(s, "b", "2".as_bytes()).unwrap();
    t.put(s, "c", "2".as_bytes()).unwrap();
    t.delete(s, "d").unwrap();
    t.put(s, "f", "2".as_bytes()).unwrap();
    let s = t.next_statement();
    for limit in 1..6 {
        for reverse in [false, true] {
            let mut request =
                ScanRequest::new(Span::new("a", "z")).limit_rows(limit).reverse(reverse);
            let mut scanned = Vec::new();
            let mut scanner = t.scanner(s, request.clone());
            while let Some(batch) = scanner.next_batch().await.unwrap() {
                assert!(batch.len() <= limit);
                scanned.extend(batch.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
            }
            let mut resumed = Vec::new();
            loop {
                let batch = t.scan(s, request.clone()).await.unwrap();
                resumed.extend(batch.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
                match batch.resume {
                    Some(rest) => request.span = rest,
                    None => break,
                }
            }
            assert_eq!(scanned, resumed);
            if reverse {
                scanned.reverse();
            }
            let text: String = scanned
                .iter()
                .map(|(k, v)| format!("{}{}", k.escape_ascii(), v.escape_ascii()))
                .collect();
            assert_eq!(text, "a1b2c2e1f2", "limit {limit} reverse {reverse}");
        }
    }
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
    t.delete_span(s, Span::new("b", "d")).unwrap();
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

#[tokio::test]
async fn must_not_exist_survives_a_delete_of_the_new_row() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("x", "old")]).await;
    let t = serializable(&db);
    t.put_new(t.next_statement(), "x", "new".as_bytes()).unwrap();
    t.delete(t.next_statement(), "x").unwrap();
    assert!(matches!(t.commit().await, Err(Error::Duplicate { key, .. }) if key == b"x"));
    assert_eq!(get(&db, "x").await.as_deref(), Some("old"));
    // A delete of a committed row followed by an insert of it is a plain put.
    let t = serializable(&db);
    t.delete(t.next_statement(), "x").unwrap();
    t.put_new(t.next_statement(), "x", "new".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(get(&db, "x").await.as_deref(), Some("new"));
}

#[tokio::test]
async fn put_off_checks_are_found_at_the_barrier_and_rolled_back_with_their_statement() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("x", "old")]).await;
    let t = serializable(&db);
    t.put_new(t.next_statement(), "w", "new".as_bytes()).unwrap();
    let savepoint = t.savepoint();
    let s = t.next_statement();
    t.put_new(s, "x", "new".as_bytes()).unwrap();
    let found = t.check_new_keys().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].key.as_ref(), found[0].seq), (b"x".as_slice(), s));
    assert!(t.check_new_keys().await.unwrap().is_empty());
    t.rollback_to(savepoint);
    // What the client was told ("x is there") is a read, and rolling back does not unread it.
    put(&db, &[("x", "newer")]).await;
    assert!(matches!(
        t.commit().await.unwrap(),
        CommitOutcome::Retry(c) if c.reason == RetryReason::ReadChanged
    ));
}

#[tokio::test]
async fn savepoints_take_back_writes_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let t = serializable(&db);
    t.put(t.next_statement(), "a", "1".as_bytes()).unwrap();
    let outer = t.savepoint();
    t.put(t.next_statement(), "a", "2".as_bytes()).unwrap();
    let inner = t.savepoint();
    t.put(t.next_statement(), "b", "3".as_bytes()).unwrap();
    t.delete_span(t.next_statement(), Span::new("a", "z")).unwrap();
    assert!(all(&t, "a", "z").await.is_empty());
    t.rollback_to(inner);
    assert_eq!(read(&t, "a").await.as_deref(), Some("2"));
    assert_eq!(read(&t, "b").await, None);
    t.rollback_to(outer);
    assert_eq!(read(&t, "a").await.as_deref(), Some("1"));
    t.commit_or_error().await.unwrap();
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));
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
async fn a_phantom_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let t = serializable(&db);
    assert!(all(&t, "a", "b").await.is_empty());
    put(&db, &[("aa", "1")]).await;
    t.put(t.next_statement(), "z", "1".as_bytes()).unwrap();
    let outcome = t.commit().await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Retry(c) if c.reason == RetryReason::SpanChanged));
}

#[tokio::test]
async fn repeatable_read_refuses_to_overwrite_what_is_newer() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let t = begin(&db, Isolation::RepeatableRead);
    read(&t, "b").await;
    put(&db, &[("a", "2")]).await;
    t.put(t.next_statement(), "a", "3".as_bytes()).unwrap();
    let outcome = t.commit().await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Retry(c) if c.reason == RetryReason::WriteConflict));
    let t = begin(&db, Isolation::RepeatableRead);
    read(&t, "b").await;
    put(&db, &[("a", "2")]).await;
    let s = t.next_statement();
    let locked = t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await;
    assert!(matches!(locked, Err(Error::Retry(c)) if c.reason == RetryReason::WriteConflict));
    assert!(t.restart_statement(s).await.is_err(), "an earlier statement has read");
}

#[tokio::test]
async fn a_lock_on_a_newer_version_refreshes_if_nothing_read_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let t = serializable(&db);
    read(&t, "b").await;
    put(&db, &[("a", "2")]).await;
    let locked = t.lock(t.next_statement(), LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    assert_eq!(locked.values[0].as_deref(), Some(b"2".as_slice()));
    assert_eq!(locked.changed, [true]);
    t.put(t.next_statement(), "a", "3".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(db.metrics().refresh_success, 1);

    // The same with a changed read: the statement that has read it may run again, others not.
    let t = serializable(&db);
    let s = t.next_statement();
    t.get(s, b"a").await.unwrap();
    put(&db, &[("a", "4")]).await;
    assert!(t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await.is_err());
    let s = t.restart_statement(s).await.unwrap();
    let locked = t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    assert_eq!(locked.values[0].as_deref(), Some(b"4".as_slice()));
    t.put(s, "a", "5".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
}

#[tokio::test]
async fn read_committed_takes_a_snapshot_per_statement() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    let s = t.next_statement();
    assert_eq!(t.get(s, b"a").await.unwrap().as_deref(), Some(b"1".as_slice()));
    put(&db, &[("a", "2")]).await;
    assert_eq!(t.get(s, b"a").await.unwrap().as_deref(), Some(b"1".as_slice()));
    assert_eq!(read(&t, "a").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn descriptors_are_validated_at_every_level() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        put(&db, &[("desc", "1")]).await;
        let t = begin(&db, isolation);
        t.require_unchanged(b"desc".to_vec());
        read(&t, "x").await;
        t.put(t.next_statement(), "x", "1".as_bytes()).unwrap();
        put(&db, &[("desc", "2")]).await;
        assert!(matches!(
            t.commit().await.unwrap(),
            CommitOutcome::Retry(c) if c.reason == RetryReason::SchemaChanged
        ));
    }
}

#[tokio::test]
async fn a_blind_write_waits_for_the_lock_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let holder = serializable(&db);
    holder.lock(holder.next_statement(), LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    let writer = serializable(&db);
    writer.put(writer.next_statement(), "a", "writer".as_bytes()).unwrap();
    let task = tokio::spawn({
        let writer = writer.clone();
        async move { writer.commit_or_error().await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!task.is_finished());
    assert_eq!(db.store().locks().len(), 2);
    holder.put(holder.next_statement(), "a", "holder".as_bytes()).unwrap();
    holder.commit_or_error().await.unwrap();
    task.await.unwrap().unwrap();
    assert_eq!(get(&db, "a").await.as_deref(), Some("writer"));
    assert!(db.store().locks().is_empty());
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
async fn round_trips_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let t = serializable(&db);
    read(&t, "a").await;
    t.commit_or_error().await.unwrap();
    assert_eq!(t.round_trips(), 1, "a read-only commit costs none");
    let t = serializable(&db);
    let s = t.next_statement();
    t.multi_get(s, &[b"a".to_vec(), b"b".to_vec()]).await.unwrap();
    t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    assert_eq!(t.round_trips(), 2);
    // Locked and read: known.
    t.get(s, b"a").await.unwrap();
    t.lock(s, LockRequest::keys(vec![b"a".to_vec()]).strength(LockStrength::Shared)).await.unwrap();
    assert_eq!(t.round_trips(), 2);
    t.put(s, "a", "1".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(t.round_trips(), 3);
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

#[tokio::test]
async fn what_a_statement_leaves_goes_with_its_writes() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "0")]).await;
    let t = serializable(&db);
    let named = |name: &'static str| Arc::new(name) as Arc<dyn std::any::Any + Send + Sync>;
    let left = || -> Vec<&'static str> {
        let left = t.left();
        left.iter().map(|(_, what)| *what.downcast_ref::<&str>().unwrap()).collect()
    };
    let (s1, s2) = (t.next_statement(), t.next_statement());
    t.leave(s2, named("second"));
    t.leave(s1, named("first"));
    assert_eq!(left(), ["first", "second"]);
    let savepoint = t.savepoint();
    let s3 = t.next_statement();
    t.leave(s3, named("third"));
    t.rollback_to(savepoint);
    assert_eq!(left(), ["first", "second"]);
    let s4 = t.next_statement();
    t.leave(s4, named("fourth"));
    t.restart_statement(s4).await.unwrap();
    assert_eq!(left(), ["first", "second"]);
    t.retain_left(|what| *what.downcast_ref::<&str>().unwrap() != "first");
    assert_eq!(left(), ["second"]);
    t.restart().unwrap();
    assert_eq!(left(), [] as [&str; 0]);
}
