//! Statements of several workers end, fail and conflict as those of one worker.

#![allow(clippy::print_stdout, reason = "a test says how long it has waited")]

use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::{connect, first_column, sorted_rows};
use tokio_postgres::{Client, NoTls};

use super::tables::workers;

/// How long a statement may take to end after it is told to.
const END: Duration = Duration::from_secs(1);
/// How long the server may take to do nothing afterwards.
const IDLE: Duration = Duration::from_secs(10);

/// A server with a table `big` of this number of rows, and `small`, `looked` of fewer.
async fn server(rows: u64) -> Server {
    let server = Server::start(Config::new().arg("--analyze-interval").arg("0s"));
    let client = connect(server.sql_url(), None).await;
    for sql in [
        "CREATE TABLE big (id int PRIMARY KEY, g int, v int, s text, w int, \
         FAMILY one (id, g, v, s), FAMILY two (w))"
            .to_owned(),
        format!(
            "INSERT INTO big SELECT k, k % 10, k % 100, 'text ' || k, k \
             FROM generate_series(1, {rows}) k"
        ),
        "CREATE TABLE small (g int PRIMARY KEY, name text)".to_owned(),
        "INSERT INTO small SELECT k, 'name ' || k FROM generate_series(0, 8) k".to_owned(),
        "CREATE TABLE looked (id int PRIMARY KEY, v int)".to_owned(),
        format!("INSERT INTO looked SELECT k, k % 7 FROM generate_series(1, {rows}) k"),
        "ANALYZE big; ANALYZE small; ANALYZE looked".to_owned(),
    ] {
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    server
}

async fn session(server: &Server, number: u64) -> Client {
    let client = connect(server.sql_url(), None).await;
    client.batch_execute(&workers(number)).await.expect("settings");
    client
}

/// The SQLSTATE of a statement's error; `None` if it has none.
async fn state(client: &Client, sql: &str) -> Option<String> {
    let error = client.simple_query(sql).await.err()?;
    let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}"));
    Some(error.code().code().to_owned())
}

async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await;
    sorted_rows(&messages.unwrap_or_else(|error| panic!("{sql}: {error:?}")))
}

async fn assert_has_workers(client: &Client, sql: &str) {
    let plan = rows(client, &format!("EXPLAIN {sql}")).await;
    assert!(plan.iter().any(|line| line.contains("Workers Planned: 3")), "{sql}: {plan:#?}");
}

/// Hundredths of a second for which the server has used processors.
fn processor_time(server: &Server) -> u64 {
    let path = format!("/proc/{}/stat", server.pid());
    let text = std::fs::read_to_string(path).expect("the state of the process");
    let (_, numbers) = text.rsplit_once(") ").expect("the name is in parentheses");
    let numbers: Vec<&str> = numbers.split(' ').collect();
    let time = |place: usize| numbers[place].parse::<u64>().expect("a number");
    time(11) + time(12)
}

async fn wait_until_idle(server: &Server) {
    let started = Instant::now();
    loop {
        let before = processor_time(server);
        tokio::time::sleep(Duration::from_millis(300)).await;
        if processor_time(server) - before < 6 {
            return;
        }
        assert!(started.elapsed() < IDLE, "workers go on after their statement");
    }
}

/// The memory that statements hold.
const MEMORY: &str =
    "SELECT value FROM braid_internal.metrics WHERE name = 'braid_statement_memory_bytes'";

