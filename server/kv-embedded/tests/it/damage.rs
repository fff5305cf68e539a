//! Damage to the files of a data folder: a start refuses, and never shows a part of what was there.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{Database, DatabaseOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore, OpenError};
use std::{
    fs,
    os::unix::fs::{FileExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

const COMMITS: usize = 60;

/// Commits one key after the other, each in a page of its own or two.
async fn commit_all(db: &Database) {
    for number in 0..COMMITS {
        let value = format!("{number:05}").repeat(900);
        put(db, &[(&format!("k{number:03}"), &value)]).await;
    }
}

/// A data folder with all commits, after a clean stop.
async fn stopped() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    commit_all(&db).await;
    db.close().await.unwrap();
    dir
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else if to.extension().is_some_and(|extension| extension == "jnl") {
            // Without most of the hole at its end.
            let mut bytes = fs::read(entry.path()).unwrap();
            bytes.truncate(data_end(&bytes) + 10_000);
            fs::write(to, bytes).unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Opens a copy of the folder that was damaged: how many keys there are, or why it is refused.
async fn open_damaged(folder: &Path, damage: impl FnOnce(&Path)) -> Result<usize, String> {
    let scratch = tempfile::tempdir().unwrap();
    let copied = scratch.path().join("copy");
    copy(folder, &copied);
    damage(&copied);
    open_as_it_is(&copied).await
}

async fn open_as_it_is(folder: &Path) -> Result<usize, String> {
    let store = match EmbeddedStore::open(folder, EmbeddedOptions::default()) {
        Ok(store) => store,
        Err(OpenError::Corrupt { detail, .. }) => return Err(detail),
        Err(other) => panic!("{other}"),
    };
    let db = Database::new(Arc::new(store), DatabaseOptions::default());
    let found = all(&serializable(&db), "k", "l").await.len();
    db.close().await.unwrap();
    Ok(found)
}

fn journal(folder: &Path) -> PathBuf {
    folder.join("store/0.jnl")
}

/// Where the data of the journal end.
fn journal_end(folder: &Path) -> usize {
    data_end(&fs::read(journal(folder)).unwrap())
}

fn data_end(bytes: &[u8]) -> usize {
    let pieces = bytes.chunks(4096).rposition(|piece| piece != &[0; 4096][..piece.len()]);
    let start = pieces.unwrap() * 4096;
    start + bytes[start..].iter().take(4096).rposition(|&byte| byte != 0).unwrap() + 1
}

fn zero(folder: &Path, at: usize, length: usize) {
    let file = fs::OpenOptions::new().write(true).open(journal(folder)).unwrap();
    file.write_all_at(&vec![0; length], at as u64).unwrap();
}

#[tokio::test]
async fn a_missing_file_is_a_refusal_and_not_an_empty_database() {
    let dir = stopped().await;
    let mut names =
        vec!["store/version".to_owned(), "store/0.jnl".to_owned(), "ACCOUNT".to_owned()];
    names.extend((0..4).map(|keyspace| format!("store/keyspaces/{keyspace}/current")));
    names.extend((1..4).map(|keyspace| format!("store/keyspaces/{keyspace}/v0")));
    for name in names {
        let refused = open_damaged(dir.path(), |copied| {
            fs::remove_file(copied.join(&name)).unwrap();
        });
        let why = refused.await.expect_err(&name);
        assert!(why.contains("missing") || why.contains("no journal"), "{name}: {why}");
    }
    let other = open_damaged(dir.path(), |copied| {
        fs::write(copied.join("store/version"), b"FJL\x04").unwrap();
    });
    assert!(other.await.expect_err("another layout").contains("layout"));
    assert_eq!(open_damaged(dir.path(), |_| ()).await, Ok(COMMITS));
}

#[tokio::test]
async fn a_damaged_list_of_tables_is_a_refusal_and_not_the_end_of_the_process() {
    let dir = stopped().await;
    let name = "store/keyspaces/2/v0";
    let length = fs::metadata(dir.path().join(name)).unwrap().len() as usize;
    for at in (0..length).step_by(7) {
        let flip = |copied: &Path| {
            let mut bytes = fs::read(copied.join(name)).unwrap();
            bytes[at] ^= 0x80;
            fs::write(copied.join(name), bytes).unwrap();
        };
        let why = open_damaged(dir.path(), flip).await.expect_err("a damaged list of tables");
        assert!(why.contains(name) && why.contains("backup"), "byte {at}: {why}");
    }
}

#[tokio::test]
async fn a_hole_in_the_journal_after_a_crash_is_a_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    commit_all(&db).await;
    // As after kill -9: what is in the files, and no more.
    let end = journal_end(dir.path());
    for part in [1, 4, 7] {
        let at = end * part / 9 / 4096 * 4096;
        let why = open_damaged(dir.path(), |copied| zero(copied, at, 4096)).await;
        let why = why.expect_err("a page of zeros in the middle");
        assert!(why.contains("damaged at byte") && why.contains("backup"), "{why}");
    }
    // The last commit cannot be told from one that was on its way, unless the account names it.
    match open_damaged(dir.path(), |copied| zero(copied, end - 100, 100)).await {
        Ok(found) => assert_eq!(found, COMMITS - 1),
        Err(why) => assert!(why.contains("was durable"), "{why}"),
    }
    let whole = open_damaged(dir.path(), |_| ()).await;
    assert_eq!(whole, Ok(COMMITS));
}

#[tokio::test]
async fn a_journal_that_was_cut_after_a_clean_stop_is_a_refusal() {
    let dir = stopped().await;
    let end = journal_end(dir.path());
    for kept in [end / 2, end - 100, 0] {
        let cut = |copied: &Path| {
            let file = fs::OpenOptions::new().write(true).open(journal(copied)).unwrap();
            file.set_len(kept as u64).unwrap();
        };
        let why = open_damaged(dir.path(), cut).await.expect_err("a journal that was cut");
        assert!(!why.is_empty(), "{kept}");
        let zeroed = open_damaged(dir.path(), |copied| zero(copied, kept, end - kept)).await;
        assert!(zeroed.is_err(), "zeros from byte {kept} on");
    }
}

/// Nothing in the journal says that more was there: only the account does.
#[tokio::test]
async fn a_journal_that_ends_at_an_earlier_commit_is_a_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    commit_all(&db).await;
    let earlier = journal_end(dir.path());
    put(&db, &[("k", "one more")]).await;
    db.close().await.unwrap();
    drop(db);
    let end = journal_end(dir.path());
    let why = open_damaged(dir.path(), |copied| zero(copied, earlier, end - earlier)).await;
    assert!(why.expect_err("an earlier end").contains("was durable"));
}

#[tokio::test]
async fn bytes_that_cannot_be_read_after_a_clean_stop_are_a_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    commit_all(&db).await;
    let junk = |copied: &Path| {
        let file = fs::OpenOptions::new().write(true).open(journal(copied)).unwrap();
        file.write_all_at(b"half a batch", journal_end(copied) as u64).unwrap();
    };
    // After a crash it is a commit that was on its way.
    assert_eq!(open_damaged(dir.path(), junk).await, Ok(COMMITS));
    db.close().await.unwrap();
    drop(db);
    let why = open_damaged(dir.path(), junk).await.expect_err("bytes behind the last commit");
    assert!(why.contains("the last stop was clean"), "{why}");
}

