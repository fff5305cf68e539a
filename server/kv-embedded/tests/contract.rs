//! More rules of the kv contract that are easy to get wrong; `TESTING.md` lists them all. Each test
//! was seen to fail with its rule broken.

#![allow(clippy::unwrap_used)]

mod common;

use braid_kv::{CommitOutcome, Database};
use common::*;

async fn skew(db: Database, round: usize, pair: usize) -> usize {
    let (a, b) = (format!("a{round}-{pair}"), format!("b{round}-{pair}"));
    let (t1, t2) = (serializable(&db), serializable(&db));
    read(&t1, &a).await;
    read(&t2, &b).await;
    t1.put(t1.next_statement(), &b, "1".as_bytes()).unwrap();
    t2.put(t2.next_statement(), &a, "1".as_bytes()).unwrap();
    let (r1, r2) = tokio::join!(t1.commit(), t2.commit());
    [r1, r2].iter().filter(|r| matches!(r, Ok(CommitOutcome::Committed(_)))).count()
}

/// Rule 7: an accepted transaction counts for the next of the same batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_of_one_batch_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    for round in 0..10 {
        let pairs = (0..16).map(|pair| tokio::spawn(skew(db.clone(), round, pair)));
        let pairs: Vec<_> = pairs.collect();
        for pair in pairs {
            assert_eq!(pair.await.unwrap(), 1, "of two that read what the other writes");
        }
    }
    assert!(db.store_metrics().commit_batch_max > 2, "none were in one batch");
}
