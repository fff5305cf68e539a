//! Traces for a collector: OTLP over HTTP, in JSON.
//!
//! - `endpoint`: the URL of the collector
//! - `json`: spans in the form of the protocol
//! - `exporter`: the task that sends them
//!
//! There is no TLS: a collector beside the server can add it.

mod endpoint;
mod exporter;
mod json;

pub use endpoint::OtlpEndpoint;
pub use exporter::OtlpExporter;
