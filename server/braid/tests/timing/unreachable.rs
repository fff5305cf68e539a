//! A server whose cluster is away: at the start it waits and says so, later its statements end with
//! a clear error in bounded time, `/health` says what is wrong, and everything goes on when the
//! cluster is back. What can never succeed ends the start with a message.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use braid_testkit::server::{self, Config, Server};
use braid_testkit::target::connect;
use braid_testkit::tikv::{self, Authority, TikvStandIn, Tls};
use tempfile::TempDir;
use tokio_postgres::Client;

/// Whatever takes longer is a hang.
const PATIENCE: Duration = Duration::from_secs(90);

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// Status and body of a page.
fn get(http: &str, path: &str) -> (u16, String) {
    let address = http.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("connects");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
}

/// Waits until a page has that status.
async fn wait_for(http: &str, path: &str, status: u16) -> String {
    let start = Instant::now();
    loop {
        let (found, body) = get(http, path);
        if found == status {
            return body;
        }
        assert!(start.elapsed() < PATIENCE, "{path} is {found}: {body}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A process that is killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(store: &str, http: &str) -> Process {
    let args = ["start", "--listen", "127.0.0.1:0", "--http", http, "--store", store];
    let mut command = Command::new(server::binary());
    let child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Process(child.expect("the server starts"))
}

#[test]
fn a_start_waits_for_the_cluster_and_says_so() {
    run(async {
        let cluster = TikvStandIn::start(tikv::Config::default());
        cluster.pd().set_down(true);
        // Somebody else may take the port meanwhile; then this test fails with a plain message.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it");
        let http = free.to_string();
        let mut process = start(&cluster.store_url(), &http);
        let begun = Instant::now();
        while TcpStream::connect(&http).is_err() {
            assert!(begun.elapsed() < PATIENCE, "nobody listens on {http}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let start = Instant::now();
        loop {
            let (status, body) = get(&http, "/health");
            assert_eq!(status, 503, "{body}");
            assert!(body.contains("\"live\":true,\"ready\":false"), "{body}");
            if body.contains("the store is unreachable: PD at") && body.contains("PD is down") {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{body}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(get(&http, "/health/live").0, 200);
        assert_eq!(get(&http, "/health/ready").0, 503);
        assert!(get(&http, "/metrics").1.contains("braid_store_unreachable 1\n"));
        cluster.pd().set_down(false);
        let stdout = process.0.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("http:")), "it never was ready");
        let body = wait_for(&http, "/health", 200).await;
        assert!(body.contains("\"ready\":true") && body.contains("\"store\":\"ok\""), "{body}");
        assert_eq!(get(&http, "/health/ready").0, 200);
        assert!(get(&http, "/metrics").1.contains("braid_store_unreachable 0\n"));
    });
}

/// SQLSTATE, message and detail of a statement's error, and how long it took.
async fn failure(client: &Client, sql: &str) -> (String, String, Duration) {
    let start = Instant::now();
    let error = client.batch_execute(sql).await.expect_err("an error");
    let error = error.as_db_error().expect("one of the server");
    let text = format!("{} / {}", error.message(), error.detail().unwrap_or_default());
    (error.code().code().to_owned(), text, start.elapsed())
}

async fn is_served(client: &Client) {
    let start = Instant::now();
    while let Err(error) = client.batch_execute("ROLLBACK; UPDATE t SET n = n + 1").await {
        assert!(start.elapsed() < PATIENCE, "{error:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn statements_end_while_pd_is_away() {
    run(async {
        let cluster = TikvStandIn::start(tikv::Config::default());
        let server = Server::start(Config::new().store(cluster.store_url()));
        let hasty = connect(server.sql_url(), None).await;
        let patient = connect(server.sql_url(), None).await;
        let table = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)";
        hasty.batch_execute(table).await.expect("runs");
        hasty.batch_execute("SET statement_timeout = '1s'").await.expect("runs");
        // A transaction that is open when the cluster goes.
        patient.batch_execute("BEGIN; UPDATE t SET n = 1").await.expect("runs");
        cluster.pd().set_down(true);
        let (state, text, took) = failure(&hasty, "SELECT * FROM t").await;
        assert_eq!(state, "57014", "{text}");
        assert!(text.contains("The store is unreachable: PD gives no timestamps"), "{text}");
        assert!(took < Duration::from_secs(10), "{took:?}");
        let (state, text, took) = failure(&hasty, "INSERT INTO t VALUES (2, 2)").await;
        assert_eq!(state, "57014", "{text}");
        assert!(took < Duration::from_secs(10), "{took:?}");
        let body = wait_for(server.http_url(), "/health", 503).await;
        assert!(body.contains("the store is unreachable: PD gives no timestamps"), "{body}");
        assert_eq!(get(server.http_url(), "/health/live").0, 200);
        assert!(get(server.http_url(), "/metrics").1.contains("braid_store_unreachable 1\n"));
        // Without a timeout of its own it is not waited for for ever either.
        let (state, text, took) = failure(&patient, "UPDATE t SET n = n + 1; COMMIT").await;
        assert_eq!(state, "58000", "{text}");
        assert!(text.starts_with("the store is unreachable: PD"), "{text}");
        assert!(took < PATIENCE, "{took:?}");
        cluster.pd().set_down(false);
        is_served(&hasty).await;
        is_served(&patient).await;
        wait_for(server.http_url(), "/health", 200).await;
    });
}

#[test]
fn statements_end_while_the_stores_are_away() {
    run(async {
        let cluster = TikvStandIn::start(tikv::Config::default());
        let server = Server::start(Config::new().store(cluster.store_url()));
        let client = connect(server.sql_url(), None).await;
        let table = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)";
        client.batch_execute(table).await.expect("runs");
        client.batch_execute("SET statement_timeout = '5s'").await.expect("runs");
        let stores = cluster.stores();
        for store in &stores {
            cluster.stop_store(*store);
        }
        let (state, text, took) = failure(&client, "SELECT * FROM t").await;
        assert_eq!(state, "57014", "{text}");
        assert!(text.contains("of the cluster does not serve"), "{text}");
        assert!(took < Duration::from_secs(15), "{took:?}");
        let body = wait_for(server.http_url(), "/health", 503).await;
        assert!(body.contains("of the cluster does not serve"), "{body}");
        for store in &stores {
            cluster.start_store(*store);
        }
        client.batch_execute("SET statement_timeout = 0").await.expect("runs");
        is_served(&client).await;
        wait_for(server.http_url(), "/health", 200).await;
    });
}

#[test]
fn stores_that_nobody_asks_are_looked_after() {
    run(async {
        let cluster = TikvStandIn::start(tikv::Config::default());
        let server = Server::start(Config::new().store(cluster.store_url()));
        for store in cluster.stores() {
            cluster.stop_store(store);
        }
        let body = wait_for(server.http_url(), "/health", 503).await;
        assert!(body.contains("of the cluster does not serve"), "{body}");
        for store in cluster.stores() {
            cluster.start_store(store);
        }
        wait_for(server.http_url(), "/health", 200).await;
    });
}

#[test]
fn a_cluster_is_reached_by_tls() {
    run(async {
        let ca = Authority::new();
        let folder = TempDir::new().expect("a folder");
        let ca_file = folder.path().join("ca.pem");
        std::fs::write(&ca_file, ca.pem()).expect("a file");
        let tls = Some(Tls { identity: ca.issue(), client_ca: None });
        let cluster = TikvStandIn::start(tikv::Config { tls, ..tikv::Config::default() });
        let url = format!("{}?ca={}", cluster.store_url(), ca_file.display());
        let server = Server::start(Config::new().store(url));
        let client = connect(server.sql_url(), None).await;
        let table = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)";
        client.batch_execute(table).await.expect("runs");
        is_served(&client).await;
    });
}

#[test]
fn what_can_never_succeed_ends_the_start() {
    let version = "7.1.0".to_owned();
    let old = TikvStandIn::start(tikv::Config { version, ..tikv::Config::default() });
    for (store, says) in [
        ("tikv://127.0.0.1:1?ca=none.pem".to_owned(), "could not load \"none.pem\""),
        (old.store_url(), "and 7.5.0 is the oldest that can be used"),
    ] {
        let mut process = start(&store, "127.0.0.1:0");
        let begun = Instant::now();
        let status = loop {
            match process.0.try_wait().expect("a child") {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
            assert!(begun.elapsed() < PATIENCE, "{store} goes on");
        };
        let mut text = String::new();
        process.0.stderr.take().expect("a pipe").read_to_string(&mut text).expect("its words");
        assert!(!status.success() && text.contains(says), "{store}: {text}");
    }
}
