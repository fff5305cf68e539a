//! Prepared transactions: across restarts and kills, with the locks that keep them serializable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::store::is_tikv;
use braid_testkit::target::connect;
use tokio_postgres::Client;

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn execute(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// The SQLSTATE of a statement that fails.
async fn failure(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err(sql);
    error.code().expect("a server's error").code().to_owned()
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

async fn prepared(client: &Client) -> Vec<String> {
    let sql = "SELECT gid FROM pg_prepared_xacts ORDER BY gid";
    let rows = client.query(sql, &[]).await.expect("the prepared transactions");
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn over_tikv_they_are_refused_with_the_reason() {
    if !is_tikv() {
        return;
    }
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        execute(&client, "CREATE TABLE t (a INT)").await;
        execute(&client, "BEGIN; INSERT INTO t VALUES (1)").await;
        assert_eq!(failure(&client, "PREPARE TRANSACTION 'one'").await, "0A000");
        assert_eq!(number(&client, "SELECT count(*) FROM t").await, 0);
    });
}

#[test]
fn their_number_is_limited_and_none_is_a_limit_too() {
    if is_tikv() {
        return;
    }
    run(async {
        for max in [0, 1] {
            let arg = format!("--max-prepared-transactions={max}");
            let server = Server::start(Config::new().arg(arg));
            let client = connect(server.sql_url(), None).await;
            execute(&client, "CREATE TABLE t (a INT)").await;
            for i in 0..2 {
                execute(&client, "BEGIN; INSERT INTO t VALUES (1)").await;
                let prepare = format!("PREPARE TRANSACTION 'number {i}'");
                match (max, i) {
                    (1, 0) => execute(&client, &prepare).await,
                    (0, _) => assert_eq!(failure(&client, &prepare).await, "55000"),
                    _ => assert_eq!(failure(&client, &prepare).await, "53200"),
                }
            }
            assert_eq!(number(&client, "SELECT count(*) FROM t").await, 0);
            let show = client.query_one("SHOW max_prepared_transactions", &[]).await;
            assert_eq!(show.expect("a setting").get::<_, String>(0), max.to_string());
        }
    });
}

#[test]
fn a_prepared_transaction_survives_a_kill_with_its_locks() {
    if is_tikv() {
        return;
    }
    run(async {
        let mut server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        execute(
            &client,
            "CREATE TABLE t (id INT PRIMARY KEY, v TEXT);
             CREATE TABLE parent (id INT PRIMARY KEY);
             CREATE TABLE child (id INT REFERENCES parent ON DELETE CASCADE, n INT,
                 PRIMARY KEY (id, n)) INTERLEAVE IN PARENT parent (id);
             INSERT INTO parent SELECT generate_series(1, 3);
             INSERT INTO child SELECT p, n FROM generate_series(1, 3) p, generate_series(1, 50) n;
             INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        )
        .await;
        execute(
            &client,
            "BEGIN;
             UPDATE t SET v = repeat('long', 1000000) WHERE id = 1;
             INSERT INTO t VALUES (3, 'c');
             DELETE FROM parent WHERE id = 2;
             PREPARE TRANSACTION 'to commit';
             BEGIN;
             DELETE FROM t WHERE id = 2;
             PREPARE TRANSACTION 'to roll back'",
        )
        .await;
        for _ in 0..2 {
            server.kill();
            server.restart();
        }
        let client = connect(server.sql_url(), None).await;
        assert_eq!(prepared(&client).await, ["to commit", "to roll back"]);
        execute(&client, "SET lock_timeout = '50ms'").await;
        for sql in [
            "UPDATE t SET v = 'x' WHERE id = 1",
            "INSERT INTO t VALUES (3, 'x')",
            "UPDATE t SET v = 'x' WHERE id = 2",
            "INSERT INTO child VALUES (2, 51)",
            "DROP TABLE t",
        ] {
            assert_eq!(failure(&client, sql).await, "55P03", "{sql}");
        }
        execute(&client, "COMMIT PREPARED 'to commit'").await;
        execute(&client, "ROLLBACK PREPARED 'to roll back'").await;
        server.kill();
        server.restart();
        let client = connect(server.sql_url(), None).await;
        assert_eq!(prepared(&client).await, Vec::<String>::new());
        assert_eq!(number(&client, "SELECT sum(length(v))::INT8 FROM t").await, 4_000_002);
        assert_eq!(number(&client, "SELECT count(*) FROM child").await, 100);
        execute(&client, "UPDATE t SET v = 'x'; DROP TABLE t").await;
    });
}

/// Two who read what the other writes cannot both commit, however long one of them is prepared.
#[test]
fn what_a_serializable_transaction_has_read_stays_while_it_is_prepared() {
    if is_tikv() {
        return;
    }
    run(async {
        let mut server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        execute(
            &client,
            "CREATE TABLE duty (name TEXT PRIMARY KEY, is_on BOOL);
             INSERT INTO duty VALUES ('a', TRUE), ('b', TRUE)",
        )
        .await;
        execute(
            &client,
            "BEGIN;
             SELECT count(*) FROM duty WHERE is_on;
             UPDATE duty SET is_on = FALSE WHERE name = 'a';
             PREPARE TRANSACTION 'a leaves'",
        )
        .await;
        for restarts in [false, true] {
            if restarts {
                server.kill();
                server.restart();
            }
            let client = connect(server.sql_url(), None).await;
            execute(&client, "SET lock_timeout = '50ms'").await;
            let leaves = "UPDATE duty SET is_on = FALSE WHERE name = 'b'
                 AND (SELECT count(*) FROM duty WHERE is_on) = 2";
            assert_eq!(failure(&client, leaves).await, "55P03", "after restart: {restarts}");
            assert_eq!(failure(&client, "INSERT INTO duty VALUES ('c', TRUE)").await, "55P03");
        }
        let client = connect(server.sql_url(), None).await;
        execute(&client, "COMMIT PREPARED 'a leaves'").await;
        assert_eq!(number(&client, "SELECT count(*) FROM duty WHERE is_on").await, 1);
    });
}

/// How far a worker's transaction has come, as far as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begun,
    Prepared,
    Committed,
    RolledBack,
}

