//! What operators see of statements: the slow-statement log, histograms, trace contexts.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::target::connect;
use tokio_postgres::{Client, SimpleQueryMessage};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn traceparent(span: u64) -> String {
    format!("00-{TRACE}-{span:016x}-01")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

async fn sure(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

async fn state_of(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err(sql);
    error.code().expect("a SQLSTATE").code().to_owned()
}

/// The first column of the first row.
async fn value(client: &Client, sql: &str) -> String {
    let messages = client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let row = messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    row.unwrap_or_else(|| panic!("no row: {sql}"))
}

/// The line of the log that contains a text, once it is there.
fn line(server: &Server, text: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let output = server.output();
        if let Some(line) = output.lines().find(|line| line.contains(text)) {
            return line.to_owned();
        }
        assert!(Instant::now() < deadline, "no line with {text} in:\n{output}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The value of a field of a line, without quotes.
fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(&format!(" {name}="))?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split(' ').next(),
    }
}

fn number(line: &str, name: &str) -> f64 {
    let value = field(line, name).unwrap_or_else(|| panic!("no {name}: {line}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is no number: {line}"))
}

#[test]
fn slow_statements_are_logged_as_their_session_asks() {
    let server = Server::start(Config::new());
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, "CREATE TABLE t (id int PRIMARY KEY, v text)").await;
        sure(&client, "SELECT 'before'").await;
        sure(
            &client,
            "SET application_name = 'the app'; SET log_min_duration_statement = '1500ms'",
        )
        .await;
        assert_eq!(value(&client, "SHOW log_min_duration_statement").await, "1500ms");
        sure(&client, "SELECT 'fast'").await;
        sure(&client, "SELECT pg_sleep(1.5), 'slow'").await;
        let slow = line(&server, "'slow'");
        assert!(slow.contains(" INFO slow statement "), "{slow}");
        assert!((1500.0..60_000.0).contains(&number(&slow, "duration_ms")), "{slow}");
        let pid = value(&client, "SELECT pg_backend_pid()").await;
        for (name, wanted) in [
            ("kind", Some("select")),
            ("user", Some("root")),
            ("database", Some("defaultdb")),
            ("application_name", Some("the app")),
            ("pid", Some(&*pid)),
            ("retries", Some("0")),
            ("sqlstate", None),
            ("traceparent", None),
            ("statement", Some("SELECT pg_sleep(1.5), 'slow'")),
        ] {
            assert_eq!(field(&slow, name), wanted, "{name} of {slow}");
        }
        assert!(!server.output().contains("'before'") && !server.output().contains("'fast'"));
        forms_of_statements(&server, &client).await;
    });
}

/// Lists, failures, parameters, portals in parts, queued statements and passwords.
async fn forms_of_statements(server: &Server, client: &Client) {
    sure(client, "SET log_min_duration_statement = 0").await;
    sure(client, "INSERT INTO t VALUES (1, 'one'); SELECT 'in a list'").await;
    assert_eq!(field(&line(server, "'in a list'"), "statement"), Some("SELECT 'in a list'"));
    assert_eq!(field(&line(server, "'one'"), "kind"), Some("insert"));
    assert_eq!(state_of(client, "SELECT 1 / 0 AS failed").await, "22012");
    assert_eq!(field(&line(server, "AS failed"), "sqlstate"), Some("22012"));
    assert_eq!(state_of(client, "INSERT INTO t VALUES (1, 'two')").await, "23505");
    assert_eq!(field(&line(server, "'two'"), "sqlstate"), Some("23505"));
    client.execute("INSERT INTO t VALUES ($1, $2)", &[&2, &"secret"]).await.expect("a row");
    let extended = line(server, "VALUES ($1, $2)");
    assert_eq!(field(&extended, "kind"), Some("insert"));
    // The commit is part of it.
    assert!(number(&extended, "round_trips") >= 1.0, "{extended}");
    sure(client, "PREPARE p AS DELETE FROM t WHERE id = 9; EXECUTE p").await;
    assert_eq!(field(&line(server, "\"EXECUTE p\""), "kind"), Some("delete"));
    sure(client, "BEGIN; UPDATE t SET v = 'queued' RETURNING NOTHING; COMMIT").await;
    assert_eq!(field(&line(server, "'queued'"), "kind"), Some("update"));
    sure(client, "CREATE USER u PASSWORD 'very secret'").await;
    assert_eq!(field(&line(server, "CREATE USER u"), "kind"), Some("ddl"));
    let unseen = server.output().matches("slow statement").count();
    sure(client, "SET log_min_duration_statement = -1").await;
    sure(client, "SELECT 'after'").await;
    sure(client, "SELECT pg_sleep(0.05)").await;
    let output = server.output();
    assert!(output.matches("slow statement").count() <= unseen + 1, "{output}");
    assert!(!output.contains("secret") && !output.contains("'after'"), "{output}");
}

