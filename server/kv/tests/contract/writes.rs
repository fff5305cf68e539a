//! Writes and locks: keys that must not exist, checks, range deletes, conflicts.

use super::helpers::*;
use braid_kv::{
    CommitOutcome, Database, Error, Isolation, LockRequest, LockStrength, LockWait, Record,
    RetryReason, Span, Transaction, TxnOptions,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

#[tokio::test]
async fn must_not_exist_survives_a_delete_of_the_new_row() {
    let (db, _guard) = super::super::database().await;
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
async fn deferred_checks_are_found_at_the_barrier_and_rolled_back_with_their_statement() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("x", "old")]).await;
    let t = serializable(&db);
    t.put_new(t.next_statement(), "w", "new".as_bytes()).unwrap();
    let savepoint = t.savepoint();
    let s = t.next_statement();
    t.put_new(s, "x", "new".as_bytes()).unwrap();
    let found = t.writes().check_new_keys().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].key.as_ref(), found[0].seq), (b"x".as_slice(), s));
    assert!(t.writes().check_new_keys().await.unwrap().is_empty());
    t.rollback_to(savepoint);
    // What the client was told ("x is there") is a read, and rolling back does not unread it.
    put(&db, &[("x", "newer")]).await;
    assert!(matches!(
        t.commit().await.unwrap(),
        CommitOutcome::Retry(c) if c.reason == RetryReason::ReadChanged
    ));
}

#[tokio::test]
async fn repeatable_read_refuses_to_overwrite_what_is_newer() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("a", "1"), ("b", "1")]).await;
    let t = begin(&db, Isolation::RepeatableRead);
    read(&t, "b").await;
    put(&db, &[("a", "2")]).await;
    t.put(t.next_statement(), "a", "3".as_bytes()).unwrap();
    let outcome = t.commit().await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Retry(c) if c.reason == RetryReason::WriteConflict));
    let t = begin(&db, Isolation::RepeatableRead);
    read(&t, "b").await;
    put(&db, &[("a", "4")]).await;
    let s = t.next_statement();
    let locked = t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await;
    assert!(matches!(locked, Err(Error::Retry(c)) if c.reason == RetryReason::WriteConflict));
    assert!(t.restarts().statement(s).await.is_err(), "an earlier statement has read");
}