type Stages = Arc<Mutex<BTreeMap<String, Stage>>>;

/// Moves money in transactions that are prepared, then committed or rolled back, until the server
/// is gone.
async fn transfer(url: String, worker: u64, mut random: Random, stages: Stages) {
    let client = connect(&url, None).await;
    for i in 0.. {
        let gid = format!("{worker}-{}-{i}", random.below(1 << 40));
        let note = |stage| {
            stages.lock().expect("no worker panics").insert(gid.clone(), stage);
        };
        let (from, to) = (random.below(8), random.below(8));
        note(Stage::Begun);
        let work = format!(
            "BEGIN;
             UPDATE account SET balance = balance - 1 WHERE id = {from};
             UPDATE account SET balance = balance + 1 WHERE id = {to};
             INSERT INTO ledger VALUES ('{gid}');
             PREPARE TRANSACTION '{gid}'"
        );
        match client.batch_execute(&work).await {
            Ok(()) => note(Stage::Prepared),
            Err(error) if error.code().is_some() => {
                let _ = client.batch_execute("ROLLBACK").await;
                continue;
            }
            Err(_) => return,
        }
        let (end, stage) = match random.below(3) {
            0 => ("ROLLBACK", Stage::RolledBack),
            _ => ("COMMIT", Stage::Committed),
        };
        if client.batch_execute(&format!("{end} PREPARED '{gid}'")).await.is_err() {
            return;
        }
        note(stage);
    }
}

#[test]
fn kills_leave_every_prepared_transaction_whole() {
    if is_tikv() {
        return;
    }
    let rounds = Size::from_env().pick(2, 5, 30);
    let seed = seed();
    run(async {
        let mut random = Random::new(seed);
        let mut server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        execute(
            &client,
            "CREATE TABLE account (id INT PRIMARY KEY, balance INT);
             CREATE TABLE ledger (gid TEXT PRIMARY KEY);
             INSERT INTO account SELECT i, 100 FROM generate_series(0, 7) AS i",
        )
        .await;
        drop(client);
        let stages = Stages::default();
        for round in 0..rounds {
            let url = server.sql_url().to_owned();
            let start = |worker| {
                let random = Random::new(seed ^ (round as u64) << 8 ^ worker);
                tokio::spawn(transfer(url.clone(), worker, random, stages.clone()))
            };
            let workers: Vec<_> = (0..6).map(start).collect();
            tokio::time::sleep(Duration::from_millis(200 + random.below(600))).await;
            server.kill();
            for worker in workers {
                worker.await.expect("a worker ends when the server is gone");
            }
            server.restart();
            check(&server, &stages, seed).await;
        }
        let done = stages
            .lock()
            .expect("no worker panics")
            .values()
            .filter(|stage| **stage == Stage::Committed)
            .count();
        assert!(done > 0, "the workers never got anything done");
    });
}

/// What was acknowledged holds; what is still prepared can be ended.
async fn check(server: &Server, stages: &Stages, seed: u64) {
    let client = connect(server.sql_url(), None).await;
    let waiting = prepared(&client).await;
    let known = stages.lock().expect("no worker panics").clone();
    for gid in &waiting {
        let stage = known[gid];
        assert!(
            matches!(stage, Stage::Begun | Stage::Prepared),
            "seed {seed}: {gid} is prepared again after {stage:?}"
        );
        execute(&client, &format!("COMMIT PREPARED '{gid}'")).await;
        stages.lock().expect("no worker panics").insert(gid.clone(), Stage::Committed);
    }
    let rows = client.query("SELECT gid FROM ledger", &[]).await.expect("the ledger");
    let ledger: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for (gid, stage) in stages.lock().expect("no worker panics").iter_mut() {
        let is_there = ledger.contains(gid);
        match stage {
            Stage::Committed => assert!(is_there, "seed {seed}: {gid} was committed"),
            Stage::RolledBack => assert!(!is_there, "seed {seed}: {gid} was rolled back"),
            // The answer to its end was lost, or it was never prepared.
            Stage::Begun | Stage::Prepared => {
                *stage = if is_there { Stage::Committed } else { Stage::RolledBack };
            }
        }
    }
    let sum = number(&client, "SELECT sum(balance)::INT8 FROM account").await;
    assert_eq!(sum, 800, "seed {seed}: money was made or lost");
}
