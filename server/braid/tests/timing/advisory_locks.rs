//! Advisory locks of several gateways: they hold across gateways, end with a dead one, and what a
//! paused gateway writes under locks that it has lost does not commit.

use std::time::{Duration, Instant};

use braid_testkit::target::{first_column, try_connect};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::several_gateways::{Cluster, LEASE, PATIENCE, run};

async fn is_free(client: &Client, key: i64) -> bool {
    let sql = format!("SELECT pg_try_advisory_lock({key})");
    first_column(client, &sql).await == ["t"]
}

async fn lock(client: &Client, key: i64) -> Duration {
    let since = Instant::now();
    let sql = format!("SELECT pg_advisory_lock({key})");
    client.batch_execute(&sql).await.expect("is granted");
    since.elapsed()
}

async fn unlock(client: &Client, key: i64) {
    let sql = format!("SELECT pg_advisory_unlock({key})");
    assert_eq!(first_column(client, &sql).await, ["t"]);
}

#[test]
fn a_lock_holds_across_gateways() {
    run(async {
        let cluster = Cluster::start(2);
        let (a, b) = (cluster.connect(0).await, cluster.connect(1).await);
        lock(&a, 1).await;
        assert!(!is_free(&b, 1).await);
        assert!(is_free(&b, 2).await, "another key");
        let shared = "SELECT pg_try_advisory_lock_shared(2)";
        assert_eq!(first_column(&a, shared).await, ["f"]);
        // With the answer to an unlock the lock is free everywhere.
        for _ in 0..20 {
            unlock(&a, 1).await;
            assert!(is_free(&b, 1).await);
            unlock(&b, 1).await;
            assert!(is_free(&a, 1).await);
        }
        // So is one of a transaction with the answer to its COMMIT.
        unlock(&a, 1).await;
        b.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1)").await.expect("is free");
        assert!(!is_free(&a, 1).await);
        b.batch_execute("COMMIT").await.expect("ends");
        assert!(is_free(&a, 1).await);
        let (waited, ()) = tokio::join!(lock(&b, 1), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            unlock(&a, 1).await;
        });
        assert!(waited >= Duration::from_millis(250), "{waited:?}");
        a.batch_execute("SET lock_timeout = '200ms'").await.expect("is set");
        let error = a.batch_execute("SELECT pg_advisory_lock(1)").await.expect_err("is held");
        assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE));
        // A session that ends hands its locks on.
        drop(b);
        a.batch_execute("SET lock_timeout = 0").await.expect("is set");
        lock(&a, 1).await;
        lock(&a, 2).await;
    });
}

/// Each client reads and writes in statements of its own: only the lock keeps updates from being
/// lost.
#[test]
fn a_counter_of_two_gateways_loses_nothing_under_a_lock() {
    const CLIENTS: usize = 3;
    const ROUNDS: i64 = 8;
    run(async {
        let cluster = Cluster::start(2);
        let watcher = cluster.connect(0).await;
        let table = "CREATE TABLE counter (id int PRIMARY KEY, v int8); \
                     INSERT INTO counter VALUES (1, 0)";
        watcher.batch_execute(table).await.expect("a counter");
        let mut tasks = Vec::new();
        for number in 0..CLIENTS * 2 {
            let client = cluster.connect(number % 2).await;
            tasks.push(tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    lock(&client, 7).await;
                    let v = first_column(&client, "SELECT v FROM counter").await;
                    let v: i64 = v[0].parse().expect("a number");
                    let sql = format!("UPDATE counter SET v = {} WHERE id = 1", v + 1);
                    client.batch_execute(&sql).await.expect("is written");
                    unlock(&client, 7).await;
                }
            }));
        }
        for task in tasks {
            task.await.expect("does its work");
        }
        let sum = first_column(&watcher, "SELECT v FROM counter").await;
        assert_eq!(sum, [(CLIENTS as i64 * 2 * ROUNDS).to_string()]);
    });
}

#[test]
fn locks_of_a_killed_gateway_are_free_when_its_lease_has_ended() {
    run(async {
        let mut cluster = Cluster::start(2);
        let (a, b) = (cluster.connect(0).await, cluster.connect(1).await);
        lock(&a, 1).await;
        cluster.servers[0].kill();
        assert!(!is_free(&b, 1).await, "the lease lasts");
        let waited = lock(&b, 1).await;
        assert!(waited < LEASE * 3, "{waited:?}");
    });
}

