//! The server as other rooms hold it: its state, its sessions, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use braid_exec::from_kv;
use braid_session::{Engine, SpanReceiver};
use braid_types::Result;

use crate::options::ServerOptions;

/// A server process.
pub struct Server {
    pub(crate) engine: Arc<Engine>,
    pub(crate) options: ServerOptions,
    /// Places taken of `max_connections`.
    pub(crate) admitted: AtomicUsize,
    /// Sessions refused because `max_connections` was reached.
    pub(crate) refused: AtomicU64,
    ready: AtomicBool,
    ending: AtomicBool,
    /// Makes up salts for users who do not exist.
    pub(crate) seed: [u8; 32],
}

impl Server {
    pub(crate) fn new(engine: Arc<Engine>, options: ServerOptions, seed: [u8; 32]) -> Server {
        Server {
            engine,
            options,
            admitted: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            ready: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            seed,
        }
    }

    /// Publishes the address of this gateway to other gateways and their clients.
    pub fn set_address(&self, address: &str) {
        self.engine.gateways.set_address(address);
    }

    /// The version of BraidDB.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// `max_connections`
    pub fn connections_max(&self) -> usize {
        self.options.connections_max
    }

    /// Whether it takes sessions.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Says whether it takes sessions, for `/health/ready`.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Why the store cannot serve right now, as far as it knows.
    pub fn store_trouble(&self) -> Option<String> {
        self.engine.store_trouble()
    }

    /// The spans of sampled traces, of which `spans_max` may wait. Only the first call gets any.
    pub fn take_spans(&self, spans_max: usize) -> SpanReceiver {
        self.engine.spans.open(spans_max)
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.engine.sessions.count()
    }

    /// Cancels what a session runs, if the secret fits; nobody is told whether it did.
    pub fn cancel(&self, pid: i32, secret: i32) {
        self.engine.sessions.cancel(pid, secret);
    }

    /// Asks every session to end as soon as its statement is done; no new one begins.
    pub fn end_sessions(&self) {
        self.ending.store(true, Ordering::Release);
        self.engine.sessions.ask_all_to_end();
    }

    /// Ends every session and its statement.
    pub fn stop_sessions(&self) {
        self.engine.sessions.terminate_all();
    }

    /// Whether sessions are being ended, so that no new one may begin.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Users who may log in and have no password.
    pub async fn users_without_password(&self) -> Result<Vec<String>> {
        let catalog = self.engine.catalog_now().await?;
        let open = catalog.roles().iter().filter(|role| role.login && role.password.is_none());
        Ok(open.map(|role| role.name.clone()).collect())
    }

    /// Finishes what is under way and syncs.
    pub async fn close(&self) -> Result<()> {
        if let Err(error) = self.engine.gateways.close().await {
            tracing::warn!(%error, "this gateway's lease stays until its end");
        }
        self.engine.kv.close().await.map_err(from_kv)
    }
}
