//! Lookups that come again leave what they have read in the range cache, and see there what their
//! snapshot shows.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{Database, Isolation, Key, Record, ScanRequest, Span, Transaction, key_after};
use braid_kv_embedded::EmbeddedOptions;
use std::sync::Arc;

/// Long scans leave nothing here.
fn options() -> EmbeddedOptions {
    EmbeddedOptions {
        range_cache_bytes: 1 << 20,
        range_cache_scan_bytes_min: 1 << 20,
        sync: false,
        ..EmbeddedOptions::default()
    }
}

fn key(group: usize, i: usize) -> Key {
    format!("g{group:03}/{i:03}").into_bytes()
}

fn group(group: usize) -> Span {
    Span::prefix(format!("g{group:03}/"))
}

/// Ten groups of ten keys.
async fn fill(db: &Database) {
    let t = serializable(db);
    let s = t.next_statement();
    for at in 0..100 {
        t.put(s, key(at / 10, at % 10), "old").unwrap();
    }
    t.commit_or_error().await.unwrap();
}

async fn scan(t: &Arc<Transaction>, request: ScanRequest) -> Vec<(Key, Vec<u8>)> {
    let mut scanner = t.scanner(t.next_statement(), request.record(Record::Never));
    let mut found = Vec::new();
    while let Some(batch) = scanner.next_batch().await.unwrap() {
        found.extend(batch.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
    }
    found
}

async fn look_up(db: &Database, which: usize) -> usize {
    scan(&serializable(db), ScanRequest::new(group(which))).await.len()
}

async fn get_all(t: &Arc<Transaction>, keys: &[Key]) -> Vec<Option<Vec<u8>>> {
    let values = t.reads().multi_get(t.next_statement(), keys).await.unwrap();
    values.into_iter().map(|value| value.map(|value| value.to_vec())).collect()
}

fn hits(db: &Database) -> u64 {
    db.store_metrics().range_cache_hits
}

#[tokio::test]
async fn a_lookup_is_kept_when_it_comes_again() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    fill(&db).await;
    for which in 0..10 {
        assert_eq!(look_up(&db, which).await, 10);
    }
    assert_eq!((hits(&db), db.store_metrics().range_cache_bytes), (0, 0), "each came once");
    assert_eq!(look_up(&db, 3).await, 10);
    assert_eq!(hits(&db), 0);
    assert_eq!(look_up(&db, 3).await, 10);
    assert_eq!(hits(&db), 1);
    // A longer scan gets the same batches as without it.
    let all = scan(&serializable(&db), ScanRequest::new(Span::new(key(3, 0), "h"))).await;
    assert_eq!(all.len(), 70);
    // A place where nothing is, too.
    for _ in 0..3 {
        assert_eq!(look_up(&db, 77).await, 0);
    }
    assert_eq!(hits(&db), 2);
}

#[tokio::test]
async fn a_commit_takes_out_the_lookups_that_it_touches() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    fill(&db).await;
    for which in [1, 2, 3, 4, 99].repeat(3) {
        look_up(&db, which).await;
    }
    let keys: Vec<Key> = vec![key(5, 0), key(5, 1), key(5, 2), key(5, 77)];
    for _ in 0..3 {
        get_all(&serializable(&db), &keys).await;
    }
    let old = begin(&db, Isolation::RepeatableRead);
    assert_eq!(get_all(&old, &keys).await.iter().flatten().count(), 3);

    let t = serializable(&db);
    let s = t.next_statement();
    t.put(s, key(1, 5), "new").unwrap();
    t.delete(s, key(2, 5)).unwrap();
    t.put(s, key(99, 0), "new").unwrap();
    t.put(s, key(5, 0), "new").unwrap();
    t.delete(s, key(5, 1)).unwrap();
    t.put(s, key(5, 77), "new").unwrap();
    t.writes().delete_span(s, Span::new(key(3, 8), key(3, 9))).unwrap();
    t.commit_or_error().await.unwrap();

    for _ in 0..3 {
        let new = serializable(&db);
        let rows = scan(&new, ScanRequest::new(group(1))).await;
        assert_eq!((rows.len(), rows[5].1.as_slice()), (10, b"new".as_slice()));
        for (which, rows) in [(2, 9), (3, 9), (4, 10), (99, 1)] {
            assert_eq!(look_up(&db, which).await, rows, "group {which}");
        }
        let texts = |values: Vec<Option<Vec<u8>>>| -> Vec<Vec<u8>> {
            values.into_iter().map(Option::unwrap_or_default).collect()
        };
        assert_eq!(texts(get_all(&new, &keys).await), [b"new".as_slice(), b"", b"old", b"new"]);
        assert_eq!(texts(get_all(&old, &keys).await), [b"old".as_slice(), b"old", b"old", b""]);
        assert_eq!(scan(&old, ScanRequest::new(group(2))).await.len(), 10);
        assert_eq!(scan(&old, ScanRequest::new(group(99))).await.len(), 0);
    }
}

/// Scans without values, limits, and scans of a part or of more come out of what was kept as they
/// come out of the store.
#[tokio::test]
async fn lookups_of_parts_and_of_more_are_right() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    fill(&db).await;
    let t = serializable(&db);
    let all = scan(&t, ScanRequest::new(Span::new("g", "h"))).await;
    let spans = [(10, 20), (10, 13), (15, 40), (0, 100), (19, 20), (12, 12), (90, 100)];
    for round in 0..4 {
        for (from, to) in spans {
            let end = all.get(to).map_or(b"h".to_vec(), |entry| entry.0.clone());
            for (limit, keys_only, reverse) in
                [(0, true, false), (0, false, false), (3, false, false), (2, true, true)]
            {
                let span = Span::new(all[from].0.clone(), end.clone());
                let request = ScanRequest::new(span).limit_rows(limit).reverse(reverse);
                let request = if keys_only { request.keys_only() } else { request };
                let mut rows = scan(&t, request).await;
                if reverse {
                    rows.reverse();
                }
                let wanted = &all[from..to];
                assert!(rows.iter().map(|r| &r.0).eq(wanted.iter().map(|r| &r.0)), "{round}");
                assert!(keys_only || rows == wanted, "{from}..{to} {limit} in round {round}");
            }
        }
        let keys: Vec<Key> =
            all.iter().map(|r| r.0.clone()).chain([key_after(&all[3].0)]).collect();
        let values = get_all(&t, &keys).await;
        assert_eq!(values.iter().flatten().count(), 100);
        assert_eq!(values[100], None);
    }
    assert!(hits(&db) > 0);
}
