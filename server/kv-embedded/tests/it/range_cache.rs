//! The range cache: scans that come from it see what their snapshot shows, whatever is committed
//! meanwhile; its bytes stay under the limit; what is written, restarted or too short is not in it.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{Database, Isolation, KeyShape, Record, ScanRequest, Span, Transaction, key_after};
use braid_kv_embedded::EmbeddedOptions;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Every scan fills the cache, which is small.
fn eager() -> EmbeddedOptions {
    EmbeddedOptions {
        range_cache_bytes: 64 << 10,
        range_cache_scan_bytes_min: 0,
        sync: false,
        ..EmbeddedOptions::default()
    }
}

fn key(i: usize) -> String {
    format!("k{i:05}")
}

async fn fill(db: &Database, rows: usize) {
    let t = serializable(db);
    let s = t.next_statement();
    for i in 0..rows {
        t.put(s, key(i), 100u64.to_be_bytes().to_vec()).unwrap();
    }
    t.commit_or_error().await.unwrap();
}

async fn scan(t: &Arc<Transaction>, request: ScanRequest) -> Vec<(Vec<u8>, Vec<u8>)> {
    let seq = t.next_statement();
    let mut scanner = t.scanner(seq, request);
    let mut found = Vec::new();
    while let Some(batch) = scanner.next_batch().await.unwrap() {
        found.extend(batch.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
    }
    found
}

fn everything() -> ScanRequest {
    ScanRequest::new(Span::new("k", "l"))
}

/// The keys of even or of odd numbers.
#[derive(Debug)]
struct Parity(u8);

impl KeyShape for Parity {
    fn gap(&self, key: &[u8]) -> Option<Span> {
        let last = key.get(5)?;
        (last % 2 != self.0).then(|| Span::new(&key[..6], [&key[..5], &[last + 1]].concat()))
    }
    fn has_all_of(&self, _: &Span) -> bool {
        false
    }
    fn name(&self) -> &[u8] {
        std::slice::from_ref(&self.0)
    }
}

fn parity(which: u8) -> Arc<dyn KeyShape> {
    Arc::new(Parity(which))
}

fn sum(rows: &[(Vec<u8>, Vec<u8>)]) -> u64 {
    rows.iter().map(|(_, v)| u64::from_be_bytes(v.as_slice().try_into().unwrap())).sum()
}

#[tokio::test]
async fn a_commit_shows_in_the_next_scan_and_not_in_older_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), eager());
    fill(&db, 1_000).await;
    let old = begin(&db, Isolation::RepeatableRead);
    old.snapshots().current().await.unwrap();
    let before = scan(&old, everything()).await;
    assert_eq!(scan(&serializable(&db), everything()).await, before);
    assert!(db.store_metrics().range_cache_hits > 0);

    let t = serializable(&db);
    let s = t.next_statement();
    t.put(s, key(5), 7u64.to_be_bytes().to_vec()).unwrap();
    t.put(s, "k00005x", 8u64.to_be_bytes().to_vec()).unwrap();
    t.delete(s, key(700)).unwrap();
    t.writes().delete_span(s, Span::new(key(300), key(400))).unwrap();
    t.commit_or_error().await.unwrap();

    for _ in 0..3 {
        let new = scan(&serializable(&db), everything()).await;
        assert_eq!((new.len(), sum(&new)), (900, 898 * 100 + 7 + 8));
        assert_eq!(scan(&old, everything()).await, before);
        let mut back = scan(&serializable(&db), everything().reverse(true)).await;
        back.reverse();
        assert_eq!(back, new);
    }
}

#[tokio::test]
async fn parts_limits_and_keys_come_out_of_segments_as_out_of_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), eager());
    fill(&db, 1_000).await;
    let plain = scan(&serializable(&db), everything()).await;
    for (from, to) in [(0, 1_000), (3, 4), (250, 260), (256, 257), (10, 999), (990, 2_000)] {
        for limit in [0, 1, 7, 300] {
            for reverse in [false, true] {
                let request = ScanRequest::new(Span::new(key(from), key(to)));
                let request = request.limit_rows(limit).reverse(reverse);
                let mut rows = scan(&serializable(&db), request.clone()).await;
                let keys = scan(&serializable(&db), request.keys_only()).await;
                assert!(keys.iter().map(|(k, _)| k).eq(rows.iter().map(|(k, _)| k)));
                if reverse {
                    rows.reverse();
                }
                assert_eq!(rows, plain[from..to.min(1_000)], "{from}..{to} {limit} {reverse}");
            }
        }
    }
}