/// An expensive expression for each row, and joins of most rows with many. Each takes much longer
/// than the tests that end it.
const LONG: [&str; 3] = [
    "SELECT sum(length(repeat(md5(repeat(a.s, 300)), 300))) FROM big a, big b
     WHERE a.g = b.g AND b.id < 4000",
    "SELECT a.v, count(*), max(a.s || b.s) FROM big a JOIN big b ON a.g = b.g
     JOIN big c ON c.g = b.g GROUP BY a.v",
    "SELECT count(*) FROM big a JOIN looked b ON b.id = a.id JOIN big c ON c.g = a.g
     JOIN big d ON d.g = a.g WHERE b.v + c.v + a.v + d.v = -1",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_and_a_timeout_end_all_workers() {
    let server = server(Size::from_env().pick(8_000, 40_000, 200_000)).await;
    let client = session(&server, 3).await;
    for sql in LONG {
        assert_has_workers(&client, sql).await;
        let token = client.cancel_token();
        let cancelling = async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            token.cancel_query(NoTls).await.expect("a cancel request");
            Instant::now()
        };
        let (failed, cancelled) = tokio::join!(state(&client, sql), cancelling);
        assert_eq!(failed.as_deref(), Some("57014"), "{sql}");
        assert!(cancelled.elapsed() < END, "{:?} after the cancel: {sql}", cancelled.elapsed());
        println!("ended {:?} after the cancel", cancelled.elapsed());
        wait_until_idle(&server).await;
        client.batch_execute("SET statement_timeout = '300ms'").await.expect("a setting");
        let started = Instant::now();
        assert_eq!(state(&client, sql).await.as_deref(), Some("57014"), "{sql}");
        let took = started.elapsed();
        assert!(took < END + Duration::from_millis(300), "{took:?} with a timeout: {sql}");
        client.batch_execute("RESET statement_timeout").await.expect("a setting");
        wait_until_idle(&server).await;
        assert_eq!(rows(&client, "SELECT count(*) - max(id) FROM big").await, ["0"]);
        assert_eq!(first_column(&client, MEMORY).await, ["0"], "memory is not given back: {sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_ends_all_workers() {
    let server = server(Size::from_env().pick(8_000, 40_000, 200_000)).await;
    for sql in LONG {
        let client = session(&server, 3).await;
        let running = tokio::spawn(async move { client.simple_query(sql).await.map(|_| ()) });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!running.is_finished(), "{sql}");
        let watcher = session(&server, 1).await;
        // The client does not read any more, so its socket is closed by the end of its session.
        let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE state = 'active' AND pid <> pg_backend_pid()";
        assert_eq!(first_column(&watcher, ended).await, ["t"]);
        assert!(running.await.expect("no panic").is_err());
        wait_until_idle(&server).await;
        assert_eq!(first_column(&watcher, MEMORY).await, ["0"], "memory is not given back: {sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_one_worker_is_the_error_of_the_statement() {
    let count = Size::from_env().pick(4_000, 40_000, 200_000);
    let server = server(count).await;
    let client = session(&server, 3).await;
    for place in [1, 2, count / 3, count / 2, count * 3 / 4, count - 1, count] {
        for sql in [
            format!("SELECT sum(100 / (id - {place})) FROM big"),
            format!("SELECT g, count(*) FROM big WHERE 1 / (id - {place}) < 5 GROUP BY g"),
            format!("SELECT count(*) FROM big GROUP BY v, 10 / (id - {place}) > 0"),
            format!(
                "SELECT s.name, sum(b.v) FROM big b JOIN small s ON s.g = b.g
                 AND 5 / (b.id - {place}) < 9 + s.g GROUP BY s.name"
            ),
        ] {
            // The row in the join must have a partner.
            if sql.contains("JOIN") && place % 10 == 9 {
                continue;
            }
            assert_eq!(state(&client, &sql).await.as_deref(), Some("22012"), "{sql}");
            assert_eq!(rows(&client, "SELECT count(*) - max(id) FROM big").await, ["0"]);
        }
    }
    assert_has_workers(&client, "SELECT sum(100 / (id - 5)) FROM big").await;
    client.batch_execute("BEGIN; SAVEPOINT a").await.expect("begins");
    let failed = state(&client, "SELECT sum(1 / (id - 77)) FROM big").await;
    assert_eq!(failed.as_deref(), Some("22012"));
    assert_eq!(state(&client, "SELECT sum(v) FROM big").await.as_deref(), Some("25P02"));
    client.batch_execute("ROLLBACK TO a").await.expect("goes back");
    assert_eq!(rows(&client, "SELECT count(*) - max(id) FROM big").await, ["0"]);
    client.batch_execute("COMMIT").await.expect("commits");
    wait_until_idle(&server).await;
    assert_eq!(first_column(&client, MEMORY).await, ["0"], "memory is not given back");
}

/// What one transaction reads, what another one changes meanwhile, and whether the first one must
/// fail when it writes.
const CONFLICTS: &[(&str, &str, bool)] = &[
    ("SELECT sum(v) FROM big", "UPDATE big SET v = v + 1 WHERE id = 1", true),
    ("SELECT sum(v) FROM big", "UPDATE big SET v = v + 1 WHERE id = 1999", true),
    ("SELECT sum(v) FROM big", "UPDATE big SET v = v + 1 WHERE id = 4000", true),
    ("SELECT sum(v) FROM big", "DELETE FROM big WHERE id = 2500", true),
    ("SELECT sum(v) FROM big", "INSERT INTO big VALUES (-5, 1, 1)", true),
    ("SELECT sum(v) FROM big", "INSERT INTO big VALUES (9000, 1, 1)", true),
    ("SELECT g, avg(v) FROM big GROUP BY g", "UPDATE big SET v = v + 1 WHERE id = 3001", true),
    ("SELECT count(*) FROM big WHERE s = 'no'", "UPDATE big SET s = 'no' WHERE id = 700", true),
    ("SELECT sum(v) FROM big WHERE id < 2000", "UPDATE big SET v = 0 WHERE id = 2100", false),
    ("SELECT sum(v) FROM big WHERE id < 2000", "INSERT INTO big VALUES (9001, 1, 1)", false),
    ("SELECT sum(v) FROM big WHERE id > 1000", "UPDATE big SET v = 5 WHERE id = 1001", true),
    // All families of the rows are in the range that is read.
    ("SELECT sum(v) FROM big", "UPDATE big SET w = -w WHERE id = 1500", true),
    ("SELECT sum(w) FROM big", "UPDATE big SET w = -w WHERE id = 1501", true),
    (
        "SELECT s.name, sum(b.v) FROM big b JOIN small s ON s.g = b.g GROUP BY s.name",
        "UPDATE small SET name = 'other' WHERE g = 4",
        true,
    ),
    (
        "SELECT s.name, sum(b.v) FROM big b LEFT JOIN small s ON s.g = b.g GROUP BY s.name",
        "INSERT INTO small VALUES (9, 'nine')",
        true,
    ),
    (
        "SELECT sum(l.v) FROM big b JOIN looked l ON l.id = b.v WHERE b.id < 3000",
        "UPDATE looked SET v = v + 1 WHERE id = 50",
        true,
    ),
    // Workers share the rows of `big` and look for others.
    (
        "SELECT sum(l.v) FROM big b JOIN looked l ON l.id = b.v * 7 WHERE b.id < 150",
        "UPDATE looked SET v = v + 1 WHERE id = 70",
        true,
    ),
    (
        "SELECT sum(l.v) FROM big b JOIN looked l ON l.id = b.v * 7 WHERE b.id < 150",
        "INSERT INTO big VALUES (-7, 1, 1)",
        true,
    ),
    (
        "SELECT sum(l.v) FROM big b JOIN looked l ON l.id = b.v * 7 WHERE b.id < 150",
        "UPDATE looked SET v = v + 1 WHERE id = 3000",
        false,
    ),
    (
        "SELECT sum(b.v) FROM big b WHERE NOT EXISTS (SELECT FROM looked l WHERE l.id = -b.id)",
        "INSERT INTO looked VALUES (-1200, 0)",
        true,
    ),
];

/// The SQLSTATE with which a transaction ends that reads, and writes after another one has changed
/// something and committed. Both read the same.
async fn conflict(server: &Server, number: u64, limit: &str, case: (&str, &str)) -> Option<String> {
    let (read, change) = case;
    let (one, other) = (session(server, number).await, session(server, number).await);
    for client in [&one, &other] {
        let limit = format!("SET statement_memory_limit = '{limit}'");
        client.batch_execute(&limit).await.expect("a setting");
        client.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").await.expect("begins");
        rows(client, read).await;
    }
    other.batch_execute(change).await.unwrap_or_else(|error| panic!("{change}: {error:?}"));
    other.batch_execute("COMMIT").await.expect("the first one commits");
    match state(&one, "UPDATE big SET v = v + 1, w = w + 1 WHERE id = 10").await {
        Some(code) => Some(code),
        None => state(&one, "COMMIT").await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_workers_read_counts_as_read_by_the_transaction() {
    for (number, limit) in [(1, "1GB"), (3, "1GB"), (3, "16kB")] {
        let server = server(4_000).await;
        let client = session(&server, 3).await;
        for (read, change, must_fail) in CONFLICTS {
            assert_has_workers(&client, read).await;
            let found = conflict(&server, number, limit, (read, change)).await;
            let right = must_fail.then_some("40001");
            assert_eq!(found.as_deref(), right, "{number} workers, {limit}: {read}; {change}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_see_what_their_transaction_has_written() {
    let server = server(4_000).await;
    let client = session(&server, 3).await;
    let query = "SELECT b.g, count(*), sum(b.v), max(b.s), min(b.id), max(b.id), count(s.g)
                 FROM big b LEFT JOIN small s ON s.g = b.g GROUP BY b.g";
    assert_has_workers(&client, query).await;
    client.batch_execute("BEGIN").await.expect("begins");
    let mut seen = vec![rows(&client, query).await];
    for change in [
        "INSERT INTO big SELECT k, k % 12, 1000, 'new' FROM generate_series(-500, 0) k",
        "INSERT INTO big SELECT k, k % 12, 1000, 'new' FROM generate_series(5000, 5500) k",
        "UPDATE big SET v = v + 7, s = 'zz' || id WHERE id % 9 = 2",
        "DELETE FROM big WHERE id BETWEEN 1000 AND 1500",
        "SAVEPOINT a; DELETE FROM small WHERE g < 5; UPDATE big SET id = -id WHERE id > 3900",
        "ROLLBACK TO a",
        "DELETE FROM big WHERE id > 2000",
        "DELETE FROM big",
    ] {
        client.batch_execute(change).await.unwrap_or_else(|error| panic!("{change}: {error:?}"));
        let found = rows(&client, query).await;
        client.batch_execute(&workers(1)).await.expect("settings");
        assert_eq!(found, rows(&client, query).await, "{change}");
        client.batch_execute(&workers(3)).await.expect("settings");
        assert!(!seen.contains(&found) || change == "ROLLBACK TO a", "{change}");
        seen.push(found);
    }
    client.batch_execute("ROLLBACK").await.expect("rolls back");
    assert_eq!(rows(&client, query).await, seen[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_analyze_counts_the_rows_of_all_workers() {
    let server = server(4_000).await;
    let client = session(&server, 3).await;
    for (sql, lines) in [
        ("SELECT sum(v) FROM big", &["big using", "actual rows=4000 "]),
        ("SELECT g, sum(v) FROM big GROUP BY g", &["Aggregate", "actual rows=10 "]),
        (
            "SELECT s.name, count(*) FROM big b JOIN small s ON s.g = b.g GROUP BY s.name",
            &["Hash Join", "actual rows=3600 "],
        ),
    ] {
        for options in ["ANALYZE", "ANALYZE, VERBOSE", "ANALYZE, BUFFERS", "ANALYZE, FORMAT JSON"] {
            let plan = rows(&client, &format!("EXPLAIN ({options}) {sql}")).await;
            let all = plan.join("\n");
            assert!(all.contains("Workers Planned"), "{options}: {all}");
            let is_line = |line: &&String| lines.iter().all(|part| line.contains(part));
            let is_found = options.contains("JSON") || plan.iter().any(|line| is_line(&line));
            assert!(is_found, "{options}: {all}");
        }
    }
}