#[tokio::test]
async fn a_newest_journal_that_is_missing_is_a_refusal() {
    let dir = stopped().await;
    let later = |copied: &Path| {
        let text = fs::read_to_string(copied.join("ACCOUNT")).unwrap();
        let body = text.split("check").next().unwrap().replace("journal 0", "journal 1");
        let check = xxhash_rust::xxh3::xxh3_64(body.as_bytes());
        fs::write(copied.join("ACCOUNT"), format!("{body}check {check:016x}\n")).unwrap();
    };
    let why = open_damaged(dir.path(), later).await.expect_err("a journal is missing");
    assert!(why.contains("\"store/1.jnl\" is missing"), "{why}");
}

#[tokio::test]
async fn a_loss_can_be_accepted_once() {
    let dir = stopped().await;
    let half = journal_end(dir.path()) / 2;
    zero(dir.path(), half, 4096);
    assert!(open_as_it_is(dir.path()).await.is_err());
    fs::write(dir.path().join("ACCEPT-LOSS"), "").unwrap();
    let left = open_as_it_is(dir.path()).await.unwrap();
    assert!(left > 0 && left < COMMITS, "{left} keys");
    assert!(!dir.path().join("ACCEPT-LOSS").exists());
    assert_eq!(open_as_it_is(dir.path()).await, Ok(left));
}

#[tokio::test]
async fn a_new_data_folder_is_its_owners() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let made = dir.path().join("a/data");
    open(&made).close().await.unwrap();
    assert_eq!(mode(&made), 0o700);
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o755)).unwrap();
    open(&empty).close().await.unwrap();
    assert_eq!(mode(&empty), 0o700);
}
