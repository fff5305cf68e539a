//! Sends spans to a collector, in batches, beside everything else.
//!
//! ```text
//! sessions ──► queue ──► batch: 512 spans, or those of a second ──► POST ──► collector
//!               │ full                                                │ refused, late, away
//!               └──► dropped, counted                                 └──► dropped, counted
//! ```
//!
//! Rule: a collector that is slow or away costs spans, never the time of a statement.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use braid_server::{Server, SpanReceiver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::endpoint::OtlpEndpoint;
use super::json::body;

/// Spans that wait for the exporter, at most.
const QUEUE_SPANS_MAX: usize = 4096;
/// Spans in a request, at most.
const BATCH_SPANS_MAX: usize = 512;
/// How long a span waits for others that leave with it.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// How long a request may take, from its connection to its answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last spans may take when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of an answer's head that are read, at most.
const ANSWER_BYTES_MAX: usize = 1024;

/// The task that sends spans.
pub struct OtlpExporter {
    task: JoinHandle<()>,
    stop: Arc<Notify>,
}

impl OtlpExporter {
    /// Begins to send the spans of a server. It may be called once for a server.
    pub fn start(server: &Server, endpoint: OtlpEndpoint) -> OtlpExporter {
        let stop = Arc::new(Notify::new());
        let spans = server.take_spans(QUEUE_SPANS_MAX);
        let sender = Sender { spans, endpoint, version: server.version(), is_away: false };
        OtlpExporter { task: tokio::spawn(sender.run(stop.clone())), stop }
    }

    /// Sends what is left, within two seconds.
    pub async fn finish(mut self) {
        self.stop.notify_one();
        if tokio::time::timeout(STOP_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

struct Sender {
    spans: SpanReceiver,
    endpoint: OtlpEndpoint,
    version: &'static str,
    /// The last request has failed, and the log has said so.
    is_away: bool,
}

impl Sender {
    async fn run(mut self, stop: Arc<Notify>) {
        let mut is_over = false;
        while !is_over {
            let mut batch = Vec::new();
            tokio::select! {
                () = self.spans.fill(&mut batch, BATCH_SPANS_MAX, BATCH_DELAY) => {}
                () = stop.notified() => is_over = true,
            }
            loop {
                self.spans.fill_now(&mut batch, BATCH_SPANS_MAX);
                if batch.is_empty() {
                    break;
                }
                self.send(&batch).await;
                batch.clear();
                if !is_over {
                    break;
                }
            }
        }
    }

    async fn send(&mut self, batch: &[braid_server::Span]) {
        let body = body(batch, self.version);
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, post(&self.endpoint, &body)).await;
        let trouble = match answer {
            Ok(Ok(200..=299)) => None,
            Ok(Ok(status)) => Some(format!("the collector answered {status}")),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the collector did not answer in time".to_owned()),
        };
        self.spans.count(batch.len(), trouble.is_none());
        let has_failed = trouble.is_some();
        match trouble {
            Some(why) if !self.is_away => {
                tracing::warn!(endpoint = %self.endpoint, why, "spans could not be exported");
            }
            None if self.is_away => {
                tracing::info!(endpoint = %self.endpoint, "spans are exported again");
            }
            _ => {}
        }
        self.is_away = has_failed;
    }
}

/// Sends a request on a connection of its own; the status of the answer.
async fn post(endpoint: &OtlpEndpoint, body: &str) -> io::Result<u16> {
    let mut socket = TcpStream::connect(&endpoint.authority).await?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        endpoint.path,
        endpoint.authority,
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < ANSWER_BYTES_MAX {
        if socket.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    status(&answer).ok_or_else(|| io::Error::other("the answer of the collector is not HTTP/1"))
}

/// The status in the first line of an answer.
fn status(answer: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(answer.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.trim_end().split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_the_status() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\nA: b\r\n"), Some(200));
        assert_eq!(status(b"HTTP/1.0 503\n"), Some(503));
        for answer in [&b""[..], b"HTTP/1.1", b"SSH-2.0 200", b"HTTP/1.1 ok\n", b"\xff 200\n"] {
            assert_eq!(status(answer), None);
        }
    }
}
