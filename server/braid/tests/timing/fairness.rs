//! Queues at a row over the wire: first come, first served; readers that say so never wait.
//! Statements that compute for long: others are served beside them, and all of them can be stopped.
//!
//! TiKV wakes waiters by their age and not by arrival, so over it all are served, in some order.

use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::store::is_tikv;
use braid_testkit::target::{connect, first_column};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

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

/// Statements that would compute for minutes, in every way that there is. `large` has 3,000 rows,
/// `other` as well.
const ENDLESS: &[&str] = &[
    "SELECT count(*) FROM generate_series(1, 100000000000)",
    "SELECT count(*) FROM large a, large b, large c WHERE a.v + b.v + c.v = -1",
    "SELECT count(*) FROM large a JOIN large b ON a.w = b.w JOIN large c ON b.w = c.w
     WHERE a.v + b.v + c.v = -1",
    "SELECT count(*) FROM large a, LATERAL
     (SELECT * FROM generate_series(1, 300000 + a.id) AS g ORDER BY g % 1009, -g OFFSET 1) s",
    "SELECT sum(n) FROM large o, LATERAL
     (SELECT max(id) OVER (ORDER BY id ROWS BETWEEN 2000 PRECEDING AND 2000 FOLLOWING) AS n
      FROM large WHERE id > o.v - 10000000) s",
    "SELECT count(length(repeat('abc', 30000000 + g))) FROM generate_series(1, 100000) AS g",
    "SELECT count(replace(repeat('ab', 1000000 + g), 'a', 'cc')) FROM generate_series(1, 100000) g",
    "SELECT count(regexp_replace(repeat('ab1', 300000 + g), '[0-9]', 'xyz', 'g'))
     FROM generate_series(1, 100000) AS g",
    "SELECT count(a) FROM large o, LATERAL
     (SELECT array_agg(g) AS a FROM generate_series(1, 200000 + o.id) AS g) s",
    "SELECT count(a) FROM large o, LATERAL
     (SELECT string_agg(g::text, ',' ORDER BY -g) AS a FROM generate_series(1, 100000 + o.id) g) s",
    "SELECT count(*) FROM large o, LATERAL
     (SELECT g % 1009, count(*) FROM generate_series(1, 1000000 + o.id) AS g GROUP BY 1) s",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n > 0)
     SELECT count(*) FROM r WHERE n < 0",
    "SELECT count(('[' || repeat('1,', 300000 + g) || '1]')::jsonb)
     FROM generate_series(1, 9999) AS g",
    "SELECT count(power(9.99::numeric + g, 60000)) FROM generate_series(1, 100000) AS g",
    "SELECT count(*) FROM generate_series(1, 100000) AS g
     WHERE repeat('ab', 200000) LIKE '%' || repeat('ab', 500 + g) || 'c'",
    "SELECT count(*) FROM large a WHERE
     (SELECT count(*) FROM large b, large c WHERE b.v + c.v < a.v - 10000000) > 0",
    // Arrays, whose comparisons cannot fail.
    "SELECT count(*) FROM generate_series(1, 1000000) AS g
     WHERE array_fill(1, ARRAY[1000000 + g]) = array_fill(1, ARRAY[1000000 + g])",
    "SELECT count(*) FROM generate_series(1, 1000000) AS g
     WHERE array_fill(1, ARRAY[300000 + g]) && array_fill(2, ARRAY[300000 + g])",
    "SELECT count(*) FROM generate_series(1, 1000000) AS g
     WHERE array_fill(3, ARRAY[300000 + g]) <@ (array_fill(1, ARRAY[300000 + g]) || 3)",
    "SELECT count(*) FROM generate_series(1, 1000000) AS g
     WHERE 5 = ANY (array_fill(1, ARRAY[1000000 + g]))",
    "SELECT count(('{' || repeat('1,', 300000 + g) || '1}')::int[]::text[]::text)
     FROM generate_series(1, 1000000) AS g",
    "SELECT count(x) FROM generate_series(1, 1000000) AS g, unnest(array_fill(1, ARRAY[500000 + g])) x",
    "SELECT crypt('x', gen_salt('bf', 31))",
    // Changes, definitions and blocks.
    "INSERT INTO large SELECT a.id, 1, 1 FROM large a, large b, large c WHERE a.v + b.v + c.v = -1",
    "UPDATE large a SET v = 0 WHERE
     (SELECT count(*) FROM large b, large c WHERE b.v + c.v < a.v - 10000000) > 0",
    "DELETE FROM large a WHERE
     (SELECT count(*) FROM large b, large c WHERE b.v + c.v < a.v - 10000000) > 0",
    "CREATE TABLE made AS SELECT g FROM generate_series(1, 100000000000) AS g WHERE g < 0",
    "ALTER TABLE other ADD CHECK (length(replace(repeat('ab', 3000000 + v), 'a', 'cc')) > 0)",
    "CREATE INDEX ON other (length(replace(repeat('ab', 3000000 + v), 'a', 'cc')))",
    "DO $$ BEGIN LOOP NULL; END LOOP; END $$",
];

