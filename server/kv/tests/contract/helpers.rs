//! Short ways to transactions, for tests.

use braid_kv::{Database, Isolation, ScanRequest, Span, Transaction, TxnOptions};
use std::{collections::BTreeMap, sync::Arc};

pub(crate) fn begin(db: &Database, isolation: Isolation) -> Arc<Transaction> {
    db.begin(TxnOptions { isolation, ..TxnOptions::default() })
}

pub(crate) fn serializable(db: &Database) -> Arc<Transaction> {
    begin(db, Isolation::Serializable)
}

pub(crate) async fn put(db: &Database, pairs: &[(&str, &str)]) {
    let t = serializable(db);
    let s = t.next_statement();
    for (key, value) in pairs {
        t.put(s, key, value.as_bytes().to_vec()).unwrap();
    }
    t.commit_or_error().await.unwrap();
}

pub(crate) async fn get(db: &Database, key: &str) -> Option<String> {
    let t = serializable(db);
    read(&t, key).await
}

pub(crate) async fn read(t: &Transaction, key: &str) -> Option<String> {
    let s = t.next_statement();
    let value = t.get(s, key.as_bytes()).await.unwrap();
    value.map(|v| String::from_utf8(v.to_vec()).unwrap())
}

/// Everything in `[start, end)` as the next statement sees it.
pub(crate) async fn all(t: &Arc<Transaction>, start: &str, end: &str) -> BTreeMap<String, String> {
    let s = t.next_statement();
    let mut scanner = t.scanner(s, ScanRequest::new(Span::new(start, end)));
    let mut found = BTreeMap::new();
    while let Some(batch) = scanner.next_batch().await.unwrap() {
        for (key, value) in batch.iter() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            found.insert(text(key), text(value));
        }
    }
    found
}