#[test]
fn a_flag_a_role_and_a_database_can_ask_for_the_log() {
    let server = Server::start(Config::new().arg("--log-min-duration=1.5s"));
    block_on(async {
        let root = connect(server.sql_url(), None).await;
        assert_eq!(value(&root, "SHOW log_min_duration_statement").await, "1500ms");
        sure(&root, "SET log_min_duration_statement = 5; RESET log_min_duration_statement").await;
        assert_eq!(value(&root, "SHOW log_min_duration_statement").await, "1500ms");
        sure(&root, "CREATE USER app; ALTER ROLE app SET log_min_duration_statement = 0").await;
        let url = server.sql_url().replace("root@", "app@");
        let app = connect(&url, None).await;
        assert_eq!(value(&app, "SHOW log_min_duration_statement").await, "0");
        sure(&app, "SELECT 'of the role'").await;
        assert_eq!(field(&line(&server, "'of the role'"), "user"), Some("app"));
        // What a role has cannot be changed by the role itself.
        for sql in [
            "SET log_min_duration_statement = -1",
            "RESET log_min_duration_statement",
            "ALTER ROLE app SET log_min_duration_statement = -1",
        ] {
            assert_eq!(state_of(&app, sql).await, "42501", "{sql}");
        }
        assert_eq!(state_of(&root, "SET log_min_duration_statement = 'x'").await, "22023");
        sure(&root, "ALTER DATABASE defaultdb SET log_min_duration_statement = 7").await;
        let again = connect(server.sql_url(), None).await;
        assert_eq!(value(&again, "SHOW log_min_duration_statement").await, "7ms");
    });
}

#[test]
fn a_slow_statement_says_how_long_it_waited_for_locks() {
    let server = Server::start(Config::new().arg("--log-min-duration=0"));
    block_on(async {
        let holder = connect(server.sql_url(), None).await;
        let client = connect(server.sql_url(), None).await;
        sure(&holder, "CREATE TABLE t (id int PRIMARY KEY, v int)").await;
        sure(&holder, "INSERT INTO t VALUES (1, 0)").await;
        sure(&holder, "BEGIN").await;
        sure(&holder, "UPDATE t SET v = 1 WHERE id = 1").await;
        let release = async {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            while value(&holder, waits).await == "0" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            sure(&holder, "COMMIT").await;
        };
        tokio::join!(sure(&client, "UPDATE t SET v = v + 10 WHERE id = 1"), release);
        let waited = line(&server, "v + 10");
        let (lock, all) = (number(&waited, "lock_wait_ms"), number(&waited, "duration_ms"));
        assert!(lock > 40.0 && lock <= all, "{waited}");
    });
}

#[test]
fn a_slow_statement_says_how_often_the_server_ran_it_again() {
    let server = Server::start(Config::new().arg("--log-min-duration=0"));
    block_on(async {
        let holder = connect(server.sql_url(), None).await;
        let client = connect(server.sql_url(), None).await;
        sure(&holder, "CREATE TABLE t (v int); INSERT INTO t VALUES (0); CREATE TABLE u (v int)")
            .await;
        sure(&holder, "SELECT pg_advisory_lock(1)").await;
        // What it has read changes before its commit, which is at Sync.
        let copy = "INSERT INTO u SELECT v FROM t \
                    WHERE pg_advisory_xact_lock_shared(1) IS NOT NULL";
        let change = async {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'";
            while value(&holder, waits).await == "0" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            sure(&holder, "UPDATE t SET v = 7").await;
            sure(&holder, "SELECT pg_advisory_unlock(1)").await;
        };
        let (copied, ()) = tokio::join!(client.execute(copy, &[]), change);
        assert_eq!(copied.expect("it runs again"), 1);
        assert_eq!(value(&client, "SELECT v FROM u").await, "7");
        let line = line(&server, "INSERT INTO u");
        assert!(number(&line, "retries") >= 1.0, "{line}");
        assert!(number(&line, "lock_wait_ms") > 0.0, "{line}");
    });
}

#[test]
fn a_trace_is_that_of_the_comment_or_else_of_the_setting() {
    let server = Server::start(Config::new().arg("--log-min-duration=0"));
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        let of = |text: &str| field(&line(&server, text), "traceparent").map(str::to_owned);
        sure(&client, &format!("SET traceparent = '{}'", traceparent(1))).await;
        sure(&client, "SELECT 'set'").await;
        assert_eq!(of("'set'"), Some(traceparent(1)));
        let local = format!("BEGIN; SET LOCAL traceparent = '{}'", traceparent(2));
        sure(&client, &local).await;
        sure(&client, "SELECT 'local'").await;
        let comment = format!("/*a='b',traceparent='{}'*/", traceparent(3));
        sure(&client, &format!("SELECT 'comment' {comment}")).await;
        client.query_one(&format!("SELECT 'bound' {comment};"), &[]).await.expect("a row");
        sure(&client, &format!("{comment} SELECT 'leading'")).await;
        sure(&client, "SELECT 'invalid' /* traceparent='00-1-2-3' */").await;
        sure(&client, "COMMIT").await;
        sure(&client, "SELECT 'later'").await;
        for (text, span) in
            [("local", 2), ("comment", 3), ("bound", 3), ("leading", 3), ("invalid", 2)]
        {
            assert_eq!(of(&format!("'{text}'")), Some(traceparent(span)), "{text}");
        }
        assert_eq!(of("'later'"), Some(traceparent(1)));
        let set = format!("SELECT set_config('traceparent', '{}', false)", traceparent(4));
        assert_eq!(value(&client, &set).await, traceparent(4));
        assert_eq!(value(&client, "SHOW traceparent").await, traceparent(4));
        sure(&client, "RESET traceparent").await;
        assert_eq!(value(&client, "SHOW traceparent").await, "");
        assert_eq!(state_of(&client, "SET traceparent = '00-1-2-3'").await, "22023");
        timeline(&client).await;
    });
}

