//! What each path answers.

use std::fmt::Write;

use braid_server::Metric;

use crate::request::Request;
use crate::watched::Watched;

/// Status line, content type and body.
pub(crate) struct Response {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Response {
    fn text(status: &'static str, body: impl Into<String>) -> Response {
        Response { status, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    /// The answer to what is no request.
    pub(crate) fn bad_request() -> Response {
        Response::text("400 Bad Request", "not an HTTP/1.1 request\n")
    }

    /// The bytes to send; a HEAD request gets no body.
    pub(crate) fn into_bytes(self, head_only: bool) -> Vec<u8> {
        let Response { status, content_type, body } = self;
        let mut out = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nconnection: close\r\n\r\n",
            body.len()
        );
        if !head_only {
            out.push_str(&body);
        }
        out.into_bytes()
    }
}

/// Answers a request.
pub(crate) fn respond(request: &Request<'_>, watched: &Watched) -> Response {
    if !matches!(request.method, "GET" | "HEAD") {
        return Response::text("405 Method Not Allowed", "only GET and HEAD\n");
    }
    match request.path {
        "/" => {
            Response::text("200 OK", "BraidDB: /health, /health/live, /health/ready, /metrics\n")
        }
        "/health" => health(watched),
        "/health/live" => Response::text("200 OK", "live\n"),
        "/health/ready" if watched.is_ready() => Response::text("200 OK", "ready\n"),
        "/health/ready" => Response::text("503 Service Unavailable", "not ready\n"),
        "/metrics" => Response {
            status: "200 OK",
            content_type: "text/plain; version=0.0.4; charset=utf-8",
            body: watched.server().map_or(NOT_OPEN.to_owned(), |s| prometheus(&s.metrics())),
        },
        _ => Response::text("404 Not Found", "there is no such path\n"),
    }
}

/// The metrics of a server that has not opened its store yet.
const NOT_OPEN: &str = "# HELP braid_store_unreachable 1 while the store does not answer.\n\
                        # TYPE braid_store_unreachable gauge\nbraid_store_unreachable 1\n";

fn health(watched: &Watched) -> Response {
    let ready = watched.is_ready();
    let trouble = watched.trouble();
    let refused = watched.refused_writes();
    let in_words = |trouble: &Option<String>| match trouble {
        None => "ok".to_owned(),
        Some(why) => why.replace(|c: char| c.is_control() || c == '"' || c == '\\', " "),
    };
    let (store, writes) = (in_words(&trouble), in_words(&refused));
    let body = format!(
        "{{\"live\":true,\"ready\":{ready},\"version\":\"{}\",\"sessions\":{},\
         \"store\":\"{store}\",\"writes\":\"{writes}\"}}\n",
        env!("CARGO_PKG_VERSION"),
        watched.server().map_or(0, |server| server.sessions())
    );
    let serves = ready && trouble.is_none() && refused.is_none();
    let status = if serves { "200 OK" } else { "503 Service Unavailable" };
    Response { status, content_type: "application/json", body }
}

/// A label's value between its quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Prometheus's text format. Metrics of one name stand together.
fn prometheus(metrics: &[Metric]) -> String {
    let mut out = String::new();
    let mut last = "";
    for metric in metrics {
        let Metric { name, suffix, help, kind, labels, value } = metric;
        if *name != last {
            // Writing to a String cannot fail.
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str()).ok();
            last = name;
        }
        let labels: Vec<String> =
            labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
        match labels.is_empty() {
            true => writeln!(out, "{name}{suffix} {value}").ok(),
            false => writeln!(out, "{name}{suffix}{{{}}} {value}", labels.join(",")).ok(),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_server::MetricKind;

    #[test]
    fn health_says_that_writes_are_refused() {
        let watched = Watched::new();
        let health = || {
            let request = Request { method: "GET", path: "/health" };
            String::from_utf8(respond(&request, &watched).into_bytes(false)).expect("text")
        };
        assert!(health().contains("\"writes\":\"ok\""));
        watched.watch_writes(|| Some("7 bytes are free at \"/data\"".to_owned()));
        let full = health();
        assert!(full.starts_with("HTTP/1.1 503 "), "{full}");
        assert!(full.contains("\"writes\":\"7 bytes are free at  /data \""), "{full}");
    }

    #[test]
    fn metrics_of_one_name_share_a_header() {
        let metric = |label: &str, value: f64| Metric {
            name: "braid_retries_total",
            suffix: "",
            help: "Retries.",
            kind: MetricKind::Counter,
            labels: vec![("reason", label.to_owned())],
            value,
        };
        let escaped = prometheus(&[metric("a \"b\" \\\n", 1.0)]);
        assert!(escaped.ends_with("{reason=\"a \\\"b\\\" \\\\\\n\"} 1\n"), "{escaped}");
        assert_eq!(
            prometheus(&[metric("a", 1.0), metric("b", 2.5)]),
            "# HELP braid_retries_total Retries.\n# TYPE braid_retries_total counter\n\
             braid_retries_total{reason=\"a\"} 1\nbraid_retries_total{reason=\"b\"} 2.5\n"
        );
    }
}
