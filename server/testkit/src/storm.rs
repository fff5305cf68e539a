//! Many connections that run random transactions over the same tables at every isolation level.
//!
//! What a transaction may fail with is what others are to blame for: keys, retries and deadlocks.
//! What must hold afterwards is for the test to say.

use crate::random::{Random, seed};
use crate::target::connect;
use tokio_postgres::Client;

const CONNECTIONS: u64 = 8;
const EXPECTED: [&str; 4] = ["23503", "23505", "40001", "40P01"];

/// Runs so many transactions on each of 8 connections, each of one to `statements_max` statements;
/// the seed of their choices.
///
/// # Panics
/// After any other failure, or if hardly anything was committed. The message has the seed.
pub async fn storm(
    url: &str,
    transactions: u64,
    statements_max: u64,
    statement: fn(&mut Random) -> String,
) -> u64 {
    let seed = seed();
    let mut workers = Vec::new();
    for i in 0..CONNECTIONS {
        let own = connect(url, None).await;
        let mut random = Random::new(seed + i);
        workers.push(tokio::spawn(async move {
            let mut done = 0;
            for _ in 0..transactions {
                let level = random.pick(&["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"]);
                let mut list = vec![format!("BEGIN ISOLATION LEVEL {level}")];
                let count = 1 + random.below(statements_max);
                list.extend((0..count).map(|_| statement(&mut random)));
                list.push("COMMIT".to_owned());
                done += u64::from(transaction(&own, &list).await);
            }
            done
        }));
    }
    let mut done = 0;
    for worker in workers {
        done += worker.await.expect("a worker without surprises");
    }
    assert!(done > transactions, "seed {seed}: {done} transactions were committed");
    seed
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
