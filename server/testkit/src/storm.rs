//! Many connections that run random transactions over the same tables at every isolation level.
//!
//! What a transaction may fail with is what others are to blame for: keys, retries and deadlocks.
//! What must hold afterwards is for the test to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::random::{Random, seed};
use crate::target::{connect, first_column};
use tokio_postgres::Client;

const CONNECTIONS: u64 = 8;
/// Transactions that all take longer than this wait for each other.
const STUCK: Duration = Duration::from_secs(60);
const EXPECTED: [&str; 4] = ["23503", "23505", "40001", "40P01"];

/// Runs that number of transactions on each of 8 connections, each of one to `statements_max`
/// statements; the seed of their choices.
///
/// # Panics
/// After any other failure, if nobody gets any further (the message has the locks), or if hardly
/// anything was committed. The message has the seed.
pub async fn storm(
    url: &str,
    transactions: u64,
    statements_max: u64,
    statement: fn(&mut Random) -> String,
) -> u64 {
    let seed = seed();
    let ended = Arc::new(AtomicU64::new(0));
    let watch = tokio::spawn(stuck(connect(url, None).await, ended.clone()));
    let mut workers = Vec::new();
    for i in 0..CONNECTIONS {
        let own = connect(url, None).await;
        let mut random = Random::new(seed + i);
        let ended = ended.clone();
        workers.push(tokio::spawn(async move {
            let mut done = 0;
            for _ in 0..transactions {
                let level = random.pick(&["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"]);
                let mut list = vec![format!("BEGIN ISOLATION LEVEL {level}")];
                let count = 1 + random.below(statements_max);
                list.extend((0..count).map(|_| statement(&mut random)));
                list.push("COMMIT".to_owned());
                done += u64::from(transaction(&own, &list).await);
                ended.fetch_add(1, Relaxed);
            }
            done
        }));
    }
    let work = async {
        let mut done = 0;
        for worker in workers {
            done += worker.await.expect("a worker without surprises");
        }
        done
    };
    let done = tokio::select! {
        done = work => done,
        locks = watch => panic!("seed {seed}: nobody gets any further: {locks:#?}"),
    };
    assert!(done > transactions, "seed {seed}: {done} transactions were committed");
    seed
}

/// Who holds and who waits, once no transaction has ended for a while.
async fn stuck(client: Client, ended: Arc<AtomicU64>) -> Vec<String> {
    let mut before = u64::MAX;
    loop {
        let now = ended.load(Relaxed);
        if now == before {
            let sql = "SELECT concat_ws(' ', pid, key, strength, granted, waited) \
                       FROM braid_internal.locks";
            return first_column(&client, sql).await;
        }
        before = now;
        tokio::time::sleep(STUCK).await;
    }
}

/// Whether the transaction got to its end.
async fn transaction(client: &Client, list: &[String]) -> bool {
    for sql in list {
        let Err(error) = client.simple_query(sql).await else { continue };
        let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
        assert!(EXPECTED.contains(&code.as_str()), "{sql}: {error:?}");
        client.simple_query("ROLLBACK").await.expect("rolls back");
        return false;
    }
    true
}
