//! Old versions of busy keys, and keys that are gone, do not slow scans down for long.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::Database;
use braid_kv_embedded::EmbeddedOptions;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the cleaner may take to notice.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_few_scans_over_many_old_versions_have_them_removed() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_unsynced(dir.path());
    for round in 0..40_000 {
        let value = round.to_string();
        put(&db, &[("a", &value), ("b", &value), ("c", &value)]).await;
    }
    let start = Instant::now();
    // Not many scans, and not close together: each is slow by itself.
    while db.store_metrics().compactions == 0 {
        assert!(start.elapsed() < PATIENCE, "nothing is compacted");
        let found = all(&serializable(&db), "a", "z").await;
        assert_eq!(found.into_values().collect::<Vec<_>>(), ["39999"; 3]);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let done = db.store_metrics().compactions;
    // Nothing was written since: slow or not, there is nothing more to gain.
    for _ in 0..20 {
        all(&serializable(&db), "a", "z").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(db.store_metrics().compactions, done);
    assert_eq!(all(&serializable(&db), "a", "z").await.len(), 3);
    let bytes = table_bytes(dir.path());
    assert!((1..100_000).contains(&bytes), "the old versions are in the tables: {bytes} bytes");
    db.close().await.unwrap();
}

/// A batch of many rows is slow as well if there are many versions of each.
#[tokio::test(flavor = "multi_thread")]
async fn old_versions_of_many_rows_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let db = open_unsynced(dir.path());
    let keys: Vec<String> = (0..600).map(|n| format!("k{n:04}")).collect();
    for round in 0..100 {
        let value = round.to_string();
        let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), &*value)).collect();
        put(&db, &pairs).await;
    }
    let start = Instant::now();
    while db.store_metrics().compactions == 0 {
        assert!(start.elapsed() < PATIENCE, "nothing is compacted");
        assert_eq!(all(&serializable(&db), "a", "z").await.len(), keys.len());
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let bytes = table_bytes(dir.path());
    assert!((1..200_000).contains(&bytes), "the old versions are in the tables: {bytes} bytes");
    db.close().await.unwrap();
}

fn open_unsynced(folder: &Path) -> Database {
    open_with(folder, EmbeddedOptions { sync: false, ..EmbeddedOptions::default() })
}

/// Bytes of all table files.
fn table_bytes(folder: &Path) -> u64 {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    inside(folder)
        .map(|entry| match (entry.path(), entry.metadata()) {
            (path, Ok(found)) if found.is_dir() => table_bytes(&path),
            (path, Ok(found)) if path.parent().is_some_and(|up| up.ends_with("tables")) => {
                found.len()
            }
            _ => 0,
        })
        .sum()
}
