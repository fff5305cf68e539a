//! Queues at a row over the wire: first come, first served; readers that say so never wait.
//!
//! TiKV wakes waiters by their age and not by arrival, so over it all are served, in some order.

use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::store::is_tikv;
use braid_testkit::target::{connect, first_column};
use tokio_postgres::Client;

const WAITERS: u64 = 64;
const PATIENCE: Duration = Duration::from_secs(60);

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn text(client: &Client, sql: &str) -> String {
    first_column(client, sql).await.join(",")
}

/// Waits until that many requests are in lock queues.
async fn wait_for_waiters(client: &Client, wanted: u64) {
    let sql = "SELECT value::int FROM braid_internal.metrics WHERE name = 'braid_lock_waiters'";
    let deadline = Instant::now() + PATIENCE;
    while text(client, sql).await != wanted.to_string() {
        assert!(Instant::now() < deadline, "there are never {wanted} waiters");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn set_up(server: &Server) -> Client {
    let root = connect(server.sql_url(), None).await;
    root.batch_execute(
        "CREATE TABLE line (id int PRIMARY KEY, who text NOT NULL);
         INSERT INTO line VALUES (1, ''), (2, '')",
    )
    .await
    .expect("the table");
    root
}

/// A single statement, a locking read, and both levels below: all stand in one queue.
fn turn(number: u64) -> String {
    let update = format!("UPDATE line SET who = who || ' {number}' WHERE id = 1");
    match number % 4 {
        0 => update,
        1 => format!("BEGIN; SELECT * FROM line WHERE id = 1 FOR UPDATE; {update}; COMMIT"),
        2 => format!("BEGIN ISOLATION LEVEL READ COMMITTED; {update}; COMMIT"),
        _ => format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {update}; COMMIT"),
    }
}

#[test]
fn waiters_are_served_in_order_of_arrival() {
    run(async {
        let server = Server::start(Config::new());
        let root = set_up(&server).await;
        let holder = connect(server.sql_url(), None).await;
        holder.batch_execute("BEGIN; UPDATE line SET who = '' WHERE id = 1").await.expect("locks");
        let mut waiters = Vec::new();
        for number in 0..WAITERS {
            let client = connect(server.sql_url(), None).await;
            waiters.push(tokio::spawn(async move {
                client.batch_execute(&turn(number)).await.expect("its turn comes");
            }));
            wait_for_waiters(&root, number + 1).await;
        }
        holder.batch_execute("COMMIT").await.expect("commits");
        for waiter in waiters {
            tokio::time::timeout(PATIENCE, waiter).await.expect("all are served").expect("runs");
        }
        let order: Vec<u64> = (0..WAITERS).collect();
        let served = text(&root, "SELECT who FROM line WHERE id = 1").await;
        let numbers = served.split_whitespace().map(|number| number.parse().expect("a number"));
        let mut served: Vec<u64> = numbers.collect();
        if is_tikv() {
            served.sort_unstable();
        }
        assert_eq!(served, order);
    });
}

#[test]
fn readers_that_say_so_never_wait() {
    run(async {
        let server = Server::start(Config::new());
        let _root = set_up(&server).await;
        let (writer, reader) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        writer
            .batch_execute(
                "BEGIN; UPDATE line SET who = 'x'; DELETE FROM line WHERE id = 2;
                 INSERT INTO line VALUES (3, 'x')",
            )
            .await
            .expect("locks");
        reader.batch_execute("SET lock_timeout = '1ms'").await.expect("a setting");
        for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            let begin = format!("BEGIN ISOLATION LEVEL {level} READ ONLY");
            reader.batch_execute(&begin).await.expect("begins");
            assert_eq!(text(&reader, "SELECT id || who FROM line ORDER BY id").await, "1,2");
            assert_eq!(text(&reader, "SELECT id FROM line WHERE id = 3").await, "");
            reader.batch_execute("COMMIT").await.expect("commits");
        }
        writer.batch_execute("COMMIT").await.expect("commits");
    });
}
