//! How a server is to run.

use std::path::PathBuf;
use std::time::Duration;

use braid_session::ShownLimits;

/// How a server is to run.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// `max_connections`
    pub connections_max: usize,
    /// `max_message_bytes`, for SHOW.
    pub message_bytes_max: usize,
    /// Whether TLS is offered, for SHOW.
    pub tls: bool,
    /// Users without a password may come from anywhere.
    pub insecure: bool,
    /// Bytes that all statements together may use; 0: no limit.
    pub memory_limit_bytes: u64,
    /// The folder below which temporary files are.
    pub temp_folder: PathBuf,
    /// `max_prepared_transactions`
    pub prepared_transactions_max: usize,
    /// `notify_queue_bytes_max`: bytes of notifications that may wait for one session.
    pub notify_queue_bytes_max: usize,
    /// `notify_poll_interval`: how often notifications of other gateways are looked for.
    pub notify_poll_interval: Duration,
    /// `autovacuum_naptime`: how often tables that have changed much are analyzed; 0: never.
    pub analyze_interval: Duration,
    /// `log_min_duration_statement` of sessions that do not set it; `None`: nothing is logged.
    pub log_min_duration: Option<Duration>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            connections_max: 1000,
            message_bytes_max: 64 << 20,
            tls: false,
            insecure: false,
            memory_limit_bytes: 0,
            temp_folder: std::env::temp_dir(),
            prepared_transactions_max: 64,
            notify_queue_bytes_max: 64 << 20,
            notify_poll_interval: Duration::from_millis(100),
            analyze_interval: Duration::from_secs(10),
            log_min_duration: None,
        }
    }
}

impl ServerOptions {
    /// The limits that `SHOW` answers with.
    pub(crate) fn shown(&self) -> ShownLimits {
        ShownLimits {
            connections_max: self.connections_max,
            message_bytes_max: self.message_bytes_max,
            tls: self.tls,
            log_min_duration: self.log_min_duration,
            analyze_interval: self.analyze_interval,
        }
    }
}
