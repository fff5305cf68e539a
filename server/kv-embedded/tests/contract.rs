//! More rules of the kv contract that are easy to get wrong; `TESTING.md` lists them all. Each test
//! was seen to fail with its rule broken.

#![allow(clippy::unwrap_used)]

mod common;

use braid_kv::{CommitOutcome, Database, LockRequest, ScanRequest, Seq, Span, Transaction};
use braid_kv_embedded::EmbeddedOptions;
use common::*;
use std::{collections::BTreeSet, sync::Arc};

async fn is_retried(t: &Transaction) -> bool {
    t.put(t.next_statement(), "z", "1".as_bytes()).unwrap();
    matches!(t.commit().await.unwrap(), CommitOutcome::Retry(_))
}

/// Rule 1: "INSERT 0 1" has said that the key was absent, and ROLLBACK TO does not unsay it.
#[tokio::test]
async fn what_was_told_before_a_rollback_to_stays_a_read() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    for (told, retried) in [(true, true), (false, false)] {
        let key = format!("x{told}");
        let t = serializable(&db);
        read(&t, "other").await;
        let savepoint = t.savepoint();
        t.put_new(t.next_statement(), &key, "1".as_bytes()).unwrap();
        if told {
            assert!(t.check_new_keys().await.unwrap().is_empty());
        }
        t.rollback_to(savepoint);
        put(&db, &[(&key, "2")]).await;
        assert_eq!(is_retried(&t).await, retried, "told: {told}");
    }
}

/// Rule 1: a number that was used twice would let a statement see what was taken back.
#[tokio::test]
async fn sequence_numbers_are_never_used_twice() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let t = serializable(&db);
    let mut seen: BTreeSet<Seq> = BTreeSet::new();
    for _ in 0..3 {
        assert!(seen.insert(t.next_statement()));
        let savepoint = t.savepoint();
        let s = t.next_statement();
        assert!(seen.insert(s));
        t.put(s, "a", "1".as_bytes()).unwrap();
        t.rollback_to(savepoint);
        let s = t.next_statement();
        assert!(seen.insert(s));
        assert!(seen.insert(t.restart_statement(s).await.unwrap()));
    }
    assert_eq!(read(&t, "a").await, None);
}

/// Rule 4: own writes lie over what the store returned; what they hide was read all the same.
#[tokio::test]
async fn a_scan_records_what_own_writes_hide() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    for (other, retried) in [("aa", true), ("a", true), ("c", false)] {
        put(&db, &[("a", "1"), ("b", "1"), ("d", "1")]).await;
        let clean = serializable(&db);
        for key in ["aa", "c", "z"] {
            clean.delete(clean.next_statement(), key).unwrap();
        }
        clean.commit_or_error().await.unwrap();
        let t = serializable(&db);
        t.delete(t.next_statement(), "a").unwrap();
        let request = ScanRequest::new(Span::new("a", "e")).limit_rows(1);
        let mut scanner = t.scanner(t.next_statement(), request);
        let mut batch = scanner.next_batch().await.unwrap().unwrap();
        while batch.is_empty() {
            batch = scanner.next_batch().await.unwrap().unwrap();
        }
        assert_eq!(batch.key(0), b"b");
        put(&db, &[(other, "2")]).await;
        assert_eq!(is_retried(&t).await, retried, "{other}");
    }
}

/// Rule 5: a statement that still reads at the old snapshot is not covered by a refresh that came
/// in between.
#[tokio::test]
async fn a_read_after_a_refresh_at_the_old_snapshot_is_compared_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), EmbeddedOptions { sync: false, ..EmbeddedOptions::default() });
    for changed in [true, false] {
        put(&db, &[("k", "1")]).await;
        let rows: Vec<(String, String)> =
            (0..3_000).map(|i| (format!("m{i:04}"), "1".to_owned())).collect();
        let pairs: Vec<(&str, &str)> = rows.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        put(&db, &pairs).await;
        let t = serializable(&db);
        let mut scanner = t.scanner(t.next_statement(), ScanRequest::new(Span::new("m", "n")));
        let first = scanner.next_batch().await.unwrap().unwrap();
        assert!(first.len() < 2_999, "the scan goes on");
        if changed {
            put(&db, &[("m2999", "2")]).await;
        }
        put(&db, &[("k", "2")]).await;
        let locked = t.lock(t.next_statement(), LockRequest::keys(vec![b"k".to_vec()])).await;
        assert_eq!(locked.unwrap().changed, [true], "refreshed");
        let mut last = None;
        while let Some(batch) = scanner.next_batch().await.unwrap() {
            last = batch.iter().last().map(|(_, value)| value.to_vec()).or(last);
        }
        drop(scanner);
        // Either the old value, and the commit finds out, or the new one.
        let saw_old = last.as_deref() == Some(b"1".as_slice());
        assert_eq!(t.prove_reads().await.is_err(), changed && saw_old);
        assert_eq!(is_retried(&t).await, changed && saw_old);
    }
}

async fn skew(db: Database, round: usize, pair: usize) -> usize {
    let (a, b) = (format!("a{round}-{pair}"), format!("b{round}-{pair}"));
    let (t1, t2) = (serializable(&db), serializable(&db));
    read(&t1, &a).await;
    read(&t2, &b).await;
    t1.put(t1.next_statement(), &b, "1".as_bytes()).unwrap();
    t2.put(t2.next_statement(), &a, "1".as_bytes()).unwrap();
    let (r1, r2) = tokio::join!(t1.commit(), t2.commit());
    [r1, r2].iter().filter(|r| matches!(r, Ok(CommitOutcome::Committed(_)))).count()
}

/// Rule 7: an accepted transaction counts for the next of the same batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_of_one_batch_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    for round in 0..10 {
        let pairs = (0..16).map(|pair| tokio::spawn(skew(db.clone(), round, pair)));
        let pairs: Vec<_> = pairs.collect();
        for pair in pairs {
            assert_eq!(pair.await.unwrap(), 1, "of two that read what the other writes");
        }
    }
    assert!(db.store_metrics().commit_batch_max > 2, "none were in one batch");
}

/// Rule 7: whoever gets a lock sees what its last holder has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_released_after_publishing() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
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
