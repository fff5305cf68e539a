//! Rules of the kv contract that are easy to get wrong, and failures of the disk.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{
    CommitOutcome, Database, DatabaseOptions, Error, Isolation, LockRequest, Record, Span,
};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore, OpenError};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

#[tokio::test]
async fn a_key_that_only_has_to_exist_may_change_but_not_go() {
    let dir = tempfile::tempdir().unwrap();
    for bytes in [1usize, 64 << 20] {
        // With a tiny index of recent writes the keys are looked at again.
        let options = EmbeddedOptions { recent_bytes_max: bytes, ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open(dir.path(), options).unwrap();
        let db = Database::new(Arc::new(store), DatabaseOptions::default());
        let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
        for (level, case) in levels.iter().flat_map(|level| (0..4).map(move |case| (*level, case)))
        {
            put(&db, &[("parent", "1")]).await;
            let t = begin(&db, level);
            let s = t.next_statement();
            t.put(s, "child", "1".as_bytes()).unwrap();
            let record = Record::Exists { tag: 7 };
            assert!(t.reads().get_recorded(s.after(), b"parent", record).await.unwrap().is_some());
            let other = serializable(&db);
            let seq = other.next_statement();
            match case {
                0 => other.put(seq, "parent", "2".as_bytes()).unwrap(),
                1 => other.delete(seq, "parent").unwrap(),
                2 => other.writes().delete_span(seq, Span::new("p", "q")).unwrap(),
                _ => {
                    other.delete(seq, "parent").unwrap();
                    other.put(other.next_statement(), "parent", "3".as_bytes()).unwrap();
                }
            }
            other.commit_or_error().await.unwrap();
            put(&db, &[("other", "1")]).await;
            let outcome = t.commit().await;
            match (case, level) {
                (0 | 3, _) => assert!(matches!(outcome, Ok(CommitOutcome::Committed(_)))),
                (_, Isolation::Serializable) => {
                    assert!(matches!(outcome, Ok(CommitOutcome::Retry(_))), "{case}");
                }
                _ => assert!(matches!(outcome, Err(Error::CheckChanged(c)) if c.tag == 7)),
            }
        }
    }
}

#[tokio::test]
async fn a_lock_request_that_outlives_its_transaction_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let [first, last, late] = [(); 3].map(|()| serializable(&db));
    let bytes = |key: &&str| key.as_bytes().to_vec();
    let keys = |keys: &[&str]| LockRequest::keys(keys.iter().map(bytes).collect());
    first.lock(first.next_statement(), keys(&["a"])).await.unwrap();
    last.lock(last.next_statement(), keys(&["c"])).await.unwrap();
    let mut request = Box::pin(late.lock(late.next_statement(), keys(&["a", "b", "c"])));
    assert!(futures_util::poll!(&mut request).is_pending(), "\"a\" is held");
    // Now it has "a", and does not know yet.
    first.rollback().await;
    late.rollback().await;
    assert!(futures_util::poll!(&mut request).is_pending(), "\"c\" is held");
    drop(request);
    last.rollback().await;
    assert_eq!(db.store().locks(), []);
}

#[tokio::test]
async fn a_failed_sync_is_unknown_and_stops_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let (fails, fatal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let options = EmbeddedOptions {
        fail_syncs: Some(fails.clone()),
        on_fatal: Some(Arc::new({
            let fatal = fatal.clone();
            move |_: &str| {
                fatal.fetch_add(1, Relaxed);
            }
        })),
        ..EmbeddedOptions::default()
    };
    let db = open_with(dir.path(), options);
    put(&db, &[("a", "1")]).await;
    let before = serializable(&db);
    assert_eq!(read(&before, "a").await.as_deref(), Some("1"));
    fails.store(true, Relaxed);
    let t = serializable(&db);
    t.put(t.next_statement(), "a", "2".as_bytes()).unwrap();
    assert_eq!(t.commit().await, Ok(CommitOutcome::Unknown));
    assert_eq!(read(&before, "a").await.as_deref(), Some("1"), "what was seen stays readable");
    let late = serializable(&db);
    late.put(late.next_statement(), "a", "3".as_bytes()).unwrap();
    assert!(matches!(late.commit().await, Err(Error::Stopped(_))));
    assert!(db.close().await.is_err());
    assert_eq!(fatal.load(Relaxed), 1);
    drop((before, t, late, db));
    let db = open(dir.path());
    assert!(["1", "2"].contains(&get(&db, "a").await.unwrap().as_str()));
}

