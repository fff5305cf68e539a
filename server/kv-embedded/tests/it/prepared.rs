//! Prepared transactions: their locks after every step, their return, and what refuses them.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{
    Database, Error, Isolation, Key, LockRequest, LockWait, Preparation, PreparedTransaction,
    RetryReason, Span, TxnOptions, Value,
};
use braid_kv_embedded::EmbeddedOptions;
use std::path::Path;

const RECORDS: &[u8] = b"\x01records";

/// Prepares a transaction that has read `read` and writes `written`.
async fn prepare(db: &Database, read: &str, written: &str) -> PreparedTransaction {
    let txn = serializable(db);
    txn.get(txn.next_statement(), read.as_bytes()).await.unwrap();
    txn.put(txn.next_statement(), written, Value::from_static(b"new")).unwrap();
    let preparation = Preparation::begin(&txn).await.unwrap();
    preparation.prepare(RECORDS.to_vec(), Value::from_static(b"about")).await.unwrap()
}

async fn restore(db: &Database) -> Vec<(Value, PreparedTransaction)> {
    db.restore_prepared(Span::prefix(RECORDS)).await.unwrap()
}

async fn reopen(path: &Path, db: Database) -> Database {
    db.close().await.unwrap();
    drop(db);
    open(path)
}

async fn read(db: &Database, key: &str) -> Option<Value> {
    let txn = serializable(db);
    txn.get(txn.next_statement(), key.as_bytes()).await.unwrap()
}

/// Whether somebody else could write the key now.
async fn is_free(db: &Database, key: &str) -> bool {
    let txn = serializable(db);
    let keys: Vec<Key> = vec![key.as_bytes().to_vec()];
    let request = LockRequest::keys(keys).wait(LockWait::NoWait);
    let result = txn.lock(txn.next_statement(), request).await;
    assert!(matches!(result, Ok(_) | Err(Error::LockNotAvailable { .. })), "{result:?}");
    result.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn its_locks_stay_until_it_ends_and_so_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    for commits in [true, false] {
        let mut db = open(dir.path());
        drop(prepare(&db, "read", "written").await);
        for reopens in [false, true] {
            if reopens {
                db = reopen(dir.path(), db).await;
                assert_eq!(restore(&db).await.len(), 1);
            }
            assert!(!is_free(&db, "read").await && !is_free(&db, "written").await);
            assert!(is_free(&db, "other").await);
            assert_eq!(read(&db, "written").await, None);
        }
        db = reopen(dir.path(), db).await;
        let (about, prepared) = restore(&db).await.pop().unwrap();
        assert_eq!(about, Value::from_static(b"about"));
        match commits {
            true => prepared.commit().await.unwrap(),
            false => prepared.rollback().await.unwrap(),
        }
        assert!(is_free(&db, "read").await && is_free(&db, "written").await);
        assert_eq!(read(&db, "written").await.is_some(), commits);
        assert!(restore(&db).await.is_empty());
        let txn = serializable(&db);
        txn.delete(txn.next_statement(), "written").unwrap();
        txn.commit_or_error().await.unwrap();
        db.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_refused_leaves_it_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    drop(prepare(&db, "read", "written").await);
    db.close().await.unwrap();
    drop(db);
    let full = EmbeddedOptions { disk_reserve_bytes: u64::MAX, ..EmbeddedOptions::default() };
    let db = open_with(dir.path(), full);
    let (_, prepared) = restore(&db).await.pop().unwrap();
    for _ in 0..2 {
        assert!(matches!(prepared.commit().await, Err(Error::DiskFull(_))));
        assert!(matches!(prepared.rollback().await, Err(Error::DiskFull(_))));
        assert!(!is_free(&db, "read").await && !is_free(&db, "written").await);
    }
    db.close().await.unwrap();
    drop((db, prepared));
    let db = open(dir.path());
    restore(&db).await.pop().unwrap().1.commit().await.unwrap();
    assert!(read(&db, "written").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_could_not_commit_cannot_be_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let write = async |key: &str| {
        let txn = serializable(&db);
        txn.put(txn.next_statement(), key, Value::from_static(b"x")).unwrap();
        txn.commit_or_error().await.unwrap();
    };
    write("a").await;
    for (isolation, read, changed) in [
        (Isolation::Serializable, "a", Some(RetryReason::ReadChanged)),
        (Isolation::RepeatableRead, "b", Some(RetryReason::WriteConflict)),
        (Isolation::ReadCommitted, "a", None),
    ] {
        let txn = db.begin(TxnOptions { isolation, ..TxnOptions::default() });
        txn.get(txn.next_statement(), read.as_bytes()).await.unwrap();
        write("a").await;
        txn.put(txn.next_statement(), "a", Value::from_static(b"y")).unwrap();
        let prepared = match Preparation::begin(&txn).await {
            Ok(locked) => locked.prepare(RECORDS.to_vec(), Value::new()).await,
            Err(error) => Err(error),
        };
        match (prepared, changed) {
            (Ok(prepared), None) => prepared.rollback().await.unwrap(),
            (Err(Error::Retry(conflict)), Some(reason)) => assert_eq!(conflict.reason, reason),
            (result, _) => panic!("{isolation:?}: {:?}", result.err()),
        }
        assert!(is_free(&db, "a").await, "{isolation:?}");
    }
    let txn = serializable(&db);
    txn.put_new(txn.next_statement(), "a", Value::from_static(b"z")).unwrap();
    let preparation = Preparation::begin(&txn).await.unwrap();
    let result = preparation.prepare(RECORDS.to_vec(), Value::new()).await;
    assert!(matches!(result, Err(Error::Duplicate { .. })));
    assert!(is_free(&db, "a").await && restore(&db).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preparation_that_is_dropped_gives_its_locks_back() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let txn = serializable(&db);
    txn.put(txn.next_statement(), "a", Value::new()).unwrap();
    let preparation = Preparation::begin(&txn).await.unwrap();
    assert!(!is_free(&db, "a").await);
    drop(preparation);
    assert!(is_free(&db, "a").await);
    assert!(matches!(txn.commit().await, Err(Error::Finished)));

    // One that waits for a lock when it is dropped.
    let holder = serializable(&db);
    let keys: Vec<Key> = vec![b"b".to_vec()];
    holder.lock(holder.next_statement(), LockRequest::keys(keys)).await.unwrap();
    let txn = serializable(&db);
    let seq = txn.next_statement();
    txn.put(seq, "a", Value::new()).unwrap();
    txn.put(seq, "b", Value::new()).unwrap();
    let waits =
        tokio::time::timeout(std::time::Duration::from_millis(50), Preparation::begin(&txn));
    assert!(waits.await.is_err(), "it waits for the lock");
    assert!(is_free(&db, "a").await);
}
