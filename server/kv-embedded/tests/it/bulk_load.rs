//! Bulk loads beside writers, scans, old snapshots, and the end of the process.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{BulkLoad, Database, Error, Loaded, Span};
use braid_kv_embedded::EmbeddedOptions;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

fn span() -> Span {
    Span::new("i", "j")
}

async fn begin_load(db: &Database) -> Box<dyn BulkLoad> {
    db.store().bulk_load(span()).await.unwrap().expect("the store has bulk loads")
}

fn key(i: u32) -> String {
    format!("i{i:05}")
}

fn add(load: &mut dyn BulkLoad, keys: impl Iterator<Item = u32>, value: &str) {
    for i in keys {
        load.add(key(i).as_bytes(), value.as_bytes());
    }
}

/// Ends a load on a thread of its own; `gate` runs when everything is written.
async fn finish(
    load: Box<dyn BulkLoad>,
    gate: impl FnOnce() + Send + 'static,
) -> Result<Loaded, Error> {
    let mut gate = Some(gate);
    let end = move || {
        load.finish(&AtomicBool::new(false), &mut || {
            gate.take().expect("one gate")();
            true
        })
    };
    tokio::task::spawn_blocking(end).await.unwrap()
}

async fn loaded(db: &Database) -> BTreeMap<String, String> {
    all(&serializable(db), "i", "j").await
}

/// What writers put and delete stands, whether they come before the pairs are written or when all
/// of them are. A snapshot from before sees none of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_meanwhile_stands_and_old_snapshots_see_nothing() {
    for spills in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path());
        put(&db, &[("a", "1"), (&key(5), "before")]).await;
        let mut load = begin_load(&db).await;
        let old = serializable(&db);
        assert_eq!(all(&old, "i", "j").await.len(), 1);
        add(load.as_mut(), (0..3_000).rev(), "loaded");
        if spills {
            load.spill().unwrap();
            assert_eq!(load.memory_bytes(), 0);
        }
        add(load.as_mut(), 3_000..6_000, "loaded");
        put(&db, &[(&key(10), "theirs"), (&key(11), "theirs"), (&key(9_000), "theirs")]).await;
        let t = serializable(&db);
        t.delete(t.next_statement(), key(11)).unwrap();
        t.delete(t.next_statement(), key(12)).unwrap();
        t.commit_or_error().await.unwrap();
        let (late, handle) = (db.clone(), tokio::runtime::Handle::current());
        let outcome = finish(load, move || {
            handle.block_on(async {
                put(&late, &[(&key(20), "late")]).await;
                let t = serializable(&late);
                t.delete(t.next_statement(), key(21)).unwrap();
                t.commit_or_error().await.unwrap();
            });
        });
        let Loaded::Visible(overlapped) = outcome.await.unwrap() else { panic!("is visible") };
        let mut expected: BTreeMap<String, String> =
            (0..6_000).map(|i| (key(i), "loaded".to_owned())).collect();
        for (i, value) in [(10, "theirs"), (9_000, "theirs"), (20, "late")] {
            expected.insert(key(i), value.to_owned());
        }
        [11, 12, 21].iter().for_each(|i| drop(expected.remove(&key(*i))));
        let had = |i: u32, values: &[&str]| {
            let values = values.iter().map(|v| v.as_bytes().to_vec().into()).collect();
            (key(i).into_bytes(), values)
        };
        let seen = [
            had(10, &["theirs", "loaded"]),
            had(11, &["theirs", "loaded"]),
            had(12, &["loaded"]),
            had(20, &["late", "loaded"]),
            had(21, &["loaded"]),
            had(9_000, &["theirs"]),
        ];
        assert_eq!(overlapped, seen);
        assert!(loaded(&db).await == expected);
        assert_eq!(all(&old, "i", "j").await.len(), 1, "the old snapshot");
        drop((old, t));
        db.close().await.unwrap();
        drop(db);
        let db = open(dir.path());
        assert!(loaded(&db).await == expected, "after a restart");
        put(&db, &[("a", "2")]).await;
    }
}

