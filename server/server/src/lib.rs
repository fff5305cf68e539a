//! One server process: who may begin a session, what runs in the background, what is measured.
//!
//! ```text
//! wire ── admit ─► authentication ─► open_session ─► Session (room `session`)
//! braid ─ Server::open ─► Engine + jobs              http ── metrics
//!
//! jobs   commit_tokens   garbage   left_over   notifications   statistics   unfinished
//! ```
//!
//! What is here: `max_connections`, authentication by the catalog's roles, background jobs, the
//! list of metrics, the check of a whole data folder. What is not: the life of a session, which is
//! in `session`; sockets, which are in `wire` and `http`.
//!
//! Rules that must always hold:
//! - a place among `max_connections` is given back when its session, or its failed start, ends;
//! - a background job ends when the server is dropped;
//! - of all gateways of a cluster, one has a duty at a time.

mod admission;
mod check_tables;
mod jobs;
mod metrics;
mod open;
mod options;
mod server;

pub use admission::{Authentication, Permit};
pub use braid_session::{Span, SpanReceiver, SpanSubject};
pub use check_tables::Checked;
pub use metrics::{Metric, MetricKind};
pub use options::ServerOptions;
pub use server::Server;
