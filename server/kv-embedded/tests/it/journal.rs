//! Zeros ahead of the journal's data: there, and never in the way of what was committed.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

fn journal(folder: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> = fs::read_dir(folder.join("store"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.pop().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A small commit, some that are nothing but zeros, and one of a size that nothing is prepared for.
fn value(number: usize) -> Vec<u8> {
    match number % 40 {
        3 => vec![0; 30_000],
        7 => vec![0; 300_000],
        11 => vec![7; 20_000],
        _ => number.to_string().into_bytes(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_is_filled_ahead_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let put = async |number: usize| {
        let t = serializable(&db);
        t.put(t.next_statement(), format!("{number:05}"), value(number)).unwrap();
        t.commit_or_error().await.unwrap();
    };
    put(0).await;
    put(1).await;
    let blocks = fs::metadata(journal(folder.path())).unwrap().blocks();
    assert!(blocks * 512 >= 256 << 10, "{blocks} blocks are no room for the next batches");
    for number in 2..400 {
        put(number).await;
    }

    // As after kill -9: what is in the files, and no more.
    let copied = tempfile::tempdir().unwrap();
    copy(folder.path(), copied.path());
    let again = open(copied.path());
    let t = serializable(&again);
    let s = t.next_statement();
    for number in 0..400 {
        let found = t.get(s, format!("{number:05}").as_bytes()).await.unwrap();
        assert!(found.as_deref() == Some(&value(number)[..]), "{number} is not what was put");
    }
    // And it goes on where it was.
    crate::common::put(&again, &[("later", "there")]).await;
    assert_eq!(get(&again, "later").await.as_deref(), Some("there"));
}
