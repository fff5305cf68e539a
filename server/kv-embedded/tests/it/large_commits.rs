//! Large commits, whose writes become tables at once: snapshots, conflicts, range deletes, failed
//! syncs. `crash` kills the process beside them, `model` compares them with a map.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{CommitOutcome, Database, Error, Span, StoreValue, Transaction};
use braid_kv_embedded::EmbeddedOptions;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

type Pairs = BTreeMap<String, String>;

/// From this number of writes on a commit is large.
const LARGE: usize = 50;

fn options() -> EmbeddedOptions {
    EmbeddedOptions { ingest_writes_min: LARGE, ..EmbeddedOptions::default() }
}

fn key(i: u32) -> String {
    format!("k{i:05}")
}

/// How many commits have become tables.
fn ingested(db: &Database) -> u64 {
    let metrics = db.store().own_metrics();
    let metric = metrics.iter().find(|m| m.name == "braid_store_ingested_commits_total");
    let StoreValue::Counter(count) = metric.expect("the metric").value else { panic!("a counter") };
    count
}

/// A transaction that puts `value` under these keys.
fn puts(db: &Database, keys: impl Iterator<Item = u32>, value: &str) -> Arc<Transaction> {
    let t = serializable(db);
    let s = t.next_statement();
    keys.for_each(|i| t.put(s, key(i), value.as_bytes().to_vec()).unwrap());
    t
}

async fn everything(db: &Database) -> Pairs {
    all(&serializable(db), "a", "z").await
}

/// Puts, deletes and range deletes of one commit are visible together, old snapshots see what was
/// there before, small commits go on above them, and a restart changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn large_commits_are_as_small_ones_to_all_readers() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    let mut expected = Pairs::new();
    puts(&db, 0..200, "first").commit_or_error().await.unwrap();
    expected.extend((0..200).map(|i| (key(i), "first".to_owned())));
    assert!(everything(&db).await == expected);
    put(&db, &[(&key(7), "small")]).await;
    expected.insert(key(7), "small".to_owned());
    let old = serializable(&db);
    assert!(all(&old, "a", "z").await == expected);
    let before = expected.clone();

    // Over values in the memtable and in tables; a put after the range delete of its key.
    let t = serializable(&db);
    let s = t.next_statement();
    t.writes().delete_span(s, Span::new(key(100), key(150))).unwrap();
    let s = t.next_statement();
    (0..60).for_each(|i| t.put(s, key(1000 + i), "many".as_bytes()).unwrap());
    t.put(s, key(120), "again".as_bytes()).unwrap();
    t.put(s, key(7), "large".as_bytes()).unwrap();
    t.commit_or_error().await.unwrap();
    drop(t);
    expected.retain(|k, _| *k < key(100) || *k >= key(150));
    expected.extend((1000..1060).map(|i| (key(i), "many".to_owned())));
    expected.insert(key(120), "again".to_owned());
    expected.insert(key(7), "large".to_owned());
    assert!(everything(&db).await == expected);
    assert!(all(&old, "a", "z").await == before, "the old snapshot");

    // Deletes alone.
    let t = serializable(&db);
    let s = t.next_statement();
    (150..200).for_each(|i| t.delete(s, key(i)).unwrap());
    t.commit_or_error().await.unwrap();
    expected.retain(|k, _| *k < key(150) || *k >= key(200));
    put(&db, &[(&key(120), "small again"), (&key(160), "new")]).await;
    expected.insert(key(120), "small again".to_owned());
    expected.insert(key(160), "new".to_owned());
    assert!(everything(&db).await == expected);
    assert_eq!(ingested(&db), 3);
    assert!(all(&old, "a", "z").await == before, "the old snapshot");
    drop((old, t));
    db.close().await.unwrap();
    drop(db);
    let db = open_with(dir.path(), options());
    assert!(everything(&db).await == expected, "after a restart");
}

/// Rows that small commits have put, and one large commit has deleted, stay away, although a
/// compaction has dropped both before the restart, and the journal still has the puts.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_large_commit_has_deleted_stays_away() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let db = open_with(dir.path(), options());
        assert!(everything(&db).await.is_empty(), "before round {round}");
        for i in 0..2 * LARGE as u32 {
            put(&db, &[(&key(i), "small")]).await;
        }
        puts(&db, 500..500 + 2 * LARGE as u32, "large").commit_or_error().await.unwrap();
        let t = serializable(&db);
        let s = t.next_statement();
        (0..1_000).for_each(|i| t.delete(s, key(i)).unwrap());
        t.commit_or_error().await.unwrap();
        drop(t);
        assert_eq!(ingested(&db), 2);
        assert!(everything(&db).await.is_empty(), "round {round}");
        db.close().await.unwrap();
        drop(db);
        // A merge into the last level drops deletions together with what they cover.
        let fjall = fjall::Database::builder(dir.path().join("store")).open().unwrap();
        let data = fjall.keyspace("data", fjall::KeyspaceCreateOptions::default).unwrap();
        data.rotate_memtable_and_wait().unwrap();
        data.major_compact().unwrap();
    }
    let db = open_with(dir.path(), options());
    assert!(everything(&db).await.is_empty());
}

