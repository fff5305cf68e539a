//! What the answers are about: a server, from before its store is open.

use std::sync::{Arc, OnceLock};

use braid_server::Server;
use parking_lot::Mutex;

/// A server that may not be there yet.
pub struct Watched {
    server: OnceLock<Arc<Server>>,
    waits_for: Mutex<Option<String>>,
    writes: OnceLock<WritesProbe>,
}

/// Says why writes are refused while reads are served, if they are.
type WritesProbe = Box<dyn Fn() -> Option<String> + Send + Sync>;

impl Watched {
    /// Nothing is open yet.
    pub fn new() -> Arc<Watched> {
        Arc::new(Watched {
            server: OnceLock::new(),
            waits_for: Mutex::new(None),
            writes: OnceLock::new(),
        })
    }

    /// Asks this whether writes are refused. Only the first counts.
    pub fn watch_writes(&self, probe: impl Fn() -> Option<String> + Send + Sync + 'static) {
        self.writes.get_or_init(|| Box::new(probe));
    }

    /// Why writes are refused, as far as anybody knows.
    pub(crate) fn refused_writes(&self) -> Option<String> {
        self.writes.get().and_then(|probe| probe())
    }

    /// The start waits for this.
    pub fn waits_for(&self, why: impl Into<String>) {
        *self.waits_for.lock() = Some(why.into());
    }

    /// The server is open. Only the first counts.
    pub fn opened(&self, server: Arc<Server>) {
        self.server.get_or_init(|| server);
    }

    pub(crate) fn server(&self) -> Option<&Arc<Server>> {
        self.server.get()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.server().is_some_and(|server| server.is_ready())
    }

    /// Why the store does not serve, as a sentence for the operator.
    pub(crate) fn trouble(&self) -> Option<String> {
        let why = match self.server() {
            Some(server) => server.store_trouble()?,
            None => match self.waits_for.lock().clone() {
                Some(why) => why,
                None => return Some("the store is being opened".to_owned()),
            },
        };
        Some(format!("the store is unreachable: {why}"))
    }
}
