//! Health and metrics over HTTP/1.1, for probes and Prometheus; later the console.
//!
//! ```text
//! GET /health        JSON: live, ready, version, sessions, store, writes; 200 if it is ready and
//!                    its store serves reads and writes, else 503
//! GET /health/live   200 while the process answers
//! GET /health/ready  200 while it takes sessions, else 503
//! GET /metrics       Prometheus text
//! ```
//!
//! It answers from before the store is open: a server that waits for its cluster is live, not
//! ready, and says what it waits for.
//!
//! It also sends traces to a collector, if the server is told of one (`otlp`).
//!
//! What it does not do: TLS, request bodies, authentication. Bind it to loopback or behind a proxy.
//!
//! Rules: a request is at most [`REQUEST_BYTES_MAX`] and must arrive within [`REQUEST_TIMEOUT`];
//! at most [`CONNECTIONS_MAX`] connections at a time; one request a connection.

mod otlp;
mod request;
mod respond;
mod server;
mod watched;

pub use otlp::{OtlpEndpoint, OtlpExporter};
pub use server::{CONNECTIONS_MAX, HttpServer, REQUEST_BYTES_MAX, REQUEST_TIMEOUT};
pub use watched::Watched;