/// A commit that deletes single keys and ranges, and puts nothing, goes through the journal: there
/// is no key by which the next start would know that its tables are there.
#[tokio::test(flavor = "multi_thread")]
async fn ranges_without_a_put_go_through_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    puts(&db, 0..200, "first").commit_or_error().await.unwrap();
    let t = serializable(&db);
    let s = t.next_statement();
    t.writes().delete_span(s, Span::new(key(100), key(150))).unwrap();
    (0..100).for_each(|i| t.delete(s, key(i)).unwrap());
    t.commit_or_error().await.unwrap();
    drop(t);
    assert_eq!(ingested(&db), 1);
    assert_eq!(everything(&db).await.len(), 50);
}

/// The marker among the data is no key of a user: nobody reads, overwrites or deletes it.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_store_itself_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    puts(&db, 0..100, "first").commit_or_error().await.unwrap();
    let t = serializable(&db);
    let s = t.next_statement();
    (0..100).for_each(|i| t.delete(s, key(i)).unwrap());
    t.commit_or_error().await.unwrap();
    drop(t);
    assert!(all(&serializable(&db), "a", "\u{7f}").await.is_empty());
    let t = serializable(&db);
    t.put(t.next_statement(), [0xff, 1], "x".as_bytes()).unwrap();
    assert!(matches!(t.commit().await, Err(Error::Storage(_))));
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("a", [0xff, 1])).unwrap();
    assert!(matches!(t.commit().await, Err(Error::Storage(_))));
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("a", [0xff])).unwrap();
    t.commit_or_error().await.unwrap();
}

/// A large commit conflicts as any other, with what came before it and with what comes after.
#[tokio::test(flavor = "multi_thread")]
async fn large_commits_conflict_as_small_ones_do() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), options());
    put(&db, &[(&key(1), "1"), (&key(900), "1")]).await;
    let reader = serializable(&db);
    read(&reader, &key(30)).await;
    reader.put(reader.next_statement(), key(901), "x".as_bytes()).unwrap();
    let large = puts(&db, 10..10 + LARGE as u32, "large");
    read(&large, &key(900)).await;
    large.commit_or_error().await.unwrap();
    assert!(matches!(reader.commit().await.unwrap(), CommitOutcome::Retry(_)), "it has read 30");
    let large = puts(&db, 200..200 + LARGE as u32, "large");
    read(&large, &key(900)).await;
    put(&db, &[(&key(900), "2")]).await;
    assert!(matches!(large.commit().await.unwrap(), CommitOutcome::Retry(_)), "it has read 900");
    // A key that must not exist.
    let large = puts(&db, 300..300 + LARGE as u32, "large");
    large.put_new(large.next_statement(), key(1), "x".as_bytes()).unwrap();
    assert!(matches!(large.commit().await, Err(Error::Duplicate { .. })));
    let found = everything(&db).await;
    assert_eq!(found.len(), 2 + LARGE);
    assert_eq!(ingested(&db), 1);
}

/// If the sync fails, the outcome is unknown and the store stops. The next start has all of the
/// commit or nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_commit_whose_sync_fails_is_not_half_there() {
    for ranges in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let fail = Arc::new(AtomicBool::new(false));
        let db =
            open_with(dir.path(), EmbeddedOptions { fail_syncs: Some(fail.clone()), ..options() });
        puts(&db, 0..100, "first").commit_or_error().await.unwrap();
        fail.store(true, Relaxed);
        let t = serializable(&db);
        let s = t.next_statement();
        if ranges {
            t.writes().delete_span(s, Span::new("k", "l")).unwrap();
        }
        let s = t.next_statement();
        (50..150).for_each(|i| t.put(s, key(i), "second".as_bytes()).unwrap());
        assert_eq!(t.commit().await.unwrap(), CommitOutcome::Unknown);
        drop(t);
        assert!(matches!(db.close().await, Err(Error::Stopped(_))));
        drop(db);
        let db = open_with(dir.path(), options());
        let found = everything(&db).await;
        assert!(found == (0..100).map(|i| (key(i), "first".to_owned())).collect::<Pairs>());
        put(&db, &[("m", "1")]).await;
    }
}
