//! `--otlp-endpoint`: spans of sampled traces arrive at a collector.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use braid_testkit::server::{Config, Server};
use braid_testkit::target::connect;
use serde_json::Value;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A collector that answers each request with this status, and its spans.
fn collector(status: &'static str) -> (String, Receiver<Value>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", socket.local_addr().expect("an address"));
    let (sender, spans) = channel();
    std::thread::spawn(move || {
        for connection in socket.incoming() {
            let Ok(mut connection) = connection else { return };
            let body = request(&connection);
            for span in
                body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans")
            {
                sender.send(span.clone()).ok();
            }
            write!(connection, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}").ok();
        }
    });
    (url, spans)
}

/// The body of a request.
fn request(connection: &TcpStream) -> Value {
    let mut reader = BufReader::new(connection);
    let (mut first, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(bytes) = line.strip_prefix("Content-Length: ") {
            length = bytes.parse().expect("a length");
        }
        first.get_or_insert_with(|| line.to_owned());
    }
    assert_eq!(first.as_deref(), Some("POST /v1/traces HTTP/1.1"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    serde_json::from_slice(&body).expect("JSON")
}

fn attribute(span: &Value, key: &str) -> Option<String> {
    let all = span["attributes"].as_array().expect("attributes");
    let value = &all.iter().find(|attribute| attribute["key"] == key)?["value"];
    let text = value["stringValue"].as_str().or(value["intValue"].as_str());
    Some(text.expect("a value").to_owned())
}

fn text<'v>(span: &'v Value, key: &str) -> &'v str {
    span[key].as_str().unwrap_or_else(|| panic!("no {key}: {span}"))
}

#[test]
fn spans_of_sampled_traces_are_exported() {
    let (url, arrived) = collector("200 OK");
    let mut server = Server::start(Config::new().arg(format!("--otlp-endpoint={url}")));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        let sure = async |sql: String| {
            client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        };
        sure("CREATE TABLE t (id int PRIMARY KEY)".to_owned()).await;
        sure(format!("SELECT 1 /*traceparent='00-{TRACE}-00000000000000aa-00'*/")).await;
        sure(format!("BEGIN; SET LOCAL traceparent = '00-{TRACE}-00000000000000bb-01'")).await;
        client.execute("INSERT INTO t VALUES ($1)", &[&7]).await.expect("a row");
        let other = format!("/*traceparent='00-{TRACE}-00000000000000cc-01'*/");
        sure(format!("DELETE FROM t WHERE id = 8 {other}")).await;
        sure("COMMIT".to_owned()).await;
        client.batch_execute(&format!("SELECT 1 / 0 {other}")).await.expect_err("a division");
    });
    // The last spans leave before the server ends.
    assert!(server.terminate().success());
    let spans: Vec<Value> = arrived.try_iter().collect();
    let named = |name: &str| {
        let found = spans.iter().find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {spans:?}"))
    };
    assert_eq!(spans.len(), 5, "{spans:?}");
    assert!(spans.iter().all(|span| span["traceId"] == TRACE && span["kind"] == 2));
    let (block, insert, delete) = (named("TRANSACTION"), named("INSERT"), named("DELETE"));
    assert_eq!(text(block, "parentSpanId"), "00000000000000bb");
    for inner in [insert, named("COMMIT")] {
        assert_eq!(text(inner, "parentSpanId"), text(block, "spanId"));
    }
    assert_eq!(text(delete, "parentSpanId"), "00000000000000cc");
    let nanos = |span: &Value, key: &str| text(span, key).parse::<u64>().expect("a time");
    assert!(nanos(block, "startTimeUnixNano") <= nanos(insert, "startTimeUnixNano"));
    for span in &spans {
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span}");
        assert_eq!(attribute(span, "db.namespace").as_deref(), Some("defaultdb"));
    }
    let query = attribute(insert, "db.query.text");
    assert_eq!(query.as_deref(), Some("INSERT INTO t VALUES ($1)"));
    assert_eq!(attribute(block, "braiddb.transaction.outcome").as_deref(), Some("committed"));
    assert_eq!(attribute(block, "braiddb.transaction.kind").as_deref(), Some("read_write"));
    let failed = named("SELECT");
    assert_eq!(attribute(failed, "db.response.status_code").as_deref(), Some("22012"));
    assert_eq!(failed["status"]["code"], 2);
}

#[test]
fn a_collector_that_refuses_costs_spans_only() {
    let (url, arrived) = collector("503 Service Unavailable");
    let server = Server::start(Config::new().arg(format!("--otlp-endpoint={url}")));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        let comment = format!("/*traceparent='00-{TRACE}-00000000000000aa-01'*/");
        client.batch_execute(&format!("SELECT 1 {comment}")).await.expect("it runs");
        arrived.recv_timeout(Duration::from_secs(30)).expect("the span");
        let dropped =
            "SELECT value FROM braid_internal.metrics WHERE name = 'braid_spans_dropped_total'";
        for _ in 0..1000 {
            let row = client.query_one(dropped, &[]).await.expect("a row");
            let is_logged = server.output().contains("the collector answered 503");
            if row.get::<_, f64>(0) >= 1.0 && is_logged {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no span was counted as dropped, or the log does not say why:\n{}", server.output());
    });
}

#[test]
fn a_wrong_url_is_refused_at_the_start() {
    for (url, why) in [("https://a", "only http://"), ("a:4318", "expected a URL")] {
        let start = std::process::Command::new(braid_testkit::server::binary())
            .args(["start", "--otlp-endpoint", url])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&start.stderr).into_owned();
        assert!(!start.status.success() && said.contains(why), "{said}");
    }
}