async fn timeline(client: &Client) {
    sure(client, "SET record_timeline = on").await;
    let comment = format!("/* traceparent='{}' */", traceparent(5));
    sure(client, &format!("BEGIN; SELECT 1; COMMIT {comment}")).await;
    let messages = client.simple_query("SHOW TRANSACTION TIMELINE").await.expect("the timeline");
    let traces: Vec<Option<String>> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get("trace_id").map(str::to_owned)),
            _ => None,
        })
        .collect();
    assert_eq!(traces, [Some(TRACE.to_owned()), Some(TRACE.to_owned())]);
}

/// The number of a sample on `/metrics`.
fn sample(server: &Server, name: &str) -> f64 {
    let address = server.http_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("connects");
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let number = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn comments_do_not_fill_the_plan_cache() {
    let server = Server::start(Config::new());
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, "CREATE TABLE t (id int PRIMARY KEY)").await;
        let run = async |span: u64| {
            let comment = format!("/* traceparent='{}' */", traceparent(span));
            sure(&client, &format!("SELECT abs(id) + 1 FROM t {comment}")).await;
            client.query(&format!("SELECT abs(id) + $1 FROM t {comment}"), &[&1]).await.unwrap();
        };
        run(1).await;
        let before = sample(&server, "braid_plan_cache_misses_total");
        for span in 2..20 {
            run(span).await;
        }
        assert_eq!(sample(&server, "braid_plan_cache_misses_total"), before);
        let statements = "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%abs(id)%'";
        // A parameter counts as a constant.
        assert_eq!(value(&client, statements).await, "1");
    });
}

#[test]
fn durations_are_counted_by_kind_and_outcome() {
    let server = Server::start(Config::new());
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, "CREATE TABLE t (id int PRIMARY KEY)").await;
        // The numbers of the server's own jobs are too small to be in the way.
        let statements = |kind: &str| {
            sample(&server, &format!("braid_statement_duration_seconds_count{{kind=\"{kind}\"}}"))
        };
        let transactions = |kind: &str, outcome: &str| {
            let labels = format!("{{kind=\"{kind}\",outcome=\"{outcome}\"}}");
            sample(&server, &format!("braid_transaction_duration_seconds_count{labels}"))
        };
        let kinds = ["select", "insert", "update", "ddl", "commit"];
        let ends = [
            ("read_only", "committed"),
            ("read_only", "rolled_back"),
            ("read_write", "committed"),
            ("read_write", "rolled_back"),
        ];
        let before = (kinds.map(statements), ends.map(|(kind, end)| transactions(kind, end)));
        sure(&client, "SELECT pg_sleep(0.6)").await;
        for id in 0..5 {
            client.execute("INSERT INTO t VALUES ($1)", &[&id]).await.expect("a row");
        }
        sure(&client, "BEGIN; UPDATE t SET id = id + 10; ROLLBACK").await;
        sure(&client, "BEGIN; SELECT 1; ROLLBACK").await;
        sure(&client, "BEGIN; UPDATE t SET id = id + 10; COMMIT").await;
        state_of(&client, "INSERT INTO t VALUES (10)").await;
        sure(&client, "CREATE TABLE u ()").await;
        let grown = |before: f64, after: f64| after - before;
        for ((kind, before), wanted) in kinds.iter().zip(before.0).zip([2.0, 6.0, 2.0, 1.0, 1.0]) {
            let more = grown(before, statements(kind));
            let slack = if *kind == "select" { 5.0 } else { 0.0 };
            assert!((wanted..=wanted + slack).contains(&more), "{kind}: {more}");
        }
        for ((end, before), wanted) in ends.iter().zip(before.1).zip([1.0, 1.0, 7.0, 2.0]) {
            let more = grown(before, transactions(end.0, end.1));
            let slack = if *end == ("read_only", "committed") { 100.0 } else { 0.0 };
            assert!((wanted..=wanted + slack).contains(&more), "{end:?}: {more}");
        }
        let seconds = sample(&server, "braid_statement_duration_seconds_sum{kind=\"select\"}");
        assert!((0.6..60.0).contains(&seconds), "{seconds}");
        let last = "braid_statement_duration_seconds_bucket{kind=\"select\",le=\"0.5\"}";
        assert!(sample(&server, last) < statements("select"), "one took longer");
    });
}