async fn large(server: &Server) -> Client {
    let root = connect(server.sql_url(), None).await;
    root.batch_execute(
        "CREATE TABLE large (id int PRIMARY KEY, v int NOT NULL, w int NOT NULL);
         INSERT INTO large SELECT g, g, g % 3 FROM generate_series(1, 3000) AS g;
         CREATE TABLE other (v int PRIMARY KEY);
         INSERT INTO other SELECT g FROM generate_series(1, 3000) AS g",
    )
    .await
    .expect("the table");
    root
}

async fn stopped_with(client: &Client, sql: &str) -> Option<SqlState> {
    let result = tokio::time::timeout(PATIENCE, client.simple_query(sql)).await;
    let result = result.unwrap_or_else(|_| panic!("cannot be stopped: {sql}"));
    result.err().map(|error| error.code().cloned().unwrap_or(SqlState::CONNECTION_FAILURE))
}

/// A session for each endless statement, running it in a task.
async fn compute(server: &Server) -> Vec<(tokio_postgres::CancelToken, JoinHandle<()>)> {
    let mut computing = Vec::new();
    for sql in ENDLESS {
        let client = connect(server.sql_url(), None).await;
        let token = client.cancel_token();
        computing.push((
            token,
            tokio::spawn(async move {
                let code = client.simple_query(sql).await.err().and_then(|e| e.code().cloned());
                assert_eq!(code, Some(SqlState::QUERY_CANCELED), "{sql}");
            }),
        ));
    }
    computing
}

async fn healthy(server: &Server) -> bool {
    let address = server.http_url().trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.expect("connects");
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.expect("is sent");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.expect("an answer");
    answer.starts_with(b"HTTP/1.1 200")
}

#[test]
fn others_are_served_beside_any_number_of_computing_statements() {
    run(async {
        let mut server = Server::start(Config::new().arg("--shutdown-timeout").arg("100ms"));
        let root = large(&server).await;
        let computing = compute(&server).await;
        let beside = async {
            let sql = "SELECT count(*) FROM braid_internal.sessions WHERE state = 'active'";
            let all = (computing.len() + 1).to_string();
            while text(&root, sql).await != all {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            for _ in 0..20 {
                assert_eq!(text(&root, "SELECT v FROM large WHERE id = 7").await, "7");
                assert!(healthy(&server).await);
                let new = connect(server.sql_url(), None).await;
                new.batch_execute("UPDATE large SET w = w WHERE id = 8").await.expect("commits");
            }
        };
        tokio::time::timeout(PATIENCE, beside).await.expect("others are served");
        // What was asked beside them was asked while all of them went on.
        for (sql, (_, task)) in ENDLESS.iter().zip(&computing) {
            assert!(!task.is_finished(), "{sql}");
        }
        for (token, _) in &computing {
            token.cancel_query(NoTls).await.expect("is asked to stop");
        }
        for (sql, (_, task)) in ENDLESS.iter().zip(computing) {
            let stopped = tokio::time::timeout(PATIENCE, task).await;
            stopped.unwrap_or_else(|_| panic!("cannot be cancelled: {sql}")).expect("is cancelled");
        }
        // A stop of the server is not kept waiting either.
        let lost = compute(&server).await;
        assert_eq!(text(&root, "SELECT v FROM large WHERE id = 9").await, "9");
        assert!(server.terminate().success());
        lost.iter().for_each(|(_, task)| task.abort());
    });
}

#[test]
fn every_computing_statement_has_its_timeout() {
    run(async {
        let server = Server::start(Config::new());
        let _root = large(&server).await;
        let mut tasks = Vec::new();
        for sql in ENDLESS {
            let client = connect(server.sql_url(), None).await;
            client.batch_execute("SET statement_timeout = '200ms'").await.expect("a setting");
            tasks.push(tokio::spawn(async move {
                assert_eq!(
                    stopped_with(&client, sql).await,
                    Some(SqlState::QUERY_CANCELED),
                    "{sql}"
                );
                // The session is as good as before, though beside the rest 200 ms may be too short.
                loop {
                    match stopped_with(&client, "SELECT 1").await {
                        None => break,
                        code => assert_eq!(code, Some(SqlState::QUERY_CANCELED), "SELECT 1"),
                    }
                }
            }));
        }
        for task in tasks {
            task.await.expect("its timeout ends it");
        }
    });
}