/// A scan that has seen the span empty leaves that in the map of empty spans and in the range
/// cache: the load has to take it out, for its own snapshot and for scans still under way.
#[tokio::test(flavor = "multi_thread")]
async fn scans_that_saw_the_span_empty_hide_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions {
        empty_span_deletes_min: 1,
        range_cache_scan_bytes_min: 0,
        ..EmbeddedOptions::default()
    };
    let db = open_with(dir.path(), options);
    put(&db, &[(&key(1), "1"), (&key(2), "2"), ("k", "1")]).await;
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), span()).unwrap();
    t.commit_or_error().await.unwrap();
    assert!(loaded(&db).await.is_empty());
    let mut load = begin_load(&db).await;
    let before = serializable(&db);
    assert!(all(&before, "a", "z").await.len() == 1);
    add(load.as_mut(), 0..100, "loaded");
    finish(load, || ()).await.unwrap();
    // It still sees nothing there, and must not enter that for those who come later.
    assert!(all(&before, "i", "j").await.is_empty());
    assert_eq!(loaded(&db).await.len(), 100);
    assert_eq!(all(&serializable(&db), "a", "z").await.len(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_does_not_end_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("a", "1")]).await;
    // Two pairs with one key.
    let mut load = begin_load(&db).await;
    add(load.as_mut(), 0..5_000, "x");
    load.add(key(77).as_bytes(), b"y");
    let twice = finish(load, || panic!("no gate")).await.unwrap();
    let Loaded::Twice(found, mut values) = twice else { panic!("{twice:?}") };
    values.sort();
    assert_eq!(
        (found, values),
        (key(77).into_bytes(), [b"x".to_vec().into(), b"y".to_vec().into()])
    );
    // A range delete of others over it.
    let mut load = begin_load(&db).await;
    add(load.as_mut(), 0..5_000, "x");
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("i0001", "i0002")).unwrap();
    t.commit_or_error().await.unwrap();
    assert_eq!(finish(load, || ()).await.unwrap(), Loaded::Overtaken);
    // Dropped, stopped, refused.
    let mut load = begin_load(&db).await;
    add(load.as_mut(), 0..10, "x");
    load.spill().unwrap();
    drop(load);
    for (stop, gate) in [(true, true), (false, false)] {
        let mut load = begin_load(&db).await;
        add(load.as_mut(), 0..5_000, "x");
        let end = move || load.finish(&AtomicBool::new(stop), &mut || gate);
        let outcome = tokio::task::spawn_blocking(end).await.unwrap().unwrap();
        assert_eq!(outcome, Loaded::Stopped);
    }
    assert!(loaded(&db).await.is_empty());
    drop(t);
    db.close().await.unwrap();
    drop(db);
    assert!(loaded(&open(dir.path())).await.is_empty(), "after a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_a_load_before_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let options =
        EmbeddedOptions { disk_reserve_bytes: u64::MAX / 2, ..EmbeddedOptions::default() };
    let db = open_with(dir.path(), options);
    let mut load = begin_load(&db).await;
    add(load.as_mut(), 0..10, "x");
    assert!(matches!(load.spill(), Err(Error::DiskFull(_))));
    assert!(matches!(finish(load, || ()).await, Err(Error::DiskFull(_))));
}

/// Commits beside loads form a chain without a gap, and every one of them is there after the end of
/// a process that did not stop cleanly.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_beside_loads_are_in_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let (stop, done) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let writing = async {
        while !stop.load(Relaxed) {
            let n = done.load(Relaxed);
            put(&db, &[(&format!("w{n:06}"), "x"), (&key(n as u32 % 3_000), "theirs")]).await;
            done.fetch_add(1, Relaxed);
            tokio::task::yield_now().await;
        }
    };
    let loading = async {
        for _ in 0..5 {
            let mut load = begin_load(&db).await;
            add(load.as_mut(), 0..3_000, "loaded");
            finish(load, || ()).await.unwrap();
        }
        stop.store(true, Relaxed);
    };
    tokio::join!(writing, loading);
    let expected = loaded(&db).await;
    // The files as a kill would leave them.
    let copy = tempfile::tempdir().unwrap();
    let from = dir.path().to_str().unwrap();
    let to = copy.path().join("data");
    // A file that the store removes meanwhile fails a copy.
    let mut copies = (0..5).map(|_| {
        std::fs::remove_dir_all(&to).ok();
        std::process::Command::new("cp").args(["-r", from]).arg(&to).status().unwrap()
    });
    assert!(copies.any(|status| status.success()));
    let db = open(&to);
    let n = done.load(Relaxed);
    assert!(n > 0);
    assert_eq!(all(&serializable(&db), "w", "x").await.len() as u64, n);
    let found = loaded(&db).await;
    assert_eq!(found.len(), expected.len());
    assert!(found == expected);
}
