//! More rules of the kv contract that are easy to get wrong. `server/docs/testing-rules.md` lists
//! them all. Each test failed when its rule was broken.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{
    CommitOutcome, Database, EntryFilter, Isolation, Matching, Record, ScanRequest, Span,
    TxnOptions,
};
use std::sync::Arc;

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

/// Only entries with this value matter.
struct Of(&'static [u8]);

impl EntryFilter for Of {
    fn matters(&self, _: &[u8], value: &[u8]) -> bool {
        value == self.0
    }
}

/// Two look whether there is an `x` in a span, find none and put something there; how many commit.
async fn look_and_put(
    db: Database,
    isolation: Isolation,
    place: String,
    what: &'static str,
) -> usize {
    let mut pair = Vec::new();
    for i in 0..2 {
        let txn = db.begin(TxnOptions { isolation, ..TxnOptions::default() });
        let seq = txn.next_statement();
        let request = ScanRequest::new(Span::prefix(place.as_bytes().to_vec()))
            .record(Record::Always { tag: 5 })
            .matching(Some(Matching(Arc::new(Of(b"x")))));
        assert!(txn.scanner(seq, request).first_batch().await.unwrap().is_empty());
        txn.put(seq, format!("{place}{i}"), what.as_bytes()).unwrap();
        pair.push(txn);
    }
    let (one, two) = tokio::join!(pair[0].commit(), pair[1].commit());
    [one, two].iter().filter(|r| matches!(r, Ok(CommitOutcome::Committed(_)))).count()
}

/// A check that is about some entries fails with these and with no others, those of its own batch
/// among them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filtered_check_meets_what_its_own_batch_has_written() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        for (what, commits) in [("x", 1), ("y", 2)] {
            let place = |i: i32| format!("{isolation:?}-{what}-{i}/");
            let work: Vec<_> = (0..32)
                .map(|i| tokio::spawn(look_and_put(db.clone(), isolation, place(i), what)))
                .collect();
            for done in work {
                assert_eq!(done.await.unwrap(), commits, "{isolation:?} {what}");
            }
        }
    }
    assert!(db.store_metrics().commit_batch_max > 2, "none were in one batch");
}
