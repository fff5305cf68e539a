//! Observers learn of commits in their order, and only of commits.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{CommitObserver, Timestamp};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

/// Notes each commit, and what was visible then.
struct Noter {
    noted: Arc<Mutex<Vec<Timestamp>>>,
    last: Arc<AtomicU64>,
}

impl CommitObserver for Noter {
    fn committed(&self, at: Timestamp) {
        self.noted.lock().unwrap().push(at);
        self.last.fetch_max(at.0, Ordering::Release);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn observers_are_told_in_the_order_of_commits() {
    const TASKS: usize = 16;
    const ROUNDS: usize = 50;
    let dir = tempfile::tempdir().unwrap();
    let db = open_with(dir.path(), braid_kv_embedded::EmbeddedOptions::default());
    let noted = Arc::new(Mutex::new(Vec::new()));
    let last = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let (db, noted, last) = (db.clone(), noted.clone(), last.clone());
        tasks.push(tokio::spawn(async move {
            for round in 0..ROUNDS {
                let txn = serializable(&db);
                let seq = txn.next_statement();
                // One in three writes nothing and has its place all the same.
                if round % 3 > 0 {
                    let key = format!("{task} {round}").into_bytes();
                    txn.put(seq, key, braid_kv::Value::from_static(b"x")).unwrap();
                }
                txn.commit_terms()
                    .observe(Arc::new(Noter { noted: noted.clone(), last: last.clone() }));
                if round % 5 == 0 {
                    txn.rollback().await;
                    continue;
                }
                let at = txn.commit_or_error().await.unwrap();
                assert!(last.load(Ordering::Acquire) >= at.0, "told before the answer");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let noted = noted.lock().unwrap();
    assert_eq!(noted.len(), TASKS * ROUNDS * 4 / 5);
    assert!(noted.windows(2).all(|pair| pair[0] < pair[1]), "{noted:?}");
}