#[tokio::test]
async fn a_lock_on_a_newer_version_refreshes_if_nothing_read_has_changed() {
    let (db, _guard) = super::super::database().await;
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
    let s = t.restarts().statement(s).await.unwrap();
    let locked = t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    assert_eq!(locked.values[0].as_deref(), Some(b"4".as_slice()));
    t.put(s, "a", "5".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
}

#[tokio::test]
async fn descriptors_are_validated_at_every_level() {
    let (db, _guard) = super::super::database().await;
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        put(&db, &[("desc", "1")]).await;
        let t = begin(&db, isolation);
        t.commit_terms().require_unchanged(b"desc".to_vec());
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
    let (db, _guard) = super::super::database().await;
    let holder = serializable(&db);
    holder.lock(holder.next_statement(), LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    let writer = serializable(&db);
    writer.put(writer.next_statement(), "a", "writer".as_bytes()).unwrap();
    let task = tokio::spawn({
        let writer = writer.clone();
        async move { writer.commit_or_error().await }
    });
    let since = Instant::now();
    while db.store().locks().len() < 2 {
        assert!(since.elapsed() < Duration::from_secs(30), "nobody waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!task.is_finished());
    holder.put(holder.next_statement(), "a", "holder".as_bytes()).unwrap();
    holder.commit_or_error().await.unwrap();
    task.await.unwrap().unwrap();
    assert_eq!(get(&db, "a").await.as_deref(), Some("writer"));
    assert!(db.store().locks().is_empty());
}

#[tokio::test]
async fn round_trips_are_counted() {
    let (db, _guard) = super::super::database().await;
    let t = serializable(&db);
    read(&t, "a").await;
    t.commit_or_error().await.unwrap();
    assert_eq!(t.round_trips().count(), 1, "a read-only commit costs none");
    let t = serializable(&db);
    let s = t.next_statement();
    t.reads().multi_get(s, &[b"a".to_vec(), b"b".to_vec()]).await.unwrap();
    t.lock(s, LockRequest::keys(vec![b"a".to_vec()])).await.unwrap();
    assert_eq!(t.round_trips().count(), 2);
    // Locked and read: known.
    t.get(s, b"a").await.unwrap();
    t.lock(s, LockRequest::keys(vec![b"a".to_vec()]).strength(LockStrength::Shared)).await.unwrap();
    assert_eq!(t.round_trips().count(), 2);
    t.put(s, "a", "1".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(t.round_trips().count(), 3);
}

/// Rule 7: the new holder of a lock sees what its last holder has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_released_after_publishing() {
    let (db, _guard) = super::super::database().await;
    for round in 0..100 {
        let holder = serializable(&db);
        let s = holder.next_statement();
        let request = || LockRequest::keys(vec![b"k".to_vec()]);
        holder.lock(s, request()).await.unwrap();
        holder.put(s, "k", round.to_string()).unwrap();
        let waiter = serializable(&db);
        let waiting = tokio::spawn({
            let waiter: Arc<Transaction> = waiter.clone();
            async move { waiter.lock(waiter.next_statement(), request()).await.unwrap().values }
        });
        while db.store_metrics().lock_waiters == 0 {
            tokio::task::yield_now().await;
        }
        holder.commit_or_error().await.unwrap();
        assert_eq!(waiting.await.unwrap(), [Some(round.to_string().into_bytes().into())]);
        waiter.rollback().await;
    }
}

#[tokio::test]
async fn a_key_that_was_seen_absent_and_exists_now_is_a_changed_read_not_a_duplicate() {
    let (db, _guard) = super::super::database().await;
    let t = serializable(&db);
    assert_eq!(read(&t, "a").await, None);
    t.put_new(t.next_statement(), "a", "1".as_bytes()).unwrap();
    put(&db, &[("a", "2")]).await;
    assert!(matches!(
        t.commit().await.unwrap(),
        CommitOutcome::Retry(c) if c.reason == RetryReason::ReadChanged
    ));
    let t = begin(&db, Isolation::RepeatableRead);
    t.put_new(t.next_statement(), "a", "1".as_bytes()).unwrap();
    assert!(matches!(t.commit().await, Err(Error::Duplicate { .. })));
}

#[tokio::test]
async fn checks_hold_at_every_level_and_name_their_constraint_below_serializable() {
    let (db, _guard) = super::super::database().await;
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        put(&db, &[("parent", "1")]).await;
        let t = begin(&db, isolation);
        let s = t.next_statement();
        t.put(s, "child", "1".as_bytes()).unwrap();
        let record = Record::Always { tag: 7 };
        assert!(t.reads().get_recorded(s.after(), b"parent", record).await.unwrap().is_some());
        let other = serializable(&db);
        other.delete(other.next_statement(), "parent").unwrap();
        other.commit_or_error().await.unwrap();
        let outcome = t.commit().await;
        if isolation == Isolation::Serializable {
            assert!(matches!(outcome, Ok(CommitOutcome::Retry(_))));
        } else {
            assert!(matches!(outcome, Err(Error::CheckChanged(c)) if c.tag == 7));
        }
    }
}

#[tokio::test]
async fn a_range_delete_meets_reads_locks_and_inserts_of_others() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("a1", "1"), ("a2", "1")]).await;
    let reader = serializable(&db);
    assert_eq!(all(&reader, "a", "b").await.len(), 2);
    let locker = serializable(&db);
    let shared = LockRequest::keys(vec![b"a1".to_vec()]).strength(LockStrength::Shared);
    locker.lock(locker.next_statement(), shared).await.unwrap();
    let deleter = serializable(&db);
    deleter.writes().delete_span(deleter.next_statement(), Span::new("a", "b")).unwrap();
    let task = tokio::spawn({
        let deleter = deleter.clone();
        async move { deleter.commit_or_error().await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    assert!(!task.is_finished(), "a row is locked");
    locker.rollback().await;
    task.await.unwrap().unwrap();
    reader.put(reader.next_statement(), "z", "1".as_bytes()).unwrap();
    assert!(matches!(reader.commit().await.unwrap(), CommitOutcome::Retry(_)));
    // The same key again, put after the range delete: it is new, and it stays.
    let t = serializable(&db);
    t.put_new(t.next_statement(), "a1", "2".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(get(&db, "a1").await.as_deref(), Some("2"));
}

/// Who waits for a lock that a change of the schema holds may find nothing where the rows were:
/// writing nothing is no reason to believe that.
#[tokio::test]
async fn who_met_newer_values_and_writes_nothing_still_needs_the_schema_unchanged() {
    let (db, _guard) = super::super::database().await;
    for isolation in [Isolation::Serializable, Isolation::ReadCommitted] {
        put(&db, &[("desc", "1"), ("old", "row")]).await;
        for changes_schema in [true, false] {
            let t = db.begin(TxnOptions { isolation, ..TxnOptions::default() });
            let s = t.next_statement();
            t.get(s, b"other").await.unwrap();
            t.commit_terms().require_unchanged(b"desc".to_vec());
            let other = serializable(&db);
            let seq = other.next_statement();
            other.writes().delete_span(seq, Span::key("old")).unwrap();
            other.put(seq, "new", "row".as_bytes()).unwrap();
            if changes_schema {
                other.put(seq, "desc", "2".as_bytes()).unwrap();
            }
            other.commit_or_error().await.unwrap();
            let request = LockRequest::keys(vec![b"old".to_vec()]);
            let locked = t.lock(s, request).await.unwrap();
            assert_eq!(locked.values, [None]);
            match t.commit().await.unwrap() {
                CommitOutcome::Retry(conflict) => {
                    assert!(changes_schema, "{isolation:?}");
                    assert_eq!(conflict.reason, RetryReason::SchemaChanged);
                }
                CommitOutcome::Committed(_) => assert!(!changes_schema, "{isolation:?}"),
                CommitOutcome::Unknown => panic!("unknown"),
            }
            put(&db, &[("old", "row")]).await;
        }
    }
}

#[tokio::test]
async fn skip_locked_workers_do_not_abort_each_other() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("job1", "x"), ("job2", "x")]).await;
    let take = |t: Arc<Transaction>| async move {
        let s = t.next_statement();
        let keys = vec![b"job1".to_vec(), b"job2".to_vec()];
        for key in keys {
            let request = LockRequest::keys(vec![key.clone()]).wait(LockWait::SkipLocked);
            if t.lock(s, request).await.unwrap().granted[0] {
                t.delete(s, &key).unwrap();
                return key;
            }
        }
        panic!("no job left")
    };
    let (t1, t2) = (serializable(&db), serializable(&db));
    assert_eq!(take(t1.clone()).await, b"job1");
    assert_eq!(take(t2.clone()).await, b"job2");
    t1.commit_or_error().await.unwrap();
    t2.commit_or_error().await.unwrap();
}

/// Money moves between accounts; every snapshot sees the same sum, and so does the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_snapshot_sees_the_same_sum() {
    let (db, _guard) = super::super::database().await;
    let names: Vec<String> = (0..10).map(|i| format!("account{i}")).collect();
    let pairs: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "100")).collect();
    put(&db, &pairs).await;
    let moves = (0..4u64).map(|worker| {
        let (db, names) = (db.clone(), names.clone());
        tokio::spawn(async move {
            for i in 0..100u64 {
                let a = ((i * 7 + worker * 3) % 10) as usize;
                let b = (a + 1 + ((i + worker) % 9) as usize) % 10;
                let _ = move_one(&db, &names[a], &names[b]).await;
            }
        })
    });
    let moves: Vec<_> = moves.collect();
    let reader = tokio::spawn({
        let db = db.clone();
        async move {
            for _ in 0..100 {
                let t = serializable(&db);
                let all = all(&t, "account", "b").await;
                assert_eq!(all.values().map(|v| v.parse::<u64>().unwrap()).sum::<u64>(), 1000);
                tokio::task::yield_now().await;
            }
        }
    });
    for task in moves {
        task.await.unwrap();
    }
    reader.await.unwrap();
}

async fn move_one(db: &Database, from: &str, to: &str) -> Result<(), Error> {
    let t = serializable(db);
    let s = t.next_statement();
    let a = number(t.get(s, from.as_bytes()).await?);
    let b = number(t.get(s, to.as_bytes()).await?);
    t.put(s, from, a.saturating_sub(1).to_string())?;
    t.put(s, to, (b + a.min(1)).to_string())?;
    t.commit_or_error().await.map(drop)
}

fn number(value: Option<braid_kv::Value>) -> u64 {
    value.map_or(0, |v| String::from_utf8(v.to_vec()).unwrap().parse().unwrap())
}
