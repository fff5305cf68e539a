//! Commit tokens in a real store: who comes first, who may know, how long it is kept.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use braid_cluster::{
    Asker, CommitStatus, TOKEN_RETENTION, Token, record_commit, remove_expired, settle, token_key,
};
use braid_kv::{Database as Kv, DatabaseOptions, Error, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};

const ANN: Asker = Asker { role: 1, superuser: false };
const BOB: Asker = Asker { role: 2, superuser: false };
const ROOT: Asker = Asker { role: 3, superuser: true };
const NOW: i64 = 800_000_000_000_000;
const DAY: i64 = TOKEN_RETENTION.as_micros() as i64;

fn open(path: &std::path::Path) -> Kv {
    let options = EmbeddedOptions { sync: false, ..EmbeddedOptions::default() };
    Kv::new(Arc::new(EmbeddedStore::open(path, options).unwrap()), DatabaseOptions::default())
}

async fn commit(kv: &Kv, token: Token, now: i64) -> Result<(), Error> {
    let txn = kv.begin(TxnOptions::default());
    txn.put(txn.next_statement(), "work", b"done".as_slice())?;
    record_commit(&txn, token, ANN.role, now)?;
    txn.commit_or_error().await.map(drop)
}

#[tokio::test]
async fn the_first_to_write_decides() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    commit(&kv, [1; 16], NOW).await.unwrap();
    for (asker, status) in [
        (ANN, CommitStatus::Committed),
        (BOB, CommitStatus::Unknown),
        (ROOT, CommitStatus::Committed),
    ] {
        assert_eq!(settle(&kv, [1; 16], asker, NOW).await.unwrap(), status);
    }
    assert_eq!(settle(&kv, [2; 16], ANN, NOW).await.unwrap(), CommitStatus::Aborted);
    for token in [[1; 16], [2; 16]] {
        let late = commit(&kv, token, NOW).await;
        assert!(matches!(late, Err(Error::Duplicate { key, .. }) if key == token_key(token)));
    }
    assert_eq!(settle(&kv, [2; 16], ANN, NOW).await.unwrap(), CommitStatus::Aborted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_race_has_one_winner_and_everybody_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    let mut outcomes = [0, 0];
    for n in 0..200u128 {
        let token = n.to_be_bytes();
        let (ours, theirs) = (kv.clone(), kv.clone());
        let writer = tokio::spawn(async move { commit(&ours, token, NOW).await.is_ok() });
        let asker = tokio::spawn(async move { settle(&theirs, token, ANN, NOW).await.unwrap() });
        let (committed, status) = (writer.await.unwrap(), asker.await.unwrap());
        outcomes[usize::from(committed)] += 1;
        let wanted = if committed { CommitStatus::Committed } else { CommitStatus::Aborted };
        assert_eq!(status, wanted, "round {n}");
        assert_eq!(settle(&kv, token, ANN, NOW).await.unwrap(), wanted);
    }
    assert_eq!(outcomes.iter().sum::<i32>(), 200);
}

#[tokio::test]
async fn records_go_when_their_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    // Made now; its clock runs a day ahead; contains no time.
    let at = |micros: i64| {
        let mut token = [0x7f; 16];
        token[..6].copy_from_slice(&(micros / 1000 + 946_684_800_000).to_be_bytes()[2..]);
        token
    };
    let (now, ahead, other) = (at(NOW), at(NOW + DAY), [0x4f; 16]);
    for token in [now, ahead, other] {
        commit(&kv, token, NOW).await.unwrap();
    }
    assert_eq!(remove_expired(&kv, NOW + DAY).await.unwrap(), 0);
    assert_eq!(remove_expired(&kv, NOW + DAY + 1_000).await.unwrap(), 2);
    let later = NOW + DAY + 2_000;
    assert_eq!(settle(&kv, now, ANN, later).await.unwrap(), CommitStatus::Unknown);
    assert_eq!(settle(&kv, ahead, ANN, later).await.unwrap(), CommitStatus::Committed);
    assert_eq!(remove_expired(&kv, NOW + 3 * DAY).await.unwrap(), 1);
}
