//! NOTIFY under load: every listener receives what has committed, once, in the order of commits.
//!
//! The order is known in two ways. A reader takes snapshots of the table that senders insert into:
//! the rows of each snapshot are the first ones that were announced. And some transactions count
//! in a row that all of them change: their numbers are announced in ascending order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column, try_connect_listening};
use braid_testkit::tikv::{Config as StandIn, TikvStandIn};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Notification};

use crate::protocol::connection::Connection;

const SENDERS: u64 = 12;
const ROUNDS: u64 = 25;
/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn listener(url: &str) -> (Client, UnboundedReceiver<Notification>) {
    let (client, received) = try_connect_listening(url, None).await.expect("a session");
    client.batch_execute("LISTEN c").await.expect("listens");
    (client, received)
}

/// The statements of a transaction. Those of a third count in the shared row; some take a part
/// back, and one in seven takes everything back the first time.
async fn attempt(client: &Client, id: u64, is_first: bool) -> Result<(), tokio_postgres::Error> {
    let insert = format!("INSERT INTO log VALUES ({id})");
    if id.is_multiple_of(4) {
        let sql = format!("{insert}; NOTIFY c, '{id}'; NOTIFY c, '{id}'");
        return client.batch_execute(&sql).await;
    }
    client.batch_execute(&format!("BEGIN; {insert}")).await?;
    if id.is_multiple_of(5) {
        let lost = "SAVEPOINT s; NOTIFY c, 'lost'; NOTIFY c, 'lost too'; ROLLBACK TO s";
        client.batch_execute(lost).await?;
    }
    let mut payload = id.to_string();
    if id.is_multiple_of(3) {
        let count = "UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n";
        let n = first_column_or_error(client, count).await?;
        payload = format!("{id} {n}");
    }
    client.batch_execute(&format!("SELECT pg_notify('c', '{payload}')")).await?;
    let end = if is_first && id.is_multiple_of(7) { "ROLLBACK" } else { "COMMIT" };
    client.batch_execute(end).await?;
    if end == "ROLLBACK" { Box::pin(attempt(client, id, false)).await } else { Ok(()) }
}

async fn first_column_or_error(
    client: &Client,
    sql: &str,
) -> Result<String, tokio_postgres::Error> {
    let row = client.query_one(sql, &[]).await?;
    Ok(row.get::<_, i64>(0).to_string())
}

async fn send(url: String, sender: u64) {
    let client = connect(&url, None).await;
    for round in 0..ROUNDS {
        let id = sender * ROUNDS + round;
        while let Err(error) = attempt(&client, id, true).await {
            let retryable = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
            let code = error.code().unwrap_or_else(|| panic!("{error:?}"));
            assert!(retryable.contains(code), "{error:?}");
            client.batch_execute("ROLLBACK").await.expect("rolls back");
        }
    }
}

/// Snapshots of the table, until told to stop.
fn read_on(url: String, stop: Arc<AtomicBool>) -> JoinHandle<Vec<BTreeSet<String>>> {
    tokio::spawn(async move {
        let client = connect(&url, None).await;
        let mut snapshots: Vec<BTreeSet<String>> = Vec::new();
        while !stop.load(Ordering::Acquire) {
            let rows = first_column(&client, "SELECT id FROM log").await;
            snapshots.push(rows.into_iter().collect());
        }
        snapshots
    })
}

/// What a listener has received once `count` have come.
async fn received(from: &mut UnboundedReceiver<Notification>, count: usize) -> Vec<String> {
    let mut payloads = Vec::new();
    while payloads.len() < count {
        let next = tokio::time::timeout(PATIENCE, from.recv()).await;
        let next = next.unwrap_or_else(|_| panic!("only {} of {count} came", payloads.len()));
        payloads.push(next.expect("the connection lives").payload().to_owned());
    }
    payloads
}

fn check_order(payloads: &[String], snapshots: &[BTreeSet<String>]) {
    let ids: Vec<&str> = payloads.iter().map(|p| p.split(' ').next().unwrap_or_default()).collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len(), "each one came once");
    for snapshot in snapshots {
        let first: BTreeSet<String> =
            ids.iter().take(snapshot.len()).map(|id| (*id).to_owned()).collect();
        let early: Vec<_> = first.difference(snapshot).collect();
        assert!(early.is_empty(), "{early:?} were announced before what was visible before them");
    }
    let numbers = payloads.iter().filter_map(|p| p.split(' ').nth(1));
    let numbers: Vec<i64> = numbers.map(|n| n.parse().expect("a number")).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(
        numbers.len(),
        (0..SENDERS * ROUNDS).filter(|id| id % 3 == 0 && id % 4 != 0).count()
    );
}

