//! Who leads a commit: a caller who is alone, else the committer's thread; and that a caller who
//! leads keeps every promise that the thread keeps.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{CommitOutcome, Error};
use braid_kv_embedded::EmbeddedOptions;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

const THREAD: &str = "braid-committer";

/// Commits alone until callers lead, then lets the next sync fail; returns the thread that led.
async fn leader_of_a_failed_commit() -> String {
    let dir = tempfile::tempdir().unwrap();
    let fail = Arc::new(AtomicBool::new(false));
    let leader = Arc::new(Mutex::new(None));
    let noted = leader.clone();
    let options = EmbeddedOptions {
        fail_syncs: Some(fail.clone()),
        on_fatal: Some(Arc::new(move |_| {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            *noted.lock().unwrap() = Some(name);
        })),
        ..EmbeddedOptions::default()
    };
    let db = open_with(dir.path(), options);
    for i in 0..5 {
        // The committer is given back right after the answer; be alone for sure.
        tokio::time::sleep(Duration::from_millis(20)).await;
        put(&db, &[(&format!("k{i}"), "1")]).await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    fail.store(true, Relaxed);
    let t = serializable(&db);
    t.put(t.next_statement(), "lost", "1".as_bytes()).unwrap();
    assert_eq!(t.commit().await.unwrap(), CommitOutcome::Unknown);
    assert_eq!(get_stopped(&db).await, None, "what was not synced is not to be seen");
    let t = serializable(&db);
    let refused = t.put(t.next_statement(), "more", "1".as_bytes());
    let refused = match refused {
        Ok(()) => t.commit().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(refused, Err(Error::Stopped(_))), "{refused:?}");
    // The thread ends as well: closing does not hang.
    assert!(matches!(db.close().await, Err(Error::Stopped(_))));
    leader.lock().unwrap().clone().expect("the hook was called")
}

/// A stopped store shows nothing any more.
async fn get_stopped(db: &braid_kv::Database) -> Option<String> {
    let t = serializable(db);
    match t.get(t.next_statement(), b"lost").await {
        Ok(value) => value.map(|v| String::from_utf8(v.to_vec()).unwrap()),
        Err(error) => {
            assert!(matches!(error, Error::Stopped(_)), "{error}");
            None
        }
    }
}

#[test]
fn a_caller_alone_leads_its_own_commit_and_stops_the_store_if_its_sync_fails() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    let task = runtime.spawn(leader_of_a_failed_commit());
    assert_ne!(runtime.block_on(task).unwrap(), THREAD);
}

#[tokio::test]
async fn where_one_thread_runs_every_task_the_committers_own_leads() {
    assert_eq!(leader_of_a_failed_commit().await, THREAD);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_leader_with_slow_syncs_makes_way_for_other_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(300);
    let options = EmbeddedOptions { sync_delay: Some(delay), ..EmbeddedOptions::default() };
    let db = open_with(dir.path(), options);
    let ticks = Arc::new(AtomicU32::new(0));
    let counter = ticks.clone();
    let ticker = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            counter.fetch_add(1, Relaxed);
        }
    });
    let commits = tokio::spawn(async move {
        for i in 0..6 {
            let before = ticks.load(Relaxed);
            put(&db, &[(&format!("k{i}"), "1")]).await;
            let during = ticks.load(Relaxed) - before;
            assert!(during >= 5, "commit {i}: others ran {during} times in {delay:?}");
        }
    });
    commits.await.unwrap();
    ticker.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_closed_while_a_caller_leads_finishes_its_commit() {
    let dir = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions {
        sync_delay: Some(Duration::from_millis(100)),
        ..EmbeddedOptions::default()
    };
    let db = open_with(dir.path(), options);
    for i in 0..3 {
        put(&db, &[(&format!("k{i}"), "1")]).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let writer = {
        let db = db.clone();
        tokio::spawn(async move { put(&db, &[("last", "1")]).await })
    };
    tokio::time::sleep(Duration::from_millis(30)).await;
    let closer = db.clone();
    tokio::task::spawn_blocking(move || futures_util::FutureExt::now_or_never(closer.close()))
        .await
        .unwrap();
    writer.await.unwrap();
    drop(db);
    let db = open(dir.path());
    assert_eq!(get(&db, "last").await.as_deref(), Some("1"));
}
