//! Money moves between accounts while the cluster lives its life: nothing is lost, nothing is done
//! twice, and every snapshot sees the same sum.

#![allow(clippy::unwrap_used)]

use crate::common::Cluster;
use crate::shared::contract::helpers::*;
#[allow(dead_code)]
use braid_kv::{CommitOutcome, Database, Error, LockRequest};
use braid_testkit::tikv::Plan;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

const ACCOUNTS: u64 = 8;
const WORKERS: u64 = 4;
const MOVES: u64 = 40;

#[derive(Default)]
struct Counts {
    committed: AtomicU64,
    unknown: AtomicU64,
    refused: AtomicU64,
}

fn account(i: u64) -> String {
    format!("{}account", (b'a' + (i * 3) as u8) as char)
}

/// Moves one coin and counts it in a key of the worker. Half of the moves lock what they read.
async fn move_one(db: &Database, worker: u64, i: u64) -> Result<CommitOutcome, Error> {
    let (from, to) =
        (account((i * 5 + worker) % ACCOUNTS), account((i + worker * 3 + 1) % ACCOUNTS));
    if from == to {
        return Err(Error::Cancelled);
    }
    let t = serializable(db);
    let s = t.next_statement();
    let keys = vec![from.clone().into_bytes(), to.clone().into_bytes()];
    let values = match i % 2 {
        0 => t.reads().multi_get(s, &keys).await?,
        _ => t.lock(s, LockRequest::keys(keys)).await?.values,
    };
    let number = |i: usize| -> i64 {
        String::from_utf8(values[i].clone().unwrap().to_vec()).unwrap().parse().unwrap()
    };
    t.put(s, from, (number(0) - 1).to_string())?;
    t.put(s, to, (number(1) + 1).to_string())?;
    t.put_new(s, format!("{}done-{worker}-{i}", (b'a' + (i % 26) as u8) as char), "1")?;
    t.commit().await
}

async fn live_through(plan: Plan) {
    let cluster = Cluster::stand_in();
    for border in ["f", "k", "p"] {
        cluster.split(border.as_bytes());
    }
    let db = cluster.open().await;
    let names: Vec<String> = (0..ACCOUNTS).map(account).collect();
    let pairs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "100")).collect();
    put(&db, &pairs).await;
    cluster.set_plan(plan);
    let counts = Arc::new(Counts::default());
    let workers = (0..WORKERS).map(|worker| {
        let (db, counts) = (db.clone(), counts.clone());
        tokio::spawn(async move {
            for i in 0..MOVES {
                let counter = match move_one(&db, worker, i).await {
                    Ok(CommitOutcome::Committed(_)) => &counts.committed,
                    Ok(CommitOutcome::Unknown) => &counts.unknown,
                    Ok(CommitOutcome::Retry(_)) | Err(_) => &counts.refused,
                };
                counter.fetch_add(1, Relaxed);
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    while !workers.iter().all(|worker| worker.is_finished()) {
        let sum = sum(&db).await;
        assert_eq!(sum, 100 * ACCOUNTS as i64, "in the middle");
        tokio::task::yield_now().await;
    }
    for worker in workers {
        worker.await.unwrap();
    }
    cluster.set_plan(Plan::default());
    assert_eq!(sum(&db).await, 100 * ACCOUNTS as i64, "in the end");
    let (committed, unknown) = (counts.committed.load(Relaxed), counts.unknown.load(Relaxed));
    let done = all(&serializable(&db), "a", "zz").await;
    let done = done.keys().filter(|key| key.contains("done")).count() as u64;
    assert!(committed <= done && done <= committed + unknown, "{committed} {done} {unknown}");
    assert!(committed > WORKERS * MOVES / 4, "hardly anything was committed");
}

async fn sum(db: &Database) -> i64 {
    let t = serializable(db);
    let all = all(&t, "a", "zz").await;
    let accounts = all.iter().filter(|(key, _)| key.ends_with("account"));
    accounts.map(|(_, value)| value.parse::<i64>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_in_daily_life() {
    live_through(Plan::daily()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_requests_and_answers_are() {
    live_through(Plan::rough()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_stores_forget_locks() {
    live_through(Plan::forgetful()).await;
}
