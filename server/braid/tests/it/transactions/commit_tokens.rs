//! Commit tokens across broken connections, kill -9 and users; and the text of `/metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use braid_testkit::server::{Config, Server};
use braid_testkit::target::connect;
use tokio_postgres::Client;

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

fn token(number: u64) -> String {
    format!("6ba7b810-9dad-41d1-80b4-{number:012x}")
}

async fn status(client: &Client, token: &str) -> String {
    let sql = format!("SELECT braid_commit_status('{token}')");
    client.query_one(&sql, &[]).await.expect("a status").get(0)
}

/// The status once it is settled.
async fn settled(client: &Client, token: &str) -> String {
    loop {
        let status = status(client, token).await;
        if status != "pending" {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn count(client: &Client, n: u64) -> i64 {
    let sql = format!("SELECT count(*) FROM t WHERE n = {n}");
    client.query_one(&sql, &[]).await.expect("a count").get(0)
}

#[test]
fn a_token_shows_what_a_killed_server_has_committed() {
    run(async {
        let mut server = Server::start(Config::new());
        let root = connect(server.sql_url(), None).await;
        root.batch_execute("CREATE TABLE t (n int8 PRIMARY KEY)").await.expect("is created");
        let mut asked = Vec::new();
        for round in 0..3u64 {
            let mut tasks = Vec::new();
            for worker in 0..4u64 {
                let url = server.sql_url().to_owned();
                tasks.push(tokio::spawn(async move {
                    let client = connect(&url, None).await;
                    for i in 0.. {
                        let n = round << 40 | worker << 32 | i;
                        let sql = format!(
                            "BEGIN; SET LOCAL commit_token = '{}'; INSERT INTO t VALUES ({n}); COMMIT",
                            token(n)
                        );
                        if client.batch_execute(&sql).await.is_err() {
                            return n;
                        }
                    }
                    unreachable!("the server is killed")
                }));
            }
            tokio::time::sleep(Duration::from_millis(400 + 137 * round)).await;
            server.kill();
            for task in tasks {
                // The last one may or may not have committed; the one before it has.
                let last = task.await.expect("a worker");
                asked.push((last, false));
                asked.extend((last & 0xffff_ffff > 0).then(|| (last - 1, true)));
            }
            server.restart();
        }
        let root = connect(server.sql_url(), None).await;
        for (n, acknowledged) in &asked {
            let status = status(&root, &token(*n)).await;
            let rows = count(&root, *n).await;
            assert_eq!(status, if rows == 1 { "committed" } else { "aborted" }, "{n:x}");
            assert!(!acknowledged || rows == 1, "{n:x} was acknowledged");
        }
        // What was answered stays, and an aborted one stays aborted.
        server.kill();
        server.restart();
        let root = connect(server.sql_url(), None).await;
        for (n, _) in &asked {
            if count(&root, *n).await == 1 {
                assert_eq!(status(&root, &token(*n)).await, "committed");
                continue;
            }
            let sql = format!(
                "BEGIN; SET LOCAL commit_token = '{}'; INSERT INTO t VALUES ({n}); COMMIT",
                token(*n)
            );
            let late = root.batch_execute(&sql).await.expect_err("is refused");
            assert_eq!(late.code().map(|code| code.code()), Some("40000"));
            root.batch_execute("ROLLBACK").await.expect("ends the block");
            assert_eq!(count(&root, *n).await, 0);
            assert_eq!(status(&root, &token(*n)).await, "aborted");
        }
    });
}

#[test]
fn a_client_that_vanishes_leaves_its_token_settled_and_its_locks_free() {
    run(async {
        let server = Server::start(Config::new());
        let root = connect(server.sql_url(), None).await;
        root.batch_execute("CREATE TABLE t (n int8 PRIMARY KEY)").await.expect("is created");
        let lost = connect(server.sql_url(), None).await;
        let begin =
            format!("BEGIN; SET LOCAL commit_token = '{}'; INSERT INTO t VALUES (1)", token(1));
        lost.batch_execute(&begin).await.expect("runs");
        assert_eq!(status(&root, &token(1)).await, "pending");
        drop(lost);
        assert_eq!(settled(&root, &token(1)).await, "aborted");
        root.batch_execute("INSERT INTO t VALUES (1)").await.expect("no lock is left");
    });
}

#[test]
fn the_reader_of_a_token_and_the_committer_agree() {
    run(async {
        let server = Server::start(Config::new());
        let root = connect(server.sql_url(), None).await;
        root.batch_execute("CREATE TABLE t (n int8 PRIMARY KEY)").await.expect("is created");
        for n in 0..100u64 {
            let (writer, name) = (connect(server.sql_url(), None).await, token(n));
            let commit = format!(
                "BEGIN; INSERT INTO t VALUES ({n}); SET LOCAL commit_token = '{name}'; COMMIT"
            );
            let (_, status) = tokio::join!(writer.batch_execute(&commit), settled(&root, &name));
            drop(writer);
            let rows = count(&root, n).await;
            assert_eq!(status, if rows == 1 { "committed" } else { "aborted" }, "{n}");
            assert_eq!(settled(&root, &name).await, status);
        }
    });
}

#[test]
fn only_the_same_user_and_administrators_are_told() {
    run(async {
        let server = Server::start(Config::new());
        let root = connect(server.sql_url(), None).await;
        root.batch_execute("CREATE USER ann; CREATE USER bob").await.expect("are created");
        let as_user = |name: &str| server.sql_url().replace("root@", &format!("{name}@"));
        let (ann, bob) =
            (connect(&as_user("ann"), None).await, connect(&as_user("bob"), None).await);
        let begin = format!("BEGIN; SET LOCAL commit_token = '{}'", token(1));
        ann.batch_execute(&begin).await.expect("runs");
        let again = connect(&as_user("ann"), None).await;
        for (client, wanted) in [(&again, "pending"), (&bob, "unknown"), (&root, "pending")] {
            assert_eq!(status(client, &token(1)).await, wanted);
        }
        ann.batch_execute("COMMIT").await.expect("commits");
        for (client, wanted) in [(&again, "committed"), (&bob, "unknown"), (&root, "committed")] {
            assert_eq!(status(client, &token(1)).await, wanted);
        }
    });
}

#[test]
fn a_token_before_a_sync_holds_for_the_statements_after_it() {
    run(async {
        let server = Server::start(Config::new());
        let root = connect(server.sql_url(), None).await;
        root.batch_execute("CREATE TABLE hot (id int PRIMARY KEY, n int8)").await.expect("runs");
        root.batch_execute("INSERT INTO hot VALUES (1, 0)").await.expect("runs");
        let mut tasks = Vec::new();
        for worker in 0..4u64 {
            let url = server.sql_url().to_owned();
            tasks.push(tokio::spawn(async move {
                let client = connect(&url, None).await;
                for i in 0..15 {
                    // The text runs again as a whole after a conflict, token and all.
                    let sql = format!(
                        "SET LOCAL commit_token = '{}'; SELECT n FROM hot; UPDATE hot SET n = n + 1",
                        token(worker << 16 | i)
                    );
                    client.batch_execute(&sql).await.expect("is cured");
                }
            }));
        }
        for task in tasks {
            task.await.expect("a worker");
        }
        for worker in 0..4u64 {
            for i in 0..15 {
                assert_eq!(status(&root, &token(worker << 16 | i)).await, "committed");
            }
        }
        let n: i64 = root.query_one("SELECT n FROM hot", &[]).await.expect("a row").get(0);
        assert_eq!(n, 60);
    });
}

fn metrics(server: &Server) -> String {
    let address = server.http_url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

/// Whether a metric's name is what Prometheus's linter (`promtool check metrics`) asks for.
fn check_name(name: &str, kind: &str) {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
    assert!(name.chars().all(is_plain), "{name}");
    assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
    let reserved = ["_count", "_sum", "_bucket", "_gauge", "_counter", "_histogram", "_info"];
    assert!(!reserved.iter().any(|end| name.ends_with(end)), "{name}");
    let units = ["_milliseconds", "_ms", "_minutes", "_kilobytes", "_megabytes", "_mib", "_nanos"];
    assert!(!units.iter().any(|unit| name.contains(unit)), "{name} is not in a base unit");
}

/// Whether the labels of a sample are `name="value"` with commas between, values escaped.
fn check_labels(sample: &str) {
    let Some((_, rest)) = sample.split_once('{') else { return };
    let mut rest = rest.strip_suffix('}').expect("labels end");
    loop {
        let (name, value) = rest.split_once("=\"").expect("a label");
        let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(!name.is_empty() && name.chars().all(is_plain), "{sample}");
        let mut end = None;
        let mut is_escaped = false;
        for (at, c) in value.char_indices() {
            match c {
                '"' if !is_escaped => end = Some(at),
                _ if is_escaped => assert!(matches!(c, '"' | '\\' | 'n'), "{sample}"),
                _ => {}
            }
            if end.is_some() {
                break;
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        let after = &value[end.expect("the value ends") + 1..];
        if after.is_empty() {
            return;
        }
        rest = after.strip_prefix(',').expect("a comma");
    }
}

/// Samples by name and labels. Checks the form: one HELP and one TYPE a family, before all of its
/// samples, and what `promtool check metrics` finds fault with.
fn parse(text: &str) -> BTreeMap<String, f64> {
    let mut seen = BTreeSet::new();
    let (mut family, mut kind) = (String::new(), String::new());
    let mut samples = BTreeMap::new();
    let mut helped = String::new();
    assert!(text.ends_with('\n') && !text.contains('\r'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a text");
            assert!(!help.trim().is_empty() && !seen.contains(name), "{line}");
            name.clone_into(&mut helped);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of) = rest.split_once(' ').expect("a kind");
            assert_eq!(helped, name, "HELP comes before TYPE");
            check_name(name, of);
            assert!(seen.insert(name.to_owned()), "{name} has two TYPE lines");
            assert!(matches!(of, "counter" | "gauge" | "histogram"), "{line}");
            (family, kind) = (name.to_owned(), of.to_owned());
        } else {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let plain = name.split('{').next().expect("a name");
            check_labels(name);
            let suffix = plain.strip_prefix(family.as_str()).expect("belongs to its family");
            let fits = match kind.as_str() {
                "histogram" => matches!(suffix, "_bucket" | "_sum" | "_count"),
                _ => suffix.is_empty(),
            };
            assert!(fits, "{line} in {family}");
            let value = value.parse::<f64>().expect("a number");
            assert!(samples.insert(name.to_owned(), value).is_none(), "{name} comes twice");
        }
    }
    for name in &seen {
        // The buckets of each series, by the labels before `le`.
        let mut series: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix(&format!("{name}_bucket{{")) else { continue };
            let (labels, bucket) = rest.split_once("le=").expect("a bound");
            let value = bucket.rsplit_once(' ').expect("a value").1;
            let labels = labels.trim_end_matches(',').to_owned();
            series.entry(labels).or_default().push(value.parse().expect("a number"));
        }
        for (labels, buckets) in series {
            assert!(buckets.is_sorted(), "{name} {labels} does not add up: {buckets:?}");
            let count = match labels.is_empty() {
                true => format!("{name}_count"),
                false => format!("{name}_count{{{labels}}}"),
            };
            assert_eq!(samples[&count], *buckets.last().expect("a bucket"));
        }
    }
    samples
}

#[test]
fn metrics_are_valid_and_count_what_happens() {
    run(async {
        let server = Server::start(Config::new());
        let (one, two) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        one.batch_execute(
            "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)",
        )
        .await
        .expect("runs");
        let before = parse(&metrics(&server));
        one.batch_execute("BEGIN; SAVEPOINT cockroach_restart; SELECT v FROM t WHERE id = 1")
            .await
            .expect("runs");
        two.batch_execute("UPDATE t SET v = 2").await.expect("runs");
        one.batch_execute("INSERT INTO t VALUES (2, 2)").await.expect("runs");
        let refused = one.batch_execute("RELEASE SAVEPOINT cockroach_restart").await;
        assert!(refused.is_err());
        one.batch_execute("ROLLBACK TO cockroach_restart; UPDATE t SET v = 3").await.expect("runs");
        let waiting = tokio::spawn(async move { two.batch_execute("UPDATE t SET v = 4").await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        let during = parse(&metrics(&server));
        assert_eq!(during["braid_lock_waiters"], 1.0);
        one.batch_execute("RELEASE SAVEPOINT cockroach_restart; COMMIT").await.expect("runs");
        waiting.await.expect("ends").expect("runs");
        let after = parse(&metrics(&server));
        let risen = |name: &str| after[name] - before[name];
        assert_eq!(risen("sql_restart_savepoint_rollbacks_total"), 1.0);
        assert_eq!(risen("sql_txn_client_retry_errors_total{reason=\"read_changed\"}"), 1.0);
        assert_eq!(risen("sql_txn_client_retry_errors_total{reason=\"deadlock\"}"), 0.0);
        assert_eq!(risen("braid_lock_wait_seconds_count"), 1.0);
        assert!(risen("braid_lock_wait_seconds_sum") > 0.05);
        // Batches and syncs are the embedded store's.
        if !braid_testkit::store::is_tikv() {
            assert_eq!(risen("braid_store_commit_batch_size_sum"), 3.0);
            assert!(risen("braid_store_sync_seconds_count") >= 3.0);
        }
        let shown = "SELECT value FROM braid_internal.metrics \
             WHERE name = 'sql_txn_client_retry_errors_total' AND labels->>'reason' = 'read_changed'";
        let shown: f64 = one.query_one(shown, &[]).await.expect("a row").get(0);
        assert_eq!(shown, after["sql_txn_client_retry_errors_total{reason=\"read_changed\"}"]);
        if braid_testkit::store::is_tikv() {
            let by_rpc = "SELECT count(*) FROM braid_internal.metrics WHERE name = \
                 'braid_tikv_request_seconds_bucket' AND labels->>'rpc' = 'kv_get' \
                 AND labels->>'le' = '+Inf'";
            let by_rpc: i64 = one.query_one(by_rpc, &[]).await.expect("a row").get(0);
            assert_eq!(by_rpc, 1);
            assert!(after["braid_tikv_requests_total{rpc=\"kv_prewrite\"}"] >= 1.0);
        }
    });
}