#[tokio::test]
async fn short_scans_leave_nothing_and_long_ones_stay_under_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    const LIMIT: usize = 300 << 10;
    let options = EmbeddedOptions {
        range_cache_bytes: LIMIT,
        range_cache_scan_bytes_min: 16 << 10,
        ..eager()
    };
    let db = open_with(dir.path(), options);
    fill(&db, 20_000).await;
    let short = ScanRequest::new(Span::new(key(0), key(900)));
    assert_eq!(scan(&serializable(&db), short).await.len(), 900);
    assert_eq!(db.store_metrics().range_cache_bytes, 0);
    for _ in 0..4 {
        assert_eq!(scan(&serializable(&db), everything()).await.len(), 20_000);
        let bytes = db.store_metrics().range_cache_bytes;
        assert!(bytes > 0 && bytes <= LIMIT as u64, "{bytes}");
    }
    // More than fits was scanned, and part of it stayed.
    assert!(db.store_metrics().range_cache_hits > 0);
}

#[tokio::test]
async fn without_memory_there_is_no_cache() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), EmbeddedOptions { range_cache_bytes: 0, ..eager() });
    fill(&db, 2_000).await;
    for _ in 0..2 {
        assert_eq!(scan(&serializable(&db), everything()).await.len(), 2_000);
    }
    let metrics = db.store_metrics();
    assert_eq!((metrics.range_cache_bytes, metrics.range_cache_hits), (0, 0));
}

/// Every kind has segments of its own; a commit takes out those whose kind it writes, and a range
/// delete those of all.
#[tokio::test]
async fn a_write_of_one_kind_leaves_what_is_kept_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), eager());
    fill(&db, 1_000).await;
    let misses = async |which: u8, rows: usize| {
        let before = db.store_metrics().range_cache_misses;
        let request = everything().shape(Some(&parity(which)));
        let found = scan(&serializable(&db), request).await;
        assert_eq!(found.len(), rows);
        db.store_metrics().range_cache_misses - before
    };
    for which in [0, 1] {
        assert!(misses(which, 500).await > 0);
        assert_eq!(misses(which, 500).await, 0);
    }
    let t = serializable(&db);
    t.delete(t.next_statement(), key(301)).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(misses(0, 500).await, 0);
    assert!(misses(1, 499).await > 0);
    assert_eq!(misses(1, 499).await, 0);
    let t = serializable(&db);
    let span = Span::new(key(500), key_after(key(500).as_bytes()));
    t.writes().delete_span(t.next_statement(), span).unwrap();
    t.commit_or_error().await.unwrap();
    assert!(misses(0, 499).await > 0 && misses(1, 499).await > 0);
}

/// Transfers keep the sum, also that of each kind of keys. A scan that mixed segments of two
/// moments would see another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_sum_stays_while_transfers_run_through_the_scans() {
    const ROWS: usize = 600;
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), eager());
    fill(&db, ROWS).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..3).map(|w| tokio::spawn(transfers(db.clone(), w, stop.clone()))).collect();
    for round in 0..300 {
        let t = begin(&db, Isolation::RepeatableRead);
        for pass in 0..2 {
            let reverse = (round + pass) % 3 == 0;
            let request = everything().reverse(reverse).record(Record::Never);
            let rows = scan(&t, request.limit_rows([0, 50][pass])).await;
            assert_eq!((rows.len(), sum(&rows)), (ROWS, ROWS as u64 * 100), "round {round}");
            let kind = parity((round + pass) as u8 % 2);
            let request = everything().reverse(reverse).record(Record::Never).shape(Some(&kind));
            let rows = scan(&t, request).await;
            assert_eq!((rows.len(), sum(&rows)), (ROWS / 2, ROWS as u64 * 50), "round {round}");
        }
    }
    stop.store(true, Relaxed);
    let mut done = 0;
    for writer in writers {
        done += writer.await.unwrap();
    }
    let metrics = db.store_metrics();
    assert!(done > 20 && metrics.range_cache_hits > 20, "{done} transfers, {metrics:?}");
}

async fn transfers(db: Database, seed: usize, stop: Arc<AtomicBool>) -> usize {
    let (mut random, mut done) = (seed as u64 + 1, 0);
    let mut next = |n: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((random >> 33) % n) as usize
    };
    while !stop.load(Relaxed) {
        let from = next(600);
        let (from, to) = (key(from), key((from + 2 * next(300)) % 600));
        let t = serializable(&db);
        let s = t.next_statement();
        let read = async |key: &str| {
            let value = t.get(s, key.as_bytes()).await.unwrap().unwrap();
            u64::from_be_bytes(value.as_ref().try_into().unwrap())
        };
        let (a, b) = (read(&from).await, read(&to).await);
        if from == to || a == 0 {
            continue;
        }
        t.put(s, from, (a - 1).to_be_bytes().to_vec()).unwrap();
        t.put(s, to, (b + 1).to_be_bytes().to_vec()).unwrap();
        done += usize::from(t.commit_or_error().await.is_ok());
        tokio::time::sleep(std::time::Duration::from_micros(500)).await;
    }
    done
}