#[tokio::test]
async fn waits_side_by_side_are_one_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), EmbeddedOptions::default()).unwrap();
    let simulate_rtt = Some(std::time::Duration::from_millis(10));
    let options = DatabaseOptions { simulate_rtt, ..DatabaseOptions::default() };
    let db = Database::new(Arc::new(store), options);
    let t = serializable(&db);
    let s = t.next_statement();
    let start = std::time::Instant::now();
    let (a, b) = tokio::join!(t.get(s, b"a"), t.get(s, b"b"));
    assert!(a.unwrap().is_none() && b.unwrap().is_none());
    assert_eq!(t.round_trips().count(), 1);
    t.get(s, b"c").await.unwrap();
    assert_eq!(t.round_trips().count(), 2);
    assert!(start.elapsed().as_millis() >= 20);
}

/// Every file of the store, damaged one by one: opening refuses, or everything is there all the
/// same. It never panics.
#[tokio::test]
async fn a_damaged_store_is_refused_or_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let original = dir.path().join("original");
    let db = open(&original);
    put(&db, &[("a", "1"), ("b", "2")]).await;
    db.close().await.unwrap();
    drop(db);
    let mut refused = 0;
    for (i, file) in files(&original.join("store")).into_iter().enumerate() {
        let copy = dir.path().join(format!("copy{i}"));
        copy_folder(&original, &copy);
        let target = copy.join(file.strip_prefix(&original).unwrap());
        let mut bytes = fs::read(&target).unwrap();
        let end = bytes.len().min(4096);
        bytes[..end].iter_mut().for_each(|b| *b ^= 0x5a);
        fs::write(&target, bytes).unwrap();
        match EmbeddedStore::open(&copy, EmbeddedOptions::default()) {
            Ok(store) => {
                let db = Database::new(Arc::new(store), DatabaseOptions::default());
                let found = all(&serializable(&db), "a", "z").await;
                assert_eq!(found.len(), 2, "{} was damaged unnoticed", target.display());
            }
            Err(OpenError::Corrupt { .. } | OpenError::Io { .. }) => refused += 1,
            Err(other) => panic!("{}: {other}", target.display()),
        }
    }
    assert!(refused > 0);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy_folder(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

/// ROLLBACK TO takes back what came after the savepoint and counts the checked keys right; its
/// work does not grow with what stays.
#[tokio::test]
async fn rollback_to_looks_only_at_what_came_after_the_savepoint() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    put(&db, &[("taken", "1")]).await;
    let t = begin(&db, Isolation::Serializable);
    let s = t.next_statement();
    for number in 0..50_000 {
        t.put_new(s, format!("old{number:05}"), "1".as_bytes()).unwrap();
    }
    assert!(t.writes().check_new_keys().await.unwrap().is_empty());
    // Walking over everything, or comparing all with all, would take minutes here.
    for round in 0..2_000 {
        let savepoint = t.savepoint();
        let s = t.next_statement();
        t.put_new(s, format!("new{round}"), "1".as_bytes()).unwrap();
        t.put(s, "old00001", "2".as_bytes()).unwrap();
        t.writes().delete_span(s, Span::new("x", "y")).unwrap();
        if round % 2 == 0 {
            assert!(t.writes().check_new_keys().await.unwrap().is_empty());
        }
        t.rollback_to(savepoint);
    }
    // What is put behind a savepoint is still to be checked after another was taken back.
    let s = t.next_statement();
    t.put_new(s, "taken", "2".as_bytes()).unwrap();
    let found = t.writes().check_new_keys().await.unwrap();
    assert_eq!(found.iter().map(|new| &*new.key).collect::<Vec<_>>(), [b"taken"]);
}
