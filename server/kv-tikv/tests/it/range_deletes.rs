//! Range deletes over TiKV: the keys are read by region, side by side, up to a limit.

#![allow(clippy::unwrap_used)]

use crate::common::Cluster;
use crate::shared::contract::helpers::*;
#[allow(dead_code)]
use braid_kv::{CommitOutcome, Error, Span};
use braid_kv_tikv::TikvOptions;
use braid_testkit::tikv::{Fault, Gate, Rpc, Rule};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_delete_reads_its_regions_side_by_side() {
    let cluster = Cluster::stand_in();
    let db = cluster.open().await;
    let keys: Vec<String> = (0..50).map(|i| format!("r{i:02}")).collect();
    put(&db, &keys.iter().map(|key| (key.as_str(), "1")).collect::<Vec<_>>()).await;
    for border in ["r10", "r20", "r30", "r40"] {
        cluster.split(border.as_bytes());
    }
    // So that it is known where regions end.
    assert_eq!(all(&serializable(&db), "r", "s").await.len(), 50);
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Scan, Fault::HoldRequest(gate.clone())).times(5));
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("r", "s")).unwrap();
    let commit = tokio::spawn(async move { t.commit().await });
    tokio::time::timeout(Duration::from_secs(20), gate.wait_for(5)).await.expect("all at once");
    gate.open();
    assert!(matches!(commit.await.unwrap(), Ok(CommitOutcome::Committed(_))));
    assert!(all(&serializable(&db), "a", "z").await.is_empty());
}

/// What does not fit into memory is refused with the limit's name, and nothing is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_delete_has_a_limit() {
    let cluster = Cluster::stand_in();
    let options = TikvOptions { range_delete_bytes_max: 100, ..TikvOptions::default() };
    let db = cluster.open_with(options).await;
    let keys: Vec<String> = (0..50).map(|i| format!("r{i:02}")).collect();
    put(&db, &keys.iter().map(|key| (key.as_str(), "1")).collect::<Vec<_>>()).await;
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("r", "s")).unwrap();
    let refused = Error::LimitExceeded { name: "tikv_range_delete_bytes", limit: 100 };
    assert_eq!(t.commit().await, Err(refused));
    let t = serializable(&db);
    t.writes().delete_span(t.next_statement(), Span::new("r10", "r30")).unwrap();
    assert!(matches!(t.commit().await, Ok(CommitOutcome::Committed(_))));
    assert_eq!(all(&serializable(&db), "a", "z").await.len(), 30);
    assert_eq!(cluster.lock_count(), 0);
}