#[test]
fn a_paused_gateway_writes_nothing_under_locks_that_it_has_lost() {
    run(async {
        let cluster = Cluster::start(2);
        let (a, b) = (cluster.connect(0).await, cluster.connect(1).await);
        let table = "CREATE TABLE leader (id int PRIMARY KEY, name text); \
                     INSERT INTO leader VALUES (1, 'nobody')";
        b.batch_execute(table).await.expect("a table");
        lock(&a, 1).await;
        // One statement, whose transaction has begun: its commit comes after the pause.
        a.batch_execute("BEGIN; INSERT INTO leader VALUES (2, 'a')").await.expect("is written");
        cluster.servers[0].pause();
        lock(&b, 1).await;
        b.batch_execute("UPDATE leader SET name = 'b' WHERE id = 1").await.expect("is written");
        cluster.servers[0].resume();
        let ended = a.batch_execute("UPDATE leader SET name = 'a' WHERE id = 1; COMMIT").await;
        let error = ended.expect_err("the locks are lost");
        let code = error.code().cloned();
        let expected =
            [None, Some(SqlState::T_R_SERIALIZATION_FAILURE), Some(SqlState::ADMIN_SHUTDOWN)];
        assert!(expected.contains(&code), "{error:?}");
        let names = first_column(&b, "SELECT name FROM leader ORDER BY id").await;
        assert_eq!(names, ["b"]);
        // The session ends, and the gateway serves others.
        let until = Instant::now() + PATIENCE;
        while a.batch_execute("SELECT 1").await.is_ok() || !a.is_closed() {
            assert!(Instant::now() < until, "the session goes on");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let again = try_connect(cluster.servers[0].sql_url(), None).await.expect("connects");
        assert!(!is_free(&again, 1).await, "the other gateway holds it");
        unlock(&b, 1).await;
        assert!(is_free(&again, 1).await);
    });
}

#[test]
fn a_circle_through_two_gateways_is_broken() {
    run(async {
        let cluster = Cluster::start(2);
        let (a, b) = (cluster.connect(0).await, cluster.connect(1).await);
        lock(&a, 1).await;
        lock(&b, 2).await;
        // Who is refused ends its session, so that the other goes on.
        let take = async |client: Client, key: i64| {
            let sql = format!("SELECT pg_advisory_lock({key})");
            client.batch_execute(&sql).await.map_err(|error| error.code().cloned())
        };
        let (one, other) = tokio::join!(take(a, 2), take(b, 1));
        let refused = [&one, &other].into_iter().filter(|result| result.is_err()).count();
        assert_eq!(refused, 1, "{one:?} {other:?}");
        let deadlock = Err(Some(SqlState::T_R_DEADLOCK_DETECTED));
        assert!(one == deadlock || other == deadlock, "{one:?} {other:?}");
    });
}

/// Two tables of one row each.
async fn rows(cluster: &Cluster) {
    let table = "CREATE TABLE one (id int PRIMARY KEY, v int); INSERT INTO one VALUES (1, 0); \
                 CREATE TABLE other (id int PRIMARY KEY, v int); INSERT INTO other VALUES (1, 0)";
    cluster.connect(0).await.batch_execute(table).await.expect("tables");
}

type Outcome = Result<(), Option<SqlState>>;

/// Runs a statement, then ends the block: who is refused lets the others go on.
async fn end_after(client: &Client, sql: &str) -> Outcome {
    let run = tokio::time::timeout(PATIENCE, client.batch_execute(sql)).await;
    let result = run.unwrap_or_else(|_| panic!("{sql}: nobody breaks the circle"));
    client.batch_execute("ROLLBACK; SELECT pg_advisory_unlock_all()").await.expect("ends");
    result.map_err(|error| error.code().cloned())
}

const TAKE_ROW: &str = "BEGIN; SELECT v FROM one WHERE id = 1 FOR UPDATE";
const DEADLOCK: Outcome = Err(Some(SqlState::T_R_DEADLOCK_DETECTED));

/// One holds a row and waits for an advisory lock; who holds that waits for the row.
#[test]
fn a_circle_through_a_row_is_broken() {
    run(async {
        let cluster = Cluster::start(2);
        rows(&cluster).await;
        for (first, second) in [(0, 0), (0, 1), (1, 0)] {
            let (a, b) = (cluster.connect(first).await, cluster.connect(second).await);
            a.batch_execute(TAKE_ROW).await.expect("is free");
            lock(&b, 9).await;
            let (waits, goes_on) = tokio::join!(
                end_after(&a, "SELECT pg_advisory_xact_lock(9)"),
                end_after(&b, "UPDATE one SET v = v + 1 WHERE id = 1"),
            );
            assert_eq!(waits, DEADLOCK, "who waits for the advisory lock gives way");
            assert_eq!(goes_on, Ok(()));
        }
    });
}

/// A transaction without advisory locks is one step of the circle.
#[test]
fn a_circle_through_two_rows_and_two_gateways_is_broken() {
    run(async {
        let cluster = Cluster::start(2);
        rows(&cluster).await;
        let (a, b) = (cluster.connect(0).await, cluster.connect(0).await);
        let plain = cluster.connect(1).await;
        a.batch_execute(TAKE_ROW).await.expect("is free");
        let other = "BEGIN; SELECT v FROM other WHERE id = 1 FOR UPDATE";
        plain.batch_execute(other).await.expect("is free");
        b.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(9)").await.expect("is free");
        let (waits, between, goes_on) = tokio::join!(
            end_after(&a, "SELECT pg_advisory_lock(9)"),
            end_after(&plain, "UPDATE one SET v = 1 WHERE id = 1"),
            end_after(&b, "UPDATE other SET v = 1 WHERE id = 1"),
        );
        assert_eq!(waits, DEADLOCK);
        assert_eq!((between, goes_on), (Ok(()), Ok(())));
    });
}

/// A request for a row that has given up is no step of a circle any more.
#[test]
fn a_wait_that_has_ended_closes_no_circle() {
    run(async {
        let cluster = Cluster::start(2);
        rows(&cluster).await;
        let (a, b) = (cluster.connect(0).await, cluster.connect(1).await);
        a.batch_execute(TAKE_ROW).await.expect("is free");
        lock(&b, 9).await;
        let gives_up = async {
            // It begins later, so that its wait ends before the circle is certain.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            b.batch_execute("SET lock_timeout = '1300ms'").await.expect("is set");
            let update = b.batch_execute("UPDATE one SET v = 1 WHERE id = 1").await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            unlock(&b, 9).await;
            update.map_err(|error| error.code().cloned())
        };
        let (waits, gave_up) = tokio::join!(end_after(&a, "SELECT pg_advisory_lock(9)"), gives_up);
        assert_eq!(gave_up, Err(Some(SqlState::LOCK_NOT_AVAILABLE)));
        assert_eq!(waits, Ok(()));
    });
}
