//! kill -9 under load: whatever was acknowledged is there after the restart, what was deleted stays
//! away, and no transaction is half there. Between two rounds a compaction drops deletions together
//! with what they cover. With the sync switched off the same check must fail, or it checks nothing.
//!
//! The child is this test program once more. `BRAID_TEST_SIZE` is `small` (default), `medium` or
//! `full`.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{ScanRequest, Span};
use braid_kv_embedded::EmbeddedOptions;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

const FOLDER: &str = "BRAID_CRASH_FOLDER";
const ROUND: &str = "BRAID_CRASH_ROUND";
const WRITERS: u32 = 4;

/// Not a test of its own: the process that is killed.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let round: u32 = std::env::var(ROUND).unwrap().parse().unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // In every other round, a commit that is alone in its group becomes tables.
        let ingest_writes_min = if round.is_multiple_of(2) { usize::MAX } else { 1 };
        let options = EmbeddedOptions { ingest_writes_min, ..EmbeddedOptions::default() };
        let db = open_with(Path::new(&folder), options);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let db = db.clone();
                tokio::spawn(async move {
                    let name = |i: u64| format!("{round:04}/{writer}/{i:08}");
                    for i in 0.. {
                        write_one(&db, &name(i), i).await;
                        if i % 3 == 2 {
                            delete_one(&db, &name(i - 1)).await;
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

/// One transaction: both halves of a pair; now and then a range delete of an older generation,
/// which is then put again under the same number.
async fn write_one(db: &braid_kv::Database, name: &str, i: u64) {
    let t = serializable(db);
    let s = t.next_statement();
    if i.is_multiple_of(16) {
        t.writes().delete_span(s, Span::prefix(format!("pair/{name}"))).unwrap();
    }
    let s = t.next_statement();
    for half in ["a", "b"] {
        t.put(s, format!("pair/{name}/{half}"), "value of this half".as_bytes()).unwrap();
    }
    t.commit_or_error().await.unwrap();
    say("ack", name);
}

/// One transaction: both halves of a pair go.
async fn delete_one(db: &braid_kv::Database, name: &str) {
    say("going", name);
    let t = serializable(db);
    let s = t.next_statement();
    for half in ["a", "b"] {
        t.delete(s, format!("pair/{name}/{half}")).unwrap();
    }
    t.commit_or_error().await.unwrap();
    say("gone", name);
}

/// Past the test harness, which would keep back what `println!` says.
fn say(what: &str, name: &str) {
    std::io::stdout().write_all(format!("{what} {name}\n").as_bytes()).unwrap();
}

/// What the children have said.
#[derive(Default)]
struct Acknowledged {
    there: BTreeSet<String>,
    gone: BTreeSet<String>,
}

impl Acknowledged {
    fn add(&mut self, lines: Vec<String>) {
        for line in lines {
            match line.split_once(' ') {
                Some(("ack", name)) => _ = self.there.insert(name.to_owned()),
                // Until it is gone, both are right.
                Some(("going", name)) => _ = self.there.remove(name),
                Some(("gone", name)) => _ = self.gone.insert(name.to_owned()),
                _ => {}
            }
        }
    }
}

/// Merges all tables into the last level, where deletions go together with what they cover.
fn compact(folder: &Path) {
    if !folder.join("store").is_dir() {
        return;
    }
    let fjall = fjall::Database::builder(folder.join("store")).open().unwrap();
    let data = fjall.keyspace("data", fjall::KeyspaceCreateOptions::default).unwrap();
    data.rotate_memtable_and_wait().unwrap();
    data.major_compact().unwrap();
}

/// Lets a child write, kills it, and returns what it has said.
fn one_round(folder: &Path, round: u32, sync: bool) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::child", "--nocapture"]);
    command.env(FOLDER, folder).env(ROUND, round.to_string()).stdout(Stdio::piped());
    if !sync {
        command.env("BRAID_UNSAFE_NO_SYNC", "1");
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect());
    // The moment differs from round to round, and hits start-up now and then.
    let millis = 60 + u64::from(round).wrapping_mul(7919) % 400;
    std::thread::sleep(Duration::from_millis(millis));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// How many acknowledged transactions are not there, after checking that none is half there and
/// that nothing deleted has come back.
async fn lost(folder: &Path, acknowledged: &Acknowledged) -> usize {
    let db = open(folder);
    let t = serializable(&db);
    let mut scanner =
        t.scanner(t.next_statement(), ScanRequest::new(Span::prefix("pair/")).keys_only());
    let mut halves: BTreeMap<String, u32> = BTreeMap::new();
    while let Some(batch) = scanner.next_batch().await.unwrap() {
        for (key, _) in batch.iter() {
            let key = std::str::from_utf8(key).unwrap();
            let name = key.strip_prefix("pair/").unwrap().rsplit_once('/').unwrap().0;
            *halves.entry(name.to_owned()).or_default() += 1;
        }
    }
    assert!(halves.values().all(|n| *n == 2), "a transaction is half there");
    let back = acknowledged.gone.iter().find(|name| halves.contains_key(*name));
    assert_eq!(back, None, "a deleted pair has come back");
    acknowledged.there.iter().filter(|name| !halves.contains_key(*name)).count()
}

fn rounds() -> u32 {
    match std::env::var("BRAID_TEST_SIZE").as_deref() {
        Ok("full") => 50,
        Ok("medium") => 20,
        _ => 4,
    }
}

#[tokio::test]
async fn acknowledged_commits_survive_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::default();
    for round in 0..rounds() {
        acknowledged.add(one_round(dir.path(), round, true));
        assert_eq!(lost(dir.path(), &acknowledged).await, 0, "round {round}");
        compact(dir.path());
        assert_eq!(lost(dir.path(), &acknowledged).await, 0, "round {round}, compacted");
    }
    assert!(!acknowledged.there.is_empty());
}

#[tokio::test]
async fn the_check_fails_without_syncs() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let mut acknowledged = Acknowledged::default();
        acknowledged.add(one_round(dir.path(), round, false));
        // A lost deletion is no lost commit here.
        acknowledged.gone.clear();
        if lost(dir.path(), &acknowledged).await > 0 {
            return;
        }
    }
    panic!("no commit was lost although nothing was synced");
}