/// Senders and listeners at these servers; the order is the same for all.
async fn storm(urls: &[String]) {
    let root = connect(&urls[0], None).await;
    root.batch_execute(
        "CREATE TABLE log (id int8 PRIMARY KEY);
         CREATE TABLE counter (id int8 PRIMARY KEY, n int8);
         INSERT INTO counter VALUES (1, 0)",
    )
    .await
    .expect("tables");
    let mut listeners = Vec::new();
    for url in urls {
        listeners.push(listener(url).await);
    }
    let (busy, mut busy_received) = listener(&urls[0]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = urls.iter().map(|url| read_on(url.clone(), stop.clone())).collect();
    let told = stop.clone();
    let busy = tokio::spawn(async move {
        while !told.load(Ordering::Acquire) {
            busy.batch_execute("BEGIN; SELECT count(*) FROM log").await.expect("reads");
            busy.batch_execute("SELECT pg_sleep(0.02); COMMIT").await.expect("commits");
        }
        busy
    });
    let sender = |sender: u64| send(urls[sender as usize % urls.len()].clone(), sender);
    let senders: Vec<_> = (0..SENDERS).map(|number| tokio::spawn(sender(number))).collect();
    for sender in senders {
        sender.await.expect("a sender");
    }
    let count = usize::try_from(SENDERS * ROUNDS).expect("few");
    let mut all = Vec::new();
    for (_, from) in &mut listeners {
        all.push(received(from, count).await);
    }
    stop.store(true, Ordering::Release);
    all.push(received(&mut busy_received, count).await);
    let mut snapshots = Vec::new();
    for reader in readers {
        snapshots.extend(reader.await.expect("a reader"));
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "all listeners see the same");
    check_order(&all[0], &snapshots);
    busy.await.expect("the busy listener").batch_execute("SELECT 1").await.expect("answers");
    for (client, from) in &mut listeners {
        client.batch_execute("SELECT 1").await.expect("answers");
        assert!(from.try_recv().is_err(), "nothing more comes");
    }
}

#[test]
fn every_listener_sees_the_order_of_commits() {
    run(async {
        let server = Server::start(Config::new());
        storm(&[server.sql_url().to_owned()]).await;
    });
}

#[test]
fn listeners_of_two_gateways_see_the_same_order() {
    run(async {
        let stand_in = TikvStandIn::start(StandIn::default());
        let start = || Server::start(Config::new().store(stand_in.store_url()));
        let (one, two) = (start(), start());
        storm(&[one.sql_url().to_owned(), two.sql_url().to_owned()]).await;
        // Numbers of sessions tell senders of different gateways apart.
        let (a, b) = (connect(one.sql_url(), None).await, connect(two.sql_url(), None).await);
        let sql = "SELECT pg_backend_pid()";
        assert_ne!(first_column(&a, sql).await, first_column(&b, sql).await);
    });
}

/// A statement that the server runs again by itself sends once.
#[test]
fn what_runs_again_sends_once() {
    run(async {
        let server = Server::start(Config::new());
        let url = server.sql_url().to_owned();
        let root = connect(&url, None).await;
        let tables = "CREATE TABLE n (id int PRIMARY KEY, v int8); INSERT INTO n VALUES (1, 0)";
        root.batch_execute(tables).await.expect("a table");
        let (_client, mut from) = listener(&url).await;
        let mut tasks = Vec::new();
        for worker in 0..8 {
            let url = url.clone();
            tasks.push(tokio::spawn(async move {
                let client = connect(&url, None).await;
                for i in 0..20 {
                    // The read makes it serialize with all others; the server runs it again.
                    let sql = format!(
                        "WITH was AS (SELECT v, pg_notify('c', '{worker} {i}') FROM n) \
                         UPDATE n SET v = was.v + 1 FROM was WHERE id = 1"
                    );
                    client.batch_execute(&sql).await.expect("gets through");
                }
            }));
        }
        for task in tasks {
            task.await.expect("a worker");
        }
        assert_eq!(first_column(&root, "SELECT v FROM n").await, ["160"]);
        let payloads = received(&mut from, 160).await;
        assert_eq!(payloads.iter().collect::<BTreeSet<_>>().len(), 160);
        root.batch_execute("NOTIFY c, 'last'").await.expect("sends");
        assert_eq!(received(&mut from, 1).await, ["last"]);
    });
}

/// Sends until the listener that does not read has been ended.
async fn send_until_ended(root: &Client) {
    let until = Instant::now() + PATIENCE;
    let mut fullest = 0.0;
    let listening = "SELECT value FROM braid_internal.metrics \
                     WHERE name = 'braid_notification_channels'";
    while first_column(root, listening).await != ["0"] {
        let many = "SELECT pg_notify('c', g || repeat('x', 7000)) FROM generate_series(1, 100) g";
        root.batch_execute(many).await.expect("senders go on");
        let usage = root.query_one("SELECT pg_notification_queue_usage()", &[]).await;
        fullest = usage.expect("a number").get::<_, f64>(0).max(fullest);
        assert!(Instant::now() < until, "the listener is never ended");
    }
    assert!(fullest > 0.3 && fullest <= 1.0, "{fullest}");
}

#[test]
fn a_listener_that_does_not_read_is_ended() {
    run(async {
        let server = Server::start(Config::new().arg("--notify-queue").arg("1MB"));
        let root = connect(server.sql_url(), None).await;
        // In a transaction nothing is delivered.
        let (idle, _received) = listener(server.sql_url()).await;
        idle.batch_execute("BEGIN").await.expect("begins");
        send_until_ended(&root).await;
        let error = idle.batch_execute("SELECT 1").await.expect_err("has lost notifications");
        let code = error.code().cloned();
        assert!(error.is_closed() || code == Some(SqlState::PROGRAM_LIMIT_EXCEEDED), "{error:?}");
        // This one does not even read its socket.
        let mut deaf = Connection::open(server.sql_url()).expect("a connection");
        deaf.start(server.sql_url()).expect("a session");
        deaf.query("LISTEN c").expect("is sent");
        deaf.until("ReadyForQuery").expect("listens");
        send_until_ended(&root).await;
        // The server has not waited for it, so the end may be cut off.
        assert!(deaf.until("ReadyForQuery").map_or(true, |rest| rest.ends_with("(closed)\n")));
        // Too many in one transaction.
        let many = "SELECT pg_notify('c', g || repeat('x', 7000)) FROM generate_series(1, 3000) g";
        let error = root.batch_execute(many).await.expect_err("too many");
        assert_eq!(error.code(), Some(&SqlState::PROGRAM_LIMIT_EXCEEDED));
    });
}
