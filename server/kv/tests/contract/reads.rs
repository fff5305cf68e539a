//! Reads: statement numbers, scans, snapshots, what is remembered.

use super::helpers::*;
use braid_kv::{
    CommitOutcome, Isolation, LockRequest, RetryReason, ScanRequest, Seq, Span, Transaction,
};
use std::{collections::BTreeSet, sync::Arc};

#[tokio::test]
async fn a_statement_sees_lower_numbers_and_its_check_phase_its_own() {
    let (db, _guard) = super::super::database().await;
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
    let (db, _guard) = super::super::database().await;
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
                let batch = t.scanner(s, request.clone()).first_batch().await.unwrap();
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
async fn savepoints_take_back_writes_and_nothing_else() {
    let (db, _guard) = super::super::database().await;
    let t = serializable(&db);
    t.put(t.next_statement(), "a", "1".as_bytes()).unwrap();
    let outer = t.savepoint();
    t.put(t.next_statement(), "a", "2".as_bytes()).unwrap();
    let inner = t.savepoint();
    t.put(t.next_statement(), "b", "3".as_bytes()).unwrap();
    t.writes().delete_span(t.next_statement(), Span::new("a", "z")).unwrap();
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
async fn a_phantom_is_noticed() {
    let (db, _guard) = super::super::database().await;
    let t = serializable(&db);
    assert!(all(&t, "a", "b").await.is_empty());
    put(&db, &[("aa", "1")]).await;
    t.put(t.next_statement(), "z", "1".as_bytes()).unwrap();
    let outcome = t.commit().await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Retry(c) if c.reason == RetryReason::SpanChanged));
}

#[tokio::test]
async fn read_committed_takes_a_snapshot_per_statement() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("a", "1")]).await;
    let t = begin(&db, Isolation::ReadCommitted);
    let s = t.next_statement();
    assert_eq!(t.get(s, b"a").await.unwrap().as_deref(), Some(b"1".as_slice()));
    put(&db, &[("a", "2")]).await;
    assert_eq!(t.get(s, b"a").await.unwrap().as_deref(), Some(b"1".as_slice()));
    assert_eq!(read(&t, "a").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn what_a_statement_leaves_goes_with_its_writes() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("a", "0")]).await;
    let t = serializable(&db);
    let named = |name: &'static str| Arc::new(name) as Arc<dyn std::any::Any + Send + Sync>;
    let left = || -> Vec<&'static str> {
        let left = t.deferred().all();
        left.iter().map(|(_, what)| *what.downcast_ref::<&str>().unwrap()).collect()
    };
    let (s1, s2) = (t.next_statement(), t.next_statement());
    t.deferred().push(s2, named("second"));
    t.deferred().push(s1, named("first"));
    assert_eq!(left(), ["first", "second"]);
    let savepoint = t.savepoint();
    let s3 = t.next_statement();
    t.deferred().push(s3, named("third"));
    t.rollback_to(savepoint);
    assert_eq!(left(), ["first", "second"]);
    let s4 = t.next_statement();
    t.deferred().push(s4, named("fourth"));
    t.restarts().statement(s4).await.unwrap();
    assert_eq!(left(), ["first", "second"]);
    t.deferred().retain(|what| *what.downcast_ref::<&str>().unwrap() != "first");
    assert_eq!(left(), ["second"]);
    t.restarts().transaction().unwrap();
    assert_eq!(left(), [] as [&str; 0]);
}

/// Rule 1: "INSERT 0 1" has said that the key was absent, and ROLLBACK TO does not unsay it.
#[tokio::test]
async fn what_was_told_before_a_rollback_to_stays_a_read() {
    let (db, _guard) = super::super::database().await;
    for (told, retried) in [(true, true), (false, false)] {
        let key = format!("x{told}");
        let t = serializable(&db);
        read(&t, "other").await;
        let savepoint = t.savepoint();
        t.put_new(t.next_statement(), &key, "1".as_bytes()).unwrap();
        if told {
            assert!(t.writes().check_new_keys().await.unwrap().is_empty());
        }
        t.rollback_to(savepoint);
        put(&db, &[(&key, "2")]).await;
        assert_eq!(is_retried(&t).await, retried, "told: {told}");
    }
}

/// Rule 1: a number that was used twice would let a statement see what was taken back.
#[tokio::test]
async fn sequence_numbers_are_never_used_twice() {
    let (db, _guard) = super::super::database().await;
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
        assert!(seen.insert(t.restarts().statement(s).await.unwrap()));
    }
    assert_eq!(read(&t, "a").await, None);
}

/// Rule 4: own writes lie over what the store returned; what they hide was read all the same.
#[tokio::test]
async fn a_scan_records_what_own_writes_hide() {
    let (db, _guard) = super::super::database().await;
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
    let (db, _guard) = super::super::database().await;
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
        assert_eq!(t.snapshots().prove_reads().await.is_err(), changed && saw_old);
        assert_eq!(is_retried(&t).await, changed && saw_old);
    }
}

#[tokio::test]
async fn a_scan_that_stops_early_ends_at_the_last_key_examined() {
    let (db, _guard) = super::super::database().await;
    put(&db, &[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]).await;
    for (reverse, harmless, harmful) in [(false, "c", "b"), (true, "b", "c")] {
        for (other, retried) in [(harmless, false), (harmful, true)] {
            let t = serializable(&db);
            let s = t.next_statement();
            let request = ScanRequest::new(Span::new("a", "e")).limit_rows(2).reverse(reverse);
            assert_eq!(t.scanner(s, request).first_batch().await.unwrap().len(), 2);
            // A value that was not there before: a store may compare values.
            put(&db, &[(other, &format!("{reverse} {retried}"))]).await;
            t.put(s, "z", "1".as_bytes()).unwrap();
            let outcome = t.commit().await.unwrap();
            assert_eq!(matches!(outcome, CommitOutcome::Retry(_)), retried, "{other}");
        }
    }
}

#[tokio::test]
async fn reads_survive_rollback_to_and_own_writes_are_no_reads() {
    let (db, _guard) = super::super::database().await;
    let t = serializable(&db);
    let savepoint = t.savepoint();
    assert_eq!(read(&t, "a").await, None);
    t.rollback_to(savepoint);
    put(&db, &[("a", "1")]).await;
    t.put(t.next_statement(), "z", "1".as_bytes()).unwrap();
    assert!(matches!(t.commit().await.unwrap(), CommitOutcome::Retry(_)));

    let t = serializable(&db);
    t.put(t.next_statement(), "b", "1".as_bytes()).unwrap();
    assert_eq!(read(&t, "b").await.as_deref(), Some("1"));
    put(&db, &[("b", "2")]).await;
    t.commit_or_error().await.unwrap();
}

async fn is_retried(t: &Transaction) -> bool {
    t.put(t.next_statement(), "z", "1".as_bytes()).unwrap();
    matches!(t.commit().await.unwrap(), CommitOutcome::Retry(_))
}
