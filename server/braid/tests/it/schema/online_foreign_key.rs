//! ADD CONSTRAINT … FOREIGN KEY on a filled table: beside writers, with a row that has no parent,
//! cancelled, and cut short by kill -9. Afterwards the key holds for every row, or is gone; over
//! TiKV the next gateway finishes what a killed one has begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::store;
use braid_testkit::target::{connect, first_column};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const ROWS: i64 = 20_000;
const PATIENCE: Duration = Duration::from_secs(60);
const ADD: &str = "ALTER TABLE items ADD CONSTRAINT items_grp FOREIGN KEY (grp) REFERENCES groups
    ON DELETE CASCADE";

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn fill(client: &Client) {
    client
        .batch_execute(&format!(
            "CREATE TABLE groups (id INT8 PRIMARY KEY);
             CREATE TABLE items (id INT8 PRIMARY KEY, grp INT8);
             INSERT INTO groups SELECT i FROM generate_series(0, 49) AS i;
             INSERT INTO items SELECT i, i % 50 FROM generate_series(1, {ROWS}) AS i"
        ))
        .await
        .expect("a filled table");
}

/// Whether the key is valid; none if it is not in the catalog.
async fn state(client: &Client) -> Option<String> {
    first_column(client, "SELECT convalidated FROM pg_constraint WHERE conname = 'items_grp'")
        .await
        .pop()
}

async fn wait_for_announcement(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    while state(client).await.as_deref() != Some("f") {
        assert!(Instant::now() < deadline, "the validation never began");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The next server waits until the lease of a killed one has ended.
async fn wait_until_taken_over(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    while state(client).await.as_deref() == Some("f") {
        assert!(Instant::now() < deadline, "an unfinished key stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn assert_holds(client: &Client) {
    assert_eq!(state(client).await.as_deref(), Some("t"));
    assert_eq!(first_column(client, "CHECK TABLE items").await, [] as [String; 0]);
    let error = client.batch_execute("INSERT INTO items VALUES (-1, 99)").await.expect_err("fails");
    assert_eq!(error.code(), Some(&SqlState::FOREIGN_KEY_VIOLATION));
}

async fn assert_gone(client: &Client) {
    assert_eq!(state(client).await, None);
    // The parent has forgotten it too.
    client.batch_execute("DELETE FROM groups WHERE id = 49").await.expect("deletes");
    let left = first_column(client, "SELECT count(*) FROM items WHERE grp = 49").await;
    assert_ne!(left, ["0"], "nothing cascades");
    client.batch_execute("INSERT INTO groups VALUES (49)").await.expect("inserts");
}

#[test]
fn a_row_without_a_parent_leaves_no_key() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        client.batch_execute("UPDATE items SET grp = 77 WHERE id = 19999").await.expect("is done");
        let error = client.batch_execute(ADD).await.expect_err("fails");
        assert_eq!(error.code(), Some(&SqlState::FOREIGN_KEY_VIOLATION));
        let detail = error.as_db_error().and_then(|error| error.detail()).map(str::to_owned);
        assert_eq!(detail.as_deref(), Some("Key (grp)=(77) is not present in table \"groups\"."));
        assert_gone(&client).await;
        client.batch_execute("DELETE FROM items WHERE grp = 77").await.expect("is done");
        client.batch_execute(ADD).await.expect("is added");
        assert_holds(&client).await;
    });
}

#[test]
fn a_key_cut_short_is_gone_or_finished() {
    run(async {
        // Each batch waits, so that the watcher meets the validation also on a fast machine.
        let mut server = Server::start(Config::new().arg("--simulate-rtt").arg("50ms"));
        fill(&connect(server.sql_url(), None).await).await;
        for kills in [true, false, true] {
            let adder = connect(server.sql_url(), None).await;
            let watcher = connect(server.sql_url(), None).await;
            let token = adder.cancel_token();
            let adding = tokio::spawn(async move { adder.batch_execute(ADD).await });
            wait_for_announcement(&watcher).await;
            if kills {
                server.kill();
            } else {
                token.cancel_query(tokio_postgres::NoTls).await.expect("a cancel request");
            }
            let outcome = adding.await.expect("no panic");
            assert!(outcome.is_err(), "the key was valid before the end: use more rows");
            if kills {
                server.restart();
            }
            if kills && store::is_tikv() {
                let client = connect(server.sql_url(), None).await;
                wait_until_taken_over(&client).await;
                assert_holds(&client).await;
                let drop = "ALTER TABLE items DROP CONSTRAINT items_grp";
                client.batch_execute(drop).await.expect("is dropped");
            } else if kills {
                let line = "removed what was cut short while it was being added name=\"items_grp\"";
                assert!(server.output().contains(line), "{}", server.output());
            }
            assert_gone(&connect(server.sql_url(), None).await).await;
        }
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(ADD).await.expect("is added");
        assert_holds(&client).await;
    });
}

/// Writes at random-looking places until told to stop: rows with and without parents come, parents
/// go and come back.
async fn write(client: Client, worker: i64, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let allowed = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::FOREIGN_KEY_VIOLATION];
    let mut step = worker * 7919;
    while !stop.load(Ordering::Acquire) {
        step = (step * 48_271 + 11) % 2_147_483_647;
        let (id, group) = (step % ROWS + 1, step % 50);
        let sql = match step % 5 {
            0 => format!("DELETE FROM items WHERE id = {id}"),
            1 => format!("UPDATE items SET grp = {group} WHERE id = {id}"),
            2 => format!("UPDATE items SET grp = {group} + 50 WHERE id = {id}"),
            3 => format!("INSERT INTO items VALUES ({}, {group})", id + step),
            _ => format!(
                "BEGIN; DELETE FROM groups WHERE id = {group}; INSERT INTO groups VALUES ({group}); \
                 COMMIT"
            ),
        };
        match client.batch_execute(&sql).await {
            Ok(()) => _ = done.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                let known = error.code().is_some_and(|code| {
                    allowed.contains(code) || *code == SqlState::UNIQUE_VIOLATION
                });
                assert!(known, "{sql}: {error:?}");
                client.batch_execute("ROLLBACK").await.expect("rolls back");
            }
        }
    }
}

#[test]
fn writers_beside_the_validation_are_checked() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let (mut added, mut refused) = (0, 0);
        for _ in 0..6 {
            client.batch_execute("DELETE FROM items WHERE grp > 49").await.expect("is done");
            let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let mut writers = Vec::new();
            for worker in 1..=3 {
                let own = connect(server.sql_url(), None).await;
                writers.push(tokio::spawn(write(own, worker, stop.clone(), done.clone())));
            }
            match client.batch_execute(ADD).await {
                Ok(()) => {
                    added += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.code(), Some(&SqlState::FOREIGN_KEY_VIOLATION));
                    assert_eq!(state(&client).await, None);
                }
            }
            stop.store(true, Ordering::Release);
            for writer in writers {
                writer.await.expect("a writer without surprises");
            }
            if state(&client).await.is_some() {
                assert_holds(&client).await;
                let drop = "ALTER TABLE items DROP CONSTRAINT items_grp";
                client.batch_execute(drop).await.expect("is dropped");
            }
        }
        assert_eq!(added + refused, 6);
    });
}
