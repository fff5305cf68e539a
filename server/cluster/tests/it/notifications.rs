//! Rows of notifications: numbers without holes, and the removal of old ones.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use braid_cluster::{
    NOTIFICATION_RETENTION, NotificationRow, append_notifications, newest_notification,
    notification_rows, remove_old_notifications,
};
use braid_kv::{Database, DatabaseOptions, Isolation, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};

fn open(dir: &tempfile::TempDir) -> Database {
    let store = EmbeddedStore::open(dir.path(), EmbeddedOptions::default()).unwrap();
    Database::new(Arc::new(store), DatabaseOptions::default())
}

fn row(micros: i64, payload: &str) -> NotificationRow {
    let sent = vec![("c".to_owned(), payload.to_owned())];
    NotificationRow { database: 1, pid: 2, micros, sent }
}

async fn numbers(kv: &Database, after: u64) -> Vec<u64> {
    notification_rows(kv, after).await.unwrap().into_iter().map(|(number, _)| number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn old_rows_go_and_the_newest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(&dir);
    assert_eq!(newest_notification(&kv).await.unwrap(), 0);
    for number in 0..3 {
        let txn = kv.begin(TxnOptions::default());
        let rows = [row(0, "a"), row(0, "b")];
        assert_eq!(append_notifications(&txn, &rows).await.unwrap(), 2 * number);
        txn.commit_or_error().await.unwrap();
    }
    let aborted = kv.begin(TxnOptions::default());
    append_notifications(&aborted, &[row(0, "lost")]).await.unwrap();
    aborted.rollback().await;
    assert_eq!(numbers(&kv, 0).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(&kv, 4).await, [5, 6]);
    let retention = i64::try_from(NOTIFICATION_RETENTION.as_micros()).unwrap();
    assert_eq!(remove_old_notifications(&kv, retention).await.unwrap(), 0);
    assert_eq!(remove_old_notifications(&kv, retention + 1).await.unwrap(), 5);
    assert_eq!(numbers(&kv, 0).await, [6]);
    let txn = kv.begin(TxnOptions::default());
    append_notifications(&txn, &[row(retention, "young")]).await.unwrap();
    txn.commit_or_error().await.unwrap();
    assert_eq!(remove_old_notifications(&kv, retention + 1).await.unwrap(), 1);
    assert_eq!(numbers(&kv, 0).await, [7]);
    kv.close().await.unwrap();
}

/// At no level is another sender's row a conflict, and each commit has the next numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn numbers_follow_the_order_of_commits() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(&dir);
    let levels = [Isolation::Serializable, Isolation::RepeatableRead, Isolation::ReadCommitted];
    let mut tasks = Vec::new();
    for task in 0..9usize {
        let kv = kv.clone();
        tasks.push(tokio::spawn(async move {
            let mut commits = Vec::new();
            for _ in 0..10 {
                let isolation = levels[task % 3];
                let txn = kv.begin(TxnOptions { isolation, ..TxnOptions::default() });
                // The snapshot is older than the rows of others.
                txn.get(txn.next_statement(), b"x").await.unwrap();
                tokio::task::yield_now().await;
                let last = append_notifications(&txn, &[row(0, "a")]).await.unwrap();
                commits.push((txn.commit_or_error().await.unwrap(), last + 1));
            }
            commits
        }));
    }
    let mut commits = Vec::new();
    for task in tasks {
        commits.extend(task.await.unwrap());
    }
    commits.sort();
    let taken: Vec<u64> = commits.into_iter().map(|(_, number)| number).collect();
    assert_eq!(taken, (1..=90).collect::<Vec<u64>>());
    assert_eq!(numbers(&kv, 0).await, taken);
    kv.close().await.unwrap();
}
